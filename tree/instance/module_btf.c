/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/module_btf.h"

#include <string.h>

#include "kernel/btf_modules.h"

/* The first module that has FUNCTION, or MODULE:FUNCTION, where it can be traced. */
static const char *find_name(const struct hv_kernel *k, const char *function)
{
	const char *colon = strchr(function, ':');
	size_t len = colon ? (size_t)(colon - function) : 0;

	for (size_t i = 0; i < k->sites.nr; i++) {
		const struct hv_site *site = &k->sites.list[i];

		if (site->invalid || !site->module ||
		    strcmp(site->name, colon ? colon + 1 : function) != 0)
			continue;
		if (!colon ||
		    (strlen(site->module) == len && strncmp(site->module, function, len) == 0))
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
		/* What cannot be read is not known, as in a kernel without BTF of modules. */
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

/* A function begins where its symbol is, and what ftrace uses of it may come later. */
const char *hv_module_btf_entry_at(void *m, uint64_t address)
{
	const struct hv_kernel *k = ((struct hv_module_btf *)m)->kernel;
	const char *name, *module;
	uint64_t off;

	for (size_t i = 0; i < k->sites.nr; i++) {
		const struct hv_site *site = &k->sites.list[i];

		if (!site->invalid && hv_kernel_symbol_at(k, site->ip, &name, &module, &off) &&
		    (site->ip.v == address || site->ip.v - off == address))
			return site->name;
	}
	return NULL;
}

const char *hv_module_btf_entry_behind(void *m, const char *function, uint64_t off)
{
	const struct hv_kernel *k = ((struct hv_module_btf *)m)->kernel;
	struct hv_gva at;

	return hv_kernel_symbol(k, function, &at) ? hv_module_btf_entry_at(m, at.v + off) : NULL;
}

void hv_module_btf_deinit(struct hv_module_btf *m)
{
	hv_btf_free(m->btf);
	m->btf = NULL;
}
