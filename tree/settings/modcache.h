/* Words of a function filter that wait for a module: FUNC:mod:MODULE, written while MODULE was not
 * loaded (ftrace_mod_func, cache_mod). Once it is loaded they are applied and forgotten.
 * Leaves to others: which modules are loaded, which functions FUNC names (filter.h). */
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
/* Removes the words of MODULE and FUNC, all of MODULE when FUNC is "*". False: there are none. */
bool hv_modcache_remove(struct hv_modcache *c, const char *func, const char *module);
/* Removes one word that waits for MODULE, the newest first. *RET is its FUNC as it was written (""
 * is every function), the caller's to free. False: there are no more. */
bool hv_modcache_take(struct hv_modcache *c, const char *module, char **ret);
/* One a line, verbatim but safe to print. */
void hv_modcache_text(const struct hv_modcache *c, struct hv_text *ret);
