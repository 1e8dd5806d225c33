/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/sections/section_modules.h"

#include <stdlib.h>

#include "base/guard.h"
#include "kernel/kernel.h"
#include "patcher/patcher.h"
#include "tracer/guest/tracee.h"

void hv_section_modules_deinit(struct hv_section_modules *m)
{
	free(m->list);
	*m = (struct hv_section_modules){0};
}

static void count_replaced(struct hv_section_modules *m, const struct hv_tracee *t)
{
	HV_AUTO_FREE struct hv_change *undo = NULL;
	size_t nr = hv_patcher_undo_plan(t->patcher, HV_CHANGE_DETOUR, &undo);

	for (size_t i = 0; i < nr; i++) {
		const struct hv_module *module = hv_module_at(&t->kernel->modules, undo[i].gva);

		if (module)
			m->list[module - t->kernel->modules.list].nr_replaced++;
	}
}

void hv_section_modules_note(struct hv_section_modules *m, const struct hv_tracee *t)
{
	const struct hv_modules *modules = &t->kernel->modules;

	hv_section_modules_deinit(m);
	m->list = hv_alloc((modules->nr + 1) * sizeof(*m->list));
	m->nr = modules->nr;
	for (size_t i = 0; i < modules->nr; i++)
		m->list[i] = (struct hv_section_module){.at = modules->list[i].at,
							.text = modules->list[i].text};
	count_replaced(m, t);
}

static int by_text(const void *a, const void *b)
{
	const struct hv_section_module *x = a, *y = b;

	return x->text.start.v < y->text.start.v ? -1 : x->text.start.v > y->text.start.v;
}

bool hv_section_modules_have_come(const struct hv_section_modules *m, const struct hv_tracee *t)
{
	hv_cleanup(hv_section_modules_deinit) struct hv_section_modules now = {0};

	hv_section_modules_note(&now, t);
	for (size_t i = 0; i < now.nr; i++) {
		const struct hv_section_module *was = NULL, *is = &now.list[i];

		if (m->nr)
			was = bsearch(is, m->list, m->nr, sizeof(*is), by_text);
		if (!was || was->at.v != is->at.v || was->text.end.v != is->text.end.v ||
		    is->nr_replaced < was->nr_replaced)
			return true;
	}
	return false;
}
