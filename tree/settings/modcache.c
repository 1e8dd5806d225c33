/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/modcache.h"

#include <string.h>

#define WORD_LEN_MAX 1024

static void drop(struct hv_modcache *c, size_t at)
{
	free(c->list[at].func);
	free(c->list[at].module);
	c->nr--;
	memmove(c->list + at, c->list + at + 1, (c->nr - at) * sizeof(*c->list));
}

void hv_modcache_clear(struct hv_modcache *c)
{
	while (c->nr)
		drop(c, c->nr - 1);
	free(c->list);
	c->list = NULL;
}

void hv_modcache_add(struct hv_modcache *c, const char *func, const char *module)
{
	c->list = hv_realloc_array(c->list, c->nr + 1, sizeof(*c->list));
	memmove(c->list + 1, c->list, c->nr * sizeof(*c->list));
	c->list[0] = (struct hv_modword){hv_strdup(func), hv_strdup(module)};
	c->nr++;
}

bool hv_modcache_remove(struct hv_modcache *c, const char *func, const char *module)
{
	size_t before = c->nr;

	for (size_t i = c->nr; i-- > 0;)
		if (strcmp(c->list[i].module, module) == 0 &&
		    (strcmp(func, "*") == 0 || strcmp(c->list[i].func, func) == 0))
			drop(c, i);
	return c->nr != before;
}

bool hv_modcache_take(struct hv_modcache *c, const char *module, char **ret)
{
	for (size_t i = 0; i < c->nr; i++) {
		if (strcmp(c->list[i].module, module) != 0)
			continue;
		*ret = hv_take(c->list[i].func);
		drop(c, i);
		return true;
	}
	return false;
}

void hv_modcache_text(const struct hv_modcache *c, struct hv_text *ret)
{
	for (size_t i = 0; i < c->nr; i++) {
		hv_text_add_guest(ret, c->list[i].func, WORD_LEN_MAX);
		hv_text_add(ret, ":mod:");
		hv_text_add_guest(ret, c->list[i].module, WORD_LEN_MAX);
		hv_text_add(ret, "\n");
	}
}
