/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/dynamic/module_btf.h"

#include <string.h>

#include "kernel/sites/modules.h"

bool hv_site_is_named(const struct hv_site *site, const char *function)
{
	const char *colon = strchr(function, ':');
	size_t len = colon ? (size_t)(colon - function) : 0;

	if (!colon)
		return strcmp(site->name, function) == 0;
	return site->module && strncmp(site->module, function, len) == 0 && !site->module[len] &&
	       strcmp(site->name, colon + 1) == 0;
}

/* Returns the first module with a traceable FUNCTION, or MODULE:FUNCTION. */
static const char *find_name(const struct hv_kernel *k, const char *function)
{
	for (size_t i = 0; i < k->sites.nr; i++) {
		const struct hv_site *site = &k->sites.list[i];

		if (!site->invalid && site->module && hv_site_is_named(site, function))
			return site->module;
	}
	return NULL;
}

const struct hv_btf *hv_module_btf_find(void *m, const char *function)
{
	struct hv_module_btf *f = m;
	const char *name = find_name(f->kernel, function);

	for (size_t i = 0; name && i < f->kernel->modules.nr; i++) {
		const struct hv_module *module = &f->kernel->modules.list[i];

		if (strcmp(module->name, name) != 0)
			continue;
		hv_btf_free(f->btf);
		f->btf = NULL;
		/* Unreadable BTF is ignored, as in a kernel without module BTF. */
		hv_err_free(hv_btf_of_module(&f->kernel->core, module->at, &f->btf));
		return f->btf;
	}
	return NULL;
}

bool hv_module_btf_has_function(void *m, const char *function)
{
	const struct hv_module_btf *f = m;
	struct hv_gva at;

	return hv_kernel_symbol(f->kernel, function, &at) || find_name(f->kernel, function);
}

/* A function starts at its symbol; its patch site may be the second instruction. */
bool hv_module_btf_entry_at(void *m, uint64_t address, struct hv_kprobe_entry *ret)
{
	const struct hv_kernel *k = ((struct hv_module_btf *)m)->kernel;
	const char *name, *module;
	uint64_t off;

	for (size_t i = 0; i < k->sites.nr; i++) {
		const struct hv_site *site = &k->sites.list[i];

		if (site->invalid || !hv_kernel_symbol_at(k, site->ip, &name, &module, &off) ||
		    (site->ip.v != address && site->ip.v - off != address))
			continue;
		*ret = (struct hv_kprobe_entry){site->name, site->ip};
		return true;
	}
	return false;
}

/* Finds the start of FUNCTION, or MODULE:FUNCTION. */
static bool find_start(const struct hv_kernel *k, const char *function, struct hv_gva *ret)
{
	const char *colon = strchr(function, ':'), *name, *module;
	uint64_t off;

	if (!colon)
		return hv_kernel_symbol(k, function, ret);
	for (size_t i = 0; i < k->sites.nr; i++) {
		const struct hv_site *site = &k->sites.list[i];

		if (site->invalid || !hv_site_is_named(site, function) ||
		    !hv_kernel_symbol_at(k, site->ip, &name, &module, &off))
			continue;
		*ret = hv_gva(site->ip.v - off);
		return true;
	}
	return false;
}

bool hv_module_btf_entry_behind(void *m, const char *function, uint64_t off,
				struct hv_kprobe_entry *ret)
{
	struct hv_gva at;

	return find_start(((struct hv_module_btf *)m)->kernel, function, &at) &&
	       hv_module_btf_entry_at(m, at.v + off, ret);
}

void hv_module_btf_deinit(struct hv_module_btf *m)
{
	hv_btf_free(m->btf);
	m->btf = NULL;
}
