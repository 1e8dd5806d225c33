/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/sections/section_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "kernel/kernel.h"

/* There is room for all addresses of a section. */
static void add(struct hv_section *s, const struct hv_kernel *k, struct hv_gva at)
{
	if (at.v && !hv_gva_in(at, k->text))
		s->names[s->nr_names++] = (struct hv_section_name){.at = at};
}

static void add_event(struct hv_section *s, const struct hv_kernel *k, const struct hv_event *e)
{
	add(s, k, e->ip);
	add(s, k, e->parent_ip);
}

static void remove_doubles(struct hv_section *s)
{
	size_t nr = 0;

	qsort(s->names, s->nr_names, sizeof(*s->names), hv_section_by_address);
	for (size_t i = 0; i < s->nr_names; i++)
		if (!nr || s->names[nr - 1].at.v != s->names[i].at.v)
			s->names[nr++] = s->names[i];
	s->nr_names = nr;
	s->names = hv_realloc_array(s->names, nr + 1, sizeof(*s->names));
}

static void look_up(struct hv_section_name *n, const struct hv_kernel *k)
{
	const char *name, *module;

	if (!hv_kernel_symbol_at(k, n->at, &name, &module, &n->off))
		return;
	n->name = hv_strdup(name);
	n->module = module ? hv_strdup(module) : NULL;
	n->len_bytes = hv_kernel_symbol_size(k, n->at);
}

void hv_section_keep_names(struct hv_section *s, const struct hv_kernel *k)
{
	s->names = hv_alloc((2 * (s->nr_calls + 2) + s->nr_callers) * sizeof(*s->names));
	add_event(s, k, &s->from);
	add_event(s, k, &s->to);
	for (size_t i = 0; i < s->nr_calls; i++)
		add_event(s, k, &s->calls[i]);
	for (size_t i = 0; i < s->nr_callers; i++)
		add(s, k, s->callers[i]);
	remove_doubles(s);
	for (size_t i = 0; i < s->nr_names; i++)
		look_up(&s->names[i], k);
}
