#include "tracer/filter.h"

#include <ctype.h>
#include <string.h>

#include "tracer/glob.h"
#include "tracer/token.h"

void hv_filter_deinit(struct hv_filter *f)
{
	free(f->ips);
	*f = (struct hv_filter){0};
}

struct hv_filter hv_filter_dup(const struct hv_filter *f)
{
	struct hv_filter copy = {.nr = f->nr};

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

/* Takes MATCHED, in any order. */
static void filter_add(struct hv_filter *f, struct hv_filter *matched)
{
	size_t kept = 0;

	f->ips = hv_realloc_array(f->ips, f->nr + matched->nr, sizeof(*f->ips));
	memcpy(f->ips + f->nr, matched->ips, matched->nr * sizeof(*f->ips));
	f->nr += matched->nr;
	hv_filter_deinit(matched);
	qsort(f->ips, f->nr, sizeof(*f->ips), compare_ips);
	for (size_t i = 0; i < f->nr; i++)
		if (!kept || f->ips[kept - 1] != f->ips[i])
			f->ips[kept++] = f->ips[i];
	f->nr = kept;
}

/* Takes MATCHED, in any order. */
static void filter_remove(struct hv_filter *f, struct hv_filter *matched)
{
	size_t kept = 0;

	qsort(matched->ips, matched->nr, sizeof(*matched->ips), compare_ips);
	for (size_t i = 0; i < f->nr; i++)
		if (!hv_filter_has(matched, hv_gva(f->ips[i])))
			f->ips[kept++] = f->ips[i];
	f->nr = kept;
	hv_filter_deinit(matched);
}

/* Whether the module part (NULL: none was given) lets a site of MODULE (NULL: vmlinux) through. An
 * empty name is any module, or with '!' no module. */
static bool module_matches(const struct hv_glob *glob, const char *module)
{
	if (!glob)
		return true;
	if (!glob->len_bytes)
		return glob->negated != (module != NULL);
	return glob->negated != (module && hv_glob_match(glob, module));
}

static void match_sites(const struct hv_sites *sites, const struct hv_glob *func,
			const struct hv_glob *module, struct hv_filter *ret)
{
	for (size_t i = 0; i < sites->nr; i++) {
		const struct hv_site *site = &sites->list[i];
		bool any = module && !func->len_bytes;

		if (site->invalid || !module_matches(module, site->module))
			continue;
		if (any || hv_glob_match(func, site->name))
			ret->ips[ret->nr++] = site->ip.v;
	}
}

/* The INDEXth site, from 1. */
static void match_index(const struct hv_sites *sites, const char *index, struct hv_filter *ret)
{
	HV_AUTO_ERR struct hv_err *err = NULL;
	uint64_t nr;

	err = hv_number_parse(index, 0, &nr);
	if (!err && nr >= 1 && nr <= sites->nr)
		ret->ips[ret->nr++] = sites->list[nr - 1].ip.v;
}

static struct hv_err *apply(struct hv_filter *f, const struct hv_sites *sites, char *func_text,
			    char *module_text)
{
	HV_AUTO_FREE char *shown = hv_strdup(func_text);
	struct hv_glob module = {0};
	struct hv_glob func = hv_glob_parse(func_text);
	struct hv_filter matched = {0};

	if (module_text)
		module = hv_glob_parse(module_text);
	matched.ips = hv_realloc_array(NULL, sites->nr, sizeof(*matched.ips));
	if (func.kind == HV_GLOB_INDEX)
		match_index(sites, func.search, &matched);
	else
		match_sites(sites, &func, module_text ? &module : NULL, &matched);
	if (!matched.nr) {
		hv_filter_deinit(&matched);
		return hv_err_new(EINVAL, "no traceable function matches '%s'%s%s", shown,
				  module_text ? " in module " : "", module_text ? module_text : "");
	}
	if (func.negated)
		filter_remove(f, &matched);
	else
		filter_add(f, &matched);
	return NULL;
}

struct hv_err *hv_filter_apply(struct hv_filter *f, const struct hv_sites *sites, char *word)
{
	char *next = word;
	char *func = strsep(&next, ":");
	char *command;

	if (!next)
		return apply(f, sites, func, NULL);
	command = strsep(&next, ":");
	if (strcmp(command, "mod") != 0)
		return hv_err_new(EINVAL, "there is no filter command '%s'", command);
	return apply(f, sites, func, next);
}
