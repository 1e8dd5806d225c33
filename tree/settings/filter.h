/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A set of functions: the contents of set_ftrace_filter or set_ftrace_notrace, and the functions
 * that a word selects (ftrace_process_regex, match_records). token.h splits writes into words,
 * func_commands.h handles commands, files/filter.c publishes the set. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "kernel/sites/sites.h"

/* Functions by address, which stays valid when modules come and go. Zero-initialised is empty. */
struct hv_filter {
	uint64_t *ips; /* owned, ascending, without duplicates */
	size_t nr;
	unsigned awaits_modules; /* words wait for modules, so an empty set is not "all" */
};

void hv_filter_deinit(struct hv_filter *f);
struct hv_filter hv_filter_dup(const struct hv_filter *f);
bool hv_filter_has(const struct hv_filter *f, struct hv_gva ip);

/* Returns whether nothing was selected; set_ftrace_filter then means all functions. */
static inline bool hv_filter_is_all(const struct hv_filter *f)
{
	return !f->nr && !f->awaits_modules;
}

/* Returns the functions that FUNC selects. FUNC is a GLOB or an INDEX, and a leading '!' is
 * ignored. MODULE, if not NULL, is a [!]GLOB that the name of the function's module must match,
 * too. Sites that the kernel has disabled match by index only. */
struct hv_filter hv_filter_match(const struct hv_sites *sites, const char *func,
				 const char *module);

/* Adds the functions that FUNC and MODULE select to F, or removes them when FUNC begins with '!'.
 * Returns false and leaves F unchanged when there are no such functions. */
bool hv_filter_change(struct hv_filter *f, const struct hv_sites *sites, const char *func,
		      const char *module);

/* Like hv_filter_change(), for a word of set_graph_function or set_graph_notrace, which must be a
 * [!]GLOB. Also returns false if the word removes functions and F has none of them
 * (ftrace_graph_set_hash). */
bool hv_filter_change_graph(struct hv_filter *f, const struct hv_sites *sites, const char *word);

/* Adds SITE as the filter files show it: its name, then its module in brackets. */
void hv_site_text(const struct hv_site *site, struct hv_text *ret);

/* -- words that wait for a module -------------------------------------------------------------- */

/* Words of a function filter that wait for a module: FUNC:mod:MODULE, written while MODULE was not
 * loaded (ftrace_mod_func, cache_mod). The caller applies and removes them when MODULE is loaded.
 * Does not know which modules are loaded. */

struct hv_modword {
	char *func; /* owned, as written */
	char *module;
};

/* Zero-initialised is empty. */
struct hv_modcache {
	struct hv_modword *list; /* owned, the newest first */
	size_t nr;
};

void hv_modcache_clear(struct hv_modcache *c);
void hv_modcache_add(struct hv_modcache *c, const char *func, const char *module);
/* Removes the words of MODULE and FUNC, or all words of MODULE when FUNC is "*". Returns false when
 * there are none. */
bool hv_modcache_remove(struct hv_modcache *c, const char *func, const char *module);
/* Removes the newest word that waits for MODULE. *RET is its FUNC as it was written ("" means every
 * function), and the caller frees it. Returns false when no word waits for MODULE. */
bool hv_modcache_take(struct hv_modcache *c, const char *module, char **ret);
/* Adds the words, one a line, as they were written but safe to print. */
void hv_modcache_text(const struct hv_modcache *c, struct hv_text *ret);
