/* A set of functions: what set_ftrace_filter and set_ftrace_notrace hold, and what the words in
 * them name (ftrace_process_regex, match_records).
 * Leaves to others: cutting words from writes (token.h), modules that are not loaded (modcache.h),
 * commands (probes.h), when a set takes effect (files/filter.c). */
#pragma once

#include "base/text.h"
#include "kernel/sites.h"

/* By address, so that it stays true when modules come and go. Zero-initialised is empty. */
struct hv_filter {
	uint64_t *ips; /* owned, ascending, no two alike */
	size_t nr;
	unsigned awaits_modules; /* words wait for modules to come: empty does not mean "all" */
};

void hv_filter_deinit(struct hv_filter *f);
struct hv_filter hv_filter_dup(const struct hv_filter *f);
bool hv_filter_has(const struct hv_filter *f, struct hv_gva ip);

/* Nobody chose anything, so set_ftrace_filter means all functions. */
static inline bool hv_filter_is_all(const struct hv_filter *f)
{
	return !f->nr && !f->awaits_modules;
}

/* The functions that FUNC names, which is a GLOB or an INDEX; a leading '!' is passed over. MODULE,
 * if not NULL, is a [!]GLOB that the names of their modules match. Sites that the kernel has
 * disabled match by index only. */
struct hv_filter hv_filter_match(const struct hv_sites *sites, const char *func,
				 const char *module);

/* Adds the functions that FUNC and MODULE name to F, or removes them when FUNC begins with '!'.
 * False: there are no such functions, and F is unchanged. */
bool hv_filter_change(struct hv_filter *f, const struct hv_sites *sites, const char *func,
		      const char *module);

/* Likewise for a word of set_graph_function or set_graph_notrace, which is a [!]GLOB and nothing
 * else. Also false when none of the functions to be removed is in F (ftrace_graph_set_hash). */
bool hv_filter_change_graph(struct hv_filter *f, const struct hv_sites *sites, const char *word);

/* SITE as the filter files show it: its name, and its module behind it in brackets. */
void hv_site_text(const struct hv_site *site, struct hv_text *ret);
