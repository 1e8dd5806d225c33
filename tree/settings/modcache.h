/* Words of a function filter that wait for a module: FUNC:mod:MODULE where MODULE was not loaded
 * (ftrace_mod_func, cache_mod). They are applied and forgotten when it comes.
 * Leaves to others: which modules there are, what FUNC names then (filter.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

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
/* Those of MODULE and FUNC, or of MODULE when FUNC is "*". False: there are none. */
bool hv_modcache_remove(struct hv_modcache *c, const char *func, const char *module);
/* The words that wait for MODULE go away with what was written as FUNC ("" is everything), the
 * newest first: *RET is the next one, the caller's. False: there is none any more. */
bool hv_modcache_take(struct hv_modcache *c, const char *module, char **ret);
/* One a line, verbatim but safe to print. */
void hv_modcache_text(const struct hv_modcache *c, struct hv_text *ret);
