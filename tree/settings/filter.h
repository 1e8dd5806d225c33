/* A set of functions: what set_ftrace_filter and set_ftrace_notrace hold, and what the words in
 * them name (ftrace_process_regex, match_records). Leaves to others: cutting words from writes
 * (token.h), modules that are not loaded (modcache.h), commands (probes.h), when a set takes effect
 * (files/filter.c). */
#pragma once

#include "base/text.h"
#include "kernel/sites.h"

/* By address, so that it stays true when modules come and go. Zero-initialised is empty. */
struct hv_filter {
	uint64_t *ips; /* owned, ascending, no two alike */
	size_t nr;
	unsigned awaits_modules; /* functions of modules to come belong to it: empty is not "all" */
};

void hv_filter_deinit(struct hv_filter *f);
struct hv_filter hv_filter_dup(const struct hv_filter *f);
bool hv_filter_has(const struct hv_filter *f, struct hv_gva ip);

/* Nobody chose anything, so set_ftrace_filter means all functions. */
static inline bool hv_filter_is_all(const struct hv_filter *f)
{
	return !f->nr && !f->awaits_modules;
}

/* The functions that FUNC names: GLOB or INDEX, a leading '!' aside; with MODULE (may be NULL) only
 * those of modules that match: [!]GLOB. Sites that the kernel has disabled match by index only. */
struct hv_filter hv_filter_match(const struct hv_sites *sites, const char *func,
				 const char *module);

/* Adds what FUNC and MODULE name to F, or removes it when FUNC begins with '!'. False: they name
 * nothing; F is unchanged. */
bool hv_filter_change(struct hv_filter *f, const struct hv_sites *sites, const char *func,
		      const char *module);

/* Likewise for a word of set_graph_function or set_graph_notrace, which is a [!]GLOB and nothing
 * else; to remove what F does not have is to name nothing (ftrace_graph_set_hash). */
bool hv_filter_change_graph(struct hv_filter *f, const struct hv_sites *sites, const char *word);

/* SITE as the filter files show it: its name, and its module behind it in brackets. */
void hv_site_text(const struct hv_site *site, struct hv_text *ret);
