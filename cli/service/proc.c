/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/proc.h"

#include <string.h>

#define NAME_LEN_MAX 512 /* KSYM_NAME_LEN */

static void add_symbols(const struct hv_symbols *s, const char *module, struct hv_text *ret)
{
	for (size_t i = 0; i < s->nr; i++) {
		const struct hv_symbol *symbol = &s->by_addr[i];

		hv_text_printf(ret, "%016llx %c ", (unsigned long long)symbol->addr.v,
			       symbol->type > ' ' && symbol->type < 0x7f ? symbol->type : '?');
		hv_text_add_guest(ret, symbol->name, NAME_LEN_MAX);
		if (module) {
			hv_text_add(ret, "\t[");
			hv_text_add_guest(ret, module, NAME_LEN_MAX);
			hv_text_add(ret, "]");
		}
		hv_text_add(ret, "\n");
	}
}

static void add_kallsyms(const struct hv_kernel *k, struct hv_text *ret)
{
	add_symbols(&k->core.symbols, NULL, ret);
	for (size_t i = 0; i < k->modules.nr; i++)
		add_symbols(&k->modules.list[i].symbols, k->modules.list[i].name, ret);
}

/* The sizes of their data, and by whom they are used, are not read: the line is that of a kernel
 * that cannot unload modules. */
static void add_modules(const struct hv_kernel *k, struct hv_text *ret)
{
	for (size_t i = 0; i < k->modules.nr; i++) {
		const struct hv_module *m = &k->modules.list[i];

		hv_text_add_guest(ret, m->name, sizeof(m->name));
		hv_text_printf(ret, " %llu - - Live 0x%016llx\n",
			       (unsigned long long)(m->text.end.v - m->text.start.v),
			       (unsigned long long)m->text.start.v);
	}
}

struct hv_err *proc_text(const struct hv_kernel *k, unsigned nr_cpus, const char *name,
			 struct hv_text *ret)
{
	if (strcmp(name, "kallsyms") == 0)
		add_kallsyms(k, ret);
	else if (strcmp(name, "version") == 0)
		hv_text_printf(ret, "%s\n", k->banner);
	else if (strcmp(name, "modules") == 0)
		add_modules(k, ret);
	else if (strcmp(name, "cpus") == 0 && nr_cpus > 1)
		hv_text_printf(ret, "0-%u\n", nr_cpus - 1);
	else if (strcmp(name, "cpus") == 0)
		hv_text_add(ret, "0\n");
	else
		return hv_err_new(ENOENT, "/proc/%s of the guest is not known", name);
	return NULL;
}
