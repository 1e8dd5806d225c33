/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/filter.h"

#include <ctype.h>
#include <string.h>

#include "tree/settings/glob.h"
#include "tree/settings/token.h"

#define NAME_LEN_MAX 512 /* KSYM_NAME_LEN */

void hv_filter_deinit(struct hv_filter *f)
{
	free(f->ips);
	*f = (struct hv_filter){0};
}

struct hv_filter hv_filter_dup(const struct hv_filter *f)
{
	struct hv_filter copy = {.nr = f->nr, .awaits_modules = f->awaits_modules};

	if (!f->nr)
		return copy;
	copy.ips = hv_realloc_array(NULL, f->nr, sizeof(*f->ips));
	memcpy(copy.ips, f->ips, f->nr * sizeof(*f->ips));
	return copy;
}

static int compare_ips(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

bool hv_filter_has(const struct hv_filter *f, struct hv_gva ip)
{
	return f->nr && bsearch(&ip.v, f->ips, f->nr, sizeof(*f->ips), compare_ips);
}

/* Merges the sorted MATCHED into F, from the end. Takes ownership of MATCHED. */
static void filter_add(struct hv_filter *f, struct hv_filter *matched)
{
	size_t from = f->nr, added = matched->nr, to = f->nr + matched->nr, all = to, kept = 0;

	f->ips = hv_realloc_array(f->ips, all, sizeof(*f->ips));
	while (added) {
		if (from && f->ips[from - 1] > matched->ips[added - 1])
			f->ips[--to] = f->ips[--from];
		else
			f->ips[--to] = matched->ips[--added];
	}
	hv_filter_deinit(matched);
	/* Entries before TO were not moved and have no duplicates. */
	for (size_t i = kept = to ? to - 1 : 0; i < all; i++)
		if (!kept || f->ips[kept - 1] != f->ips[i])
			f->ips[kept++] = f->ips[i];
	f->nr = kept;
}

/* Takes ownership of MATCHED. */
static void filter_remove(struct hv_filter *f, struct hv_filter *matched)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->nr; i++)
		if (!hv_filter_has(matched, hv_gva(f->ips[i])))
			f->ips[kept++] = f->ips[i];
	f->nr = kept;
	hv_filter_deinit(matched);
}

/* Returns whether GLOB (NULL: not specified) matches a site of MODULE (NULL: vmlinux). An empty
 * GLOB matches any module, or with '!' only vmlinux. */
static bool module_matches(const struct hv_glob *glob, const char *module)
{
	if (!glob)
		return true;
	if (!glob->len_bytes)
		return glob->negated != (module != NULL);
	return glob->negated != (module && hv_glob_match(glob, module));
}

/* Like match_sites(), for a glob that is a complete name. */
static void match_name(const struct hv_sites *sites, const char *name, const struct hv_glob *module,
		       struct hv_filter *ret)
{
	for (size_t i = hv_sites_named(sites, name, 0); i != SIZE_MAX;
	     i = hv_sites_named(sites, name, i + 1)) {
		const struct hv_site *site = &sites->list[i];

		if (site->invalid || !module_matches(module, site->module))
			continue;
		ret->ips = hv_realloc_array(ret->ips, ret->nr + 1, sizeof(*ret->ips));
		ret->ips[ret->nr++] = site->ip.v;
	}
}

static void match_sites(const struct hv_sites *sites, const struct hv_glob *func,
			const struct hv_glob *module, struct hv_filter *ret)
{
	ret->ips = hv_realloc_array(NULL, sites->nr, sizeof(*ret->ips));
	for (size_t i = 0; i < sites->nr; i++) {
		const struct hv_site *site = &sites->list[i];
		bool any = module && !func->len_bytes;

		if (site->invalid || !module_matches(module, site->module))
			continue;
		if (any || hv_glob_match(func, site->name))
			ret->ips[ret->nr++] = site->ip.v;
	}
}

/* Adds the INDEXth site to RET. Indices begin with 1. */
static void match_index(const struct hv_sites *sites, const char *index, struct hv_filter *ret)
{
	HV_AUTO_ERR struct hv_err *err = NULL;
	uint64_t nr;

	err = hv_number_parse(index, 0, &nr);
	if (err || nr < 1 || nr > sites->nr)
		return;
	ret->ips = hv_realloc_array(NULL, 1, sizeof(*ret->ips));
	ret->ips[ret->nr++] = sites->list[nr - 1].ip.v;
}

struct hv_filter hv_filter_match(const struct hv_sites *sites, const char *func, const char *module)
{
	HV_AUTO_FREE char *func_text = hv_strdup(func);
	HV_AUTO_FREE char *module_text = module ? hv_strdup(module) : NULL;
	struct hv_glob func_glob = hv_glob_parse(func_text);
	struct hv_glob module_glob = {0};
	struct hv_filter matched = {0};

	if (module)
		module_glob = hv_glob_parse(module_text);
	if (func_glob.kind == HV_GLOB_INDEX)
		match_index(sites, func_glob.search, &matched);
	else if (func_glob.kind == HV_GLOB_FULL && func_glob.len_bytes)
		match_name(sites, func_glob.search, module ? &module_glob : NULL, &matched);
	else
		match_sites(sites, &func_glob, module ? &module_glob : NULL, &matched);
	if (matched.nr > 1)
		qsort(matched.ips, matched.nr, sizeof(*matched.ips), compare_ips);
	return matched;
}

bool hv_filter_change(struct hv_filter *f, const struct hv_sites *sites, const char *func,
		      const char *module)
{
	struct hv_filter matched = hv_filter_match(sites, func, module);

	if (!matched.nr) {
		hv_filter_deinit(&matched);
		return false;
	}
	if (func[0] == '!')
		filter_remove(f, &matched);
	else
		filter_add(f, &matched);
	return true;
}

static bool has_any(const struct hv_filter *f, const struct hv_filter *of)
{
	for (size_t i = 0; i < of->nr; i++)
		if (hv_filter_has(f, hv_gva(of->ips[i])))
			return true;
	return false;
}

bool hv_filter_change_graph(struct hv_filter *f, const struct hv_sites *sites, const char *word)
{
	struct hv_filter matched = {0};
	bool does;

	if (isdigit((unsigned char)word[0]))
		return false;
	matched = hv_filter_match(sites, word, NULL);
	does = word[0] == '!' ? has_any(f, &matched) : matched.nr > 0;
	hv_filter_deinit(&matched);
	return does && hv_filter_change(f, sites, word, NULL);
}

void hv_site_text(const struct hv_site *site, struct hv_text *ret)
{
	hv_text_add_guest(ret, site->name, NAME_LEN_MAX);
	if (!site->module)
		return;
	hv_text_add(ret, " [");
	hv_text_add_guest(ret, site->module, NAME_LEN_MAX);
	hv_text_add(ret, "]");
}

/* -- words that wait for a module -------------------------------------------------------------- */

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
