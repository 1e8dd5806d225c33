/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/hist_reference.h"

#include <string.h>

#include "base/text.h"
#include "tree/settings/hist_action.h"

#define NOT_UNIQUE                                                                                 \
	"Variable name not unique, need to use fully qualified name (subsys.event.var) for "       \
	"variable"

static bool is_place(const struct hv_event_type *type, struct hv_hist_place place)
{
	return strcmp(type->system, place.system) == 0 && strcmp(type->name, place.event) == 0;
}

static bool next_other(const struct hv_hist_parse *p, size_t index, struct hv_hist_other *ret)
{
	return p->scope->other && p->scope->other(p->scope->of, index, ret);
}

/* -- finding ----------------------------------------------------------------------------------- */

bool hv_hist_find_own(const struct hv_hist_spec *s, const char *name, struct hv_hist_target *ret)
{
	for (unsigned i = 0; i < s->nr_variables; i++) {
		if (s->variables[i].role != HV_HIST_DEFINED ||
		    strcmp(s->variables[i].name, name) != 0)
			continue;
		*ret = (struct hv_hist_target){.spec = s, .variable = i};
		return true;
	}
	return false;
}

/* Of the events at PLACE (find_file_var). */
static bool find_at(const struct hv_hist_parse *p, struct hv_hist_place place, const char *name,
		    struct hv_hist_target *ret)
{
	struct hv_hist_other other;

	for (size_t i = 0; next_other(p, i, &other); i++) {
		if (!is_place(other.type, place) || !hv_hist_find_own(other.spec, name, ret))
			continue;
		ret->serial = other.serial;
		return true;
	}
	return false;
}

/* Of the only events that have it (find_var_file). */
static bool find_anywhere(struct hv_hist_parse *p, const char *name, struct hv_hist_target *ret)
{
	const struct hv_event_type *found = NULL;
	struct hv_hist_target target;
	struct hv_hist_other other;

	for (size_t i = 0; next_other(p, i, &other); i++) {
		if (other.type == found || !hv_hist_find_own(other.spec, name, &target))
			continue;
		if (found) {
			hv_hist_fail(p, EINVAL, NOT_UNIQUE, name);
			return false;
		}
		found = other.type;
		*ret = target;
		ret->serial = other.serial;
	}
	return found != NULL;
}

/* Where the actions match (find_match_var). *RET_NR is how many events have it. */
static bool find_matched(struct hv_hist_parse *p, const char *name, struct hv_hist_target *ret,
			 unsigned *ret_nr)
{
	*ret_nr = 0;
	for (unsigned i = 0; i < p->spec->nr_actions; i++) {
		const struct hv_hist_action *a = p->spec->actions[i];
		struct hv_hist_place place = {a->system, a->event};
		struct hv_hist_target target;

		if (a->handler != HV_HIST_ON_MATCH || !find_at(p, place, name, &target))
			continue;
		if ((*ret_nr)++) {
			hv_hist_fail(p, EINVAL, NOT_UNIQUE, name);
			return false;
		}
		*ret = target;
	}
	return *ret_nr == 1;
}

bool hv_hist_find_variable(struct hv_hist_parse *p, struct hv_hist_place place, const char *name,
			   struct hv_hist_target *ret)
{
	unsigned nr_matched;

	if (place.system)
		return find_at(p, place, name, ret);
	if (find_matched(p, name, ret, &nr_matched))
		return true;
	return !nr_matched && find_anywhere(p, name, ret);
}

bool hv_hist_has_variable(const struct hv_hist_parse *p, const char *name)
{
	const struct hv_event_type *type = p->scope->type;
	struct hv_hist_target unused;

	return hv_hist_find_own(p->spec, name, &unused) ||
	       find_at(p, (struct hv_hist_place){type->system, type->name}, name, &unused);
}

/* compatible_keys() */
static bool has_keys_like(const struct hv_hist_spec *a, const struct hv_hist_spec *b)
{
	if (a->nr_keys != b->nr_keys)
		return false;
	for (unsigned i = 0; i < a->nr_keys; i++)
		if (strcmp(a->keys[i]->type, b->keys[i]->type) != 0 ||
		    a->keys[i]->size_bytes != b->keys[i]->size_bytes ||
		    a->keys[i]->is_signed != b->keys[i]->is_signed)
			return false;
	return true;
}

bool hv_hist_find_alike(const struct hv_hist_parse *p, const struct hv_event_type *type,
			struct hv_hist_other *ret)
{
	for (size_t i = 0; next_other(p, i, ret); i++)
		if (ret->type == type && has_keys_like(p->spec, ret->spec))
			return true;
	return false;
}

/* -- referring --------------------------------------------------------------------------------- */

bool hv_hist_refer(struct hv_hist_parse *p, const struct hv_hist_target *target, unsigned *ret)
{
	struct hv_hist_spec *s = p->spec;

	for (*ret = 0; *ret < s->nr_refs; ++*ret)
		if (s->refs[*ret].serial == target->serial &&
		    s->refs[*ret].variable == target->variable)
			return true;
	if (s->nr_refs == HV_HIST_VARIABLES_MAX)
		return false;
	s->refs[s->nr_refs++] = (struct hv_hist_reference){
		.serial = target->serial,
		.variable = target->variable,
	};
	return true;
}

struct hv_hist_field *hv_hist_reference_new(struct hv_hist_parse *p,
					    const struct hv_hist_target *target,
					    struct hv_hist_place place)
{
	const struct hv_hist_variable *v = &target->spec->variables[target->variable];
	struct hv_hist_field *f;
	unsigned ref;

	if (!hv_hist_refer(p, target, &ref))
		return NULL;
	f = hv_alloc(sizeof(*f));
	f->kind = HV_HIST_REFERENCE;
	f->ref = ref;
	f->name = place.system ? hv_format("%s.%s.%s", place.system, place.event, v->name)
			       : hv_strdup(v->name);
	f->type = hv_strdup(v->field->type);
	f->size_bytes = v->field->size_bytes;
	f->is_signed = v->field->is_signed;
	f->is_usecs = v->field->is_usecs;
	f->is_text = v->field->is_text;
	f->is_stack = v->field->is_stack;
	f->is_constant = v->field->is_constant;
	f->constant = v->field->constant;
	return f;
}
