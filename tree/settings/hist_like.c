/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares two hist triggers as the kernel does (hist_trigger_match). */
#include <string.h>

#include "tree/settings/hist_action.h"
#include "tree/settings/hist_spec.h"

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Like hist_trigger_match(), ignores buckets and numbers. */
static bool is_same_field(const struct hv_hist_field *a, const struct hv_hist_field *b)
{
	bool is_field = a->kind == HV_HIST_NUMBER || a->kind == HV_HIST_TEXT ||
			a->kind == HV_HIST_STACK_FIELD;

	return a->kind == b->kind && a->modifier == b->modifier && a->size_bytes == b->size_bytes &&
	       a->is_signed == b->is_signed && a->is_stack == b->is_stack &&
	       (!is_field || (strcmp(a->type, b->type) == 0 && strcmp(a->name, b->name) == 0));
}

static unsigned nr_defined(const struct hv_hist_spec *s)
{
	unsigned nr = 0;

	while (nr < s->nr_variables && s->variables[nr].role == HV_HIST_DEFINED)
		nr++;
	return nr;
}

/* Variables without a definition come from actions. */
static bool has_like_variables(const struct hv_hist_spec *a, const struct hv_hist_spec *b)
{
	unsigned nr = nr_defined(a);

	if (nr != nr_defined(b) || a->nr_actions != b->nr_actions)
		return false;
	for (unsigned i = 0; i < nr; i++)
		if (strcmp(a->variables[i].name, b->variables[i].name) != 0 ||
		    !is_same_field(a->variables[i].field, b->variables[i].field))
			return false;
	for (unsigned i = 0; i < a->nr_actions; i++)
		if (!hv_hist_action_is_like(a->actions[i], b->actions[i]))
			return false;
	return true;
}

bool hv_hist_spec_is_like(const struct hv_hist_spec *a, const struct hv_hist_spec *b)
{
	if (a->nr_values != b->nr_values || a->nr_keys != b->nr_keys || a->nr_sorts != b->nr_sorts)
		return false;
	for (unsigned i = 0; i < a->nr_values + a->nr_keys; i++)
		if (!is_same_field(hv_hist_spec_field(a, i), hv_hist_spec_field(b, i)))
			return false;
	for (unsigned i = 0; i < a->nr_sorts; i++)
		if (a->sorts[i].by != b->sorts[i].by ||
		    a->sorts[i].descending != b->sorts[i].descending)
			return false;
	return has_like_variables(a, b);
}

bool hv_hist_spec_has_filter(const struct hv_hist_spec *s, const char *filter)
{
	return is_same_text(s->filter, filter);
}
