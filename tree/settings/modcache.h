/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of a function filter that wait for a module: FUNC:mod:MODULE, written while MODULE was not
 * loaded (ftrace_mod_func, cache_mod). The caller applies and removes them when MODULE is loaded.
 * Does not know which modules are loaded; filter.h matches FUNC. */
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
/* Removes the words of MODULE and FUNC, or all words of MODULE when FUNC is "*". Returns false when
 * there are none. */
bool hv_modcache_remove(struct hv_modcache *c, const char *func, const char *module);
/* Removes the newest word that waits for MODULE. *RET is its FUNC as it was written ("" means every
 * function), and the caller frees it. Returns false when no word waits for MODULE. */
bool hv_modcache_take(struct hv_modcache *c, const char *module, char **ret);
/* Adds the words, one a line, as they were written but safe to print. */
void hv_modcache_text(const struct hv_modcache *c, struct hv_text *ret);
