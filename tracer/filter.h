/* A set of functions: what set_ftrace_filter and set_ftrace_notrace hold, and the grammar of their
 * words: [!]GLOB, INDEX, [!]GLOB:mod:[!]MODULE (ftrace_process_regex, match_records).
 * Leaves to others: cutting words from writes (token.h), when a set takes effect (files_filter.c).
 */
#pragma once

#include "kernel/sites.h"

/* By address, so that it stays true when modules come and go. Zero-initialised is empty. */
struct hv_filter {
	uint64_t *ips; /* owned, ascending, no two alike */
	size_t nr;
};

void hv_filter_deinit(struct hv_filter *f);
struct hv_filter hv_filter_dup(const struct hv_filter *f);
bool hv_filter_has(const struct hv_filter *f, struct hv_gva ip);

/* Adds to or removes from F what WORD says; WORD is cut up. EINVAL: nothing matches, an index that
 * does not exist, a command; F is then unchanged. Sites that the kernel has disabled match by index
 * only. */
struct hv_err *hv_filter_apply(struct hv_filter *f, const struct hv_sites *sites,
			       char *word) hv_must_use;
