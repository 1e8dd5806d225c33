/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/hist/hist_action.h"

#include <stdlib.h>
#include <string.h>

#include "base/prefix.h"
#include "base/text.h"
#include "tree/settings/hist/synth.h"

#define SPACES	      " \t\n\v\f\r"
#define PARAM_LEN_MIN 2
#define NO_ACTION     "No action found"
#define NO_CLOSING    "No closing paren found"

void hv_hist_action_free(struct hv_hist_action *a)
{
	if (!a)
		return;
	for (unsigned i = 0; i < a->nr_params; i++)
		free(a->params[i]);
	free(a->params);
	free(a->name);
	free(a->synth_name);
	free(a->variable);
	free(a->system);
	free(a->event);
	free(a);
}

static void free_at(struct hv_hist_action **a)
{
	hv_hist_action_free(*a);
}

static bool fail(struct hv_hist_parse *p, const char *why, const char *marked)
{
	return hv_hist_fail(p, EINVAL, why, marked);
}

static char *strip(char *text)
{
	size_t len;

	text += strspn(text, SPACES);
	len = strlen(text);
	while (len && strchr(SPACES, text[len - 1]))
		text[--len] = '\0';
	return text;
}

/* The kernel ignores excess parameters (parse_action_params). */
static bool take_params(struct hv_hist_parse *p, struct hv_hist_action *a, char *params)
{
	bool is_synth_next = a->deed == HV_HIST_TRACES && hv_starts_with(a->name, "trace");
	char *param;

	a->params = hv_alloc(HV_HIST_PARAMS_MAX * sizeof(*a->params));
	while (params) {
		if (a->nr_params == HV_HIST_PARAMS_MAX) {
			fail(p, "Too many action params", "");
			return true;
		}
		param = strip(strsep(&params, ","));
		if (strlen(param) < PARAM_LEN_MIN)
			return fail(p, "Invalid action param", param);
		if (is_synth_next)
			a->synth_name = hv_strdup(param);
		else
			a->params[a->nr_params++] = hv_strdup(param);
		is_synth_next = false;
	}
	return true;
}

/* TEXT is ".NAME(PARAMS)" (action_parse). */
static bool take_deed(struct hv_hist_parse *p, struct hv_hist_action *a, char *text)
{
	char *name, *params;

	strsep(&text, ".");
	name = text ? strsep(&text, "(") : NULL;
	if (!name || !text)
		return fail(p, NO_ACTION, "");
	a->name = hv_strdup(name);
	params = strsep(&text, ")");
	if (hv_starts_with(name, "save"))
		a->deed = HV_HIST_SAVES;
	else if (hv_starts_with(name, "snapshot"))
		a->deed = HV_HIST_SNAPSHOTS;
	if (a->deed == HV_HIST_SNAPSHOTS && !text)
		return fail(p, NO_CLOSING, params);
	if (a->deed != HV_HIST_SNAPSHOTS && !take_params(p, a, params))
		return false;
	return a->deed == HV_HIST_TRACES || a->handler != HV_HIST_ON_MATCH ||
	       fail(p, "Handler doesn't support action", name);
}

/* TEXT follows "onmatch(" (onmatch_parse). */
static bool take_match(struct hv_hist_parse *p, struct hv_hist_action *a, char *text)
{
	char *event = strsep(&text, ")"), *system;
	const struct hv_event_type *type;

	if (!text)
		return fail(p, NO_CLOSING, event);
	system = strsep(&event, ".");
	if (!event)
		return fail(p, "Missing subsystem", system);
	type = hv_catalogue_find(p->scope->catalogue, system, event);
	if (!type || !hv_event_type_has_triggers(type))
		return fail(p, "Invalid subsystem or event name", event);
	a->system = hv_strdup(system);
	a->event = hv_strdup(event);
	return take_deed(p, a, text);
}

/* TEXT follows "onmax(" or "onchange(" (track_data_parse). */
static bool take_tracked(struct hv_hist_parse *p, struct hv_hist_action *a, char *text)
{
	char *variable = strsep(&text, ")");

	if (!text)
		return fail(p, NULL, "");
	a->variable = hv_strdup(variable);
	return take_deed(p, a, text);
}

bool hv_hist_action_parse(struct hv_hist_parse *p, char *text)
{
	static const struct {
		const char *prefix;
		enum hv_hist_handler handler;
	} handlers[] = {
		{"onmatch(", HV_HIST_ON_MATCH},
		{"onmax(", HV_HIST_ON_MAX},
		{"onchange(", HV_HIST_ON_CHANGE},
	};
	hv_cleanup(free_at) struct hv_hist_action *a = hv_alloc(sizeof(*a));
	size_t i = 0;

	while (i < HV_ARRAY_LEN(handlers) && !hv_starts_with(text, handlers[i].prefix))
		i++;
	if (i == HV_ARRAY_LEN(handlers))
		return fail(p, NULL, "");
	a->handler = handlers[i].handler;
	text += strlen(handlers[i].prefix);
	if (!(a->handler == HV_HIST_ON_MATCH ? take_match(p, a, text) : take_tracked(p, a, text)))
		return false;
	p->spec->actions[p->spec->nr_actions++] = a;
	a = NULL;
	return true;
}

static const char *event_of(const struct hv_hist_action *a)
{
	return a->synth_name ? a->synth_name : a->name;
}

bool hv_hist_action_is_like(const struct hv_hist_action *a, const struct hv_hist_action *b)
{
	if (a->handler != b->handler || a->deed != b->deed || a->nr_params != b->nr_params ||
	    strcmp(event_of(a), event_of(b)) != 0)
		return false;
	for (unsigned i = 0; i < a->nr_params; i++)
		if (strcmp(a->params[i], b->params[i]) != 0)
			return false;
	if (a->handler != HV_HIST_ON_MATCH)
		return strcmp(a->variable, b->variable) == 0;
	return strcmp(a->system, b->system) == 0 && strcmp(a->event, b->event) == 0;
}

/* -- names in actions -------------------------------------------------------------------------- */

/* Resolves the names in actions (create_actions and its callees). */

#define NAME_PREFIX "synthetic_"

/* -- variables that actions need --------------------------------------------------------------- */

/* Takes ownership of FIELD, which may be NULL. */
static bool add_variable(struct hv_hist_spec *s, const char *name, enum hv_hist_variable_role role,
			 struct hv_hist_field *field, unsigned *ret)
{
	if (s->nr_variables == HV_HIST_VARIABLES_MAX) {
		hv_hist_field_free(field);
		return false;
	}
	*ret = s->nr_variables;
	s->variables[s->nr_variables++] = (struct hv_hist_variable){
		.name = hv_strdup(name),
		.role = role,
		.field = field,
	};
	return true;
}

/* Adds a variable for field NAME of the event itself (create_field_var). */
static bool add_field(struct hv_hist_parse *p, const char *name, enum hv_hist_variable_role role,
		      unsigned *ret)
{
	HV_AUTO_FREE char *text = hv_strdup(name);
	struct hv_hist_field *f = hv_hist_field_parse_atom(p, text, HV_HIST_VARIABLE);

	if (!f)
		return fail(p, "Couldn't parse field variable", name);
	if (hv_hist_has_variable(p, name)) {
		hv_hist_field_free(f);
		return fail(p, "Couldn't create or find variable", name);
	}
	return add_variable(p->spec, name, role, f, ret) ||
	       fail(p, "Couldn't create or find variable", name);
}

static bool is_own(const struct hv_hist_parse *p, struct hv_hist_place place)
{
	const struct hv_event_type *type = p->scope->type;

	return !place.system ||
	       (strcmp(place.system, type->system) == 0 && strcmp(place.event, type->name) == 0);
}

/* -- parameters of synthetic events ------------------------------------------------------------ */

/* Returns the text of a trigger with the keys of OTHER and field NAME as a variable. */
static char *field_trigger(const struct hv_hist_other *other, const char *name)
{
	const struct hv_hist_spec *s = other->spec;
	struct hv_text text = {0};

	hv_text_add(&text, "hist:keys=");
	for (unsigned i = 0; i < s->nr_keys; i++)
		hv_text_printf(&text, "%s%s", i ? "," : "", s->keys[i]->name);
	hv_text_printf(&text, ":" NAME_PREFIX "%s=%s", name, name);
	if (s->filter)
		hv_text_printf(&text, " if %s", s->filter);
	return hv_text_take(&text);
}

/* Finds field NAME of event PLACE: another trigger gets it as a variable
 * (create_field_var_hist). */
static bool find_field(struct hv_hist_parse *p, struct hv_hist_place place, const char *name,
		       struct hv_hist_target *ret)
{
	HV_AUTO_FREE char *variable = hv_format(NAME_PREFIX "%s", name);
	HV_AUTO_FREE char *trigger = NULL;
	const struct hv_event_type *type =
		hv_catalogue_find(p->scope->catalogue, place.system, place.event);
	struct hv_hist_other other;

	if (!type || !hv_event_type_has_triggers(type))
		return fail(p, "Event file not found", name);
	if (!hv_hist_find_alike(p, type, &other))
		return fail(p, "Matching event histogram not found", name);
	if (hv_hist_find_variable(p, place, variable, ret))
		return true;
	trigger = field_trigger(&other, name);
	if (!p->scope->add || p->scope->add(p->scope->of, type, trigger) != 0)
		return fail(p, "Couldn't create histogram for field", name);
	return hv_hist_find_variable(p, place, variable, ret) ||
	       fail(p, "Couldn't find synthetic variable", name);
}

static struct hv_hist_place place_or_match(const struct hv_hist_action *a,
					   struct hv_hist_place place)
{
	if (!place.system && a->handler == HV_HIST_ON_MATCH)
		return (struct hv_hist_place){a->system, a->event};
	return place;
}

/* trace_action_find_var() */
static bool find_named(struct hv_hist_parse *p, const struct hv_hist_action *a,
		       struct hv_hist_place place, const char *name, struct hv_hist_target *ret)
{
	if (is_own(p, place) && hv_hist_find_own(p->spec, name, ret))
		return true;
	return hv_hist_find_variable(p, place_or_match(a, place), name, ret) ||
	       fail(p, "Couldn't find param", name);
}

/* trace_action_create_field_var() */
static bool find_or_add_field(struct hv_hist_parse *p, const struct hv_hist_action *a,
			      struct hv_hist_place place, const char *name,
			      struct hv_hist_target *ret)
{
	struct hv_hist_place at = place_or_match(a, place);
	unsigned variable;

	if (is_own(p, place) && add_field(p, name, HV_HIST_PARAMETER, &variable)) {
		*ret = (struct hv_hist_target){.spec = p->spec, .variable = variable};
		return true;
	}
	return at.event ? find_field(p, at, name, ret) : fail(p, NULL, "");
}

/* check_synth_field(). The kernel treats the variable of a field as unsigned. */
static bool fits(const struct hv_synth *synth, unsigned pos, const struct hv_hist_variable *v)
{
	const struct hv_synth_field *field = &synth->fields[pos];
	bool is_signed = v->role == HV_HIST_DEFINED && v->field->is_signed;

	if (pos >= synth->nr_fields)
		return false;
	if (v->field->is_stack != field->is_stack)
		return false;
	if (field->is_stack)
		return true;
	if (strstr(v->field->type, "char[") && field->is_text && field->is_dynamic)
		return true;
	return strcmp(field->type, v->field->type) == 0 ||
	       (field->size_bytes == v->field->size_bytes &&
		(field->is_text || field->is_signed == is_signed));
}

static bool link_param(struct hv_hist_parse *p, struct hv_hist_action *a, unsigned i)
{
	HV_AUTO_FREE char *copy = hv_strdup(a->params[i]);
	struct hv_hist_place place = {0};
	struct hv_hist_target target;
	char *name = copy;

	if (strchr(copy, '.')) {
		place.system = strsep(&name, ".");
		place.event = strsep(&name, ".");
		if (!name)
			return fail(p, NULL, "");
	}
	if (!(name[0] == '$' ? find_named(p, a, place, name + 1, &target)
			     : find_or_add_field(p, a, place, name, &target)))
		return false;
	if (!fits(a->synth, i, &target.spec->variables[target.variable]))
		return fail(p, "Param type doesn't match synthetic event field type", name);
	return hv_hist_refer(p, &target, &a->refs[i]) || hv_hist_fail(p, ENOMEM, NULL, "");
}

/* trace_action_create() */
static bool link_synth(struct hv_hist_parse *p, struct hv_hist_action *a)
{
	const char *name = a->synth_name ? a->synth_name : a->name;

	a->synth = p->scope->synth ? p->scope->synth(p->scope->of, name) : NULL;
	if (!a->synth)
		return fail(p, "Couldn't find synthetic event", name);
	for (unsigned i = 0; i < a->nr_params; i++)
		if (!link_param(p, a, i))
			return false;
	return a->nr_params == a->synth->nr_fields ||
	       fail(p, "Param count doesn't match synthetic event field count", name);
}

/* -- actions ----------------------------------------------------------------------------------- */

static bool link_saved(struct hv_hist_parse *p, const struct hv_hist_action *a)
{
	unsigned unused;

	for (unsigned i = 0; i < p->spec->nr_variables; i++)
		if (p->spec->variables[i].role == HV_HIST_SAVED)
			return hv_hist_fail(p, EEXIST,
					    "Can't have more than one save() action per hist", "");
	for (unsigned i = 0; i < a->nr_params; i++)
		if (!add_field(p, a->params[i], HV_HIST_SAVED, &unused))
			return fail(p, "Couldn't create field variable", a->params[i]);
	return true;
}

/* The tracked variable belongs to the trigger itself (track_data_create). */
static bool link_tracked(struct hv_hist_parse *p, struct hv_hist_action *a)
{
	const char *tracked = a->handler == HV_HIST_ON_MAX ? "__max" : "__change";
	struct hv_hist_target target;

	if (a->variable[0] != '$')
		return fail(p, "For onmax(x) or onchange(x), x must be a variable", a->variable);
	if (!hv_hist_find_own(p->spec, a->variable + 1, &target))
		return fail(p, "Couldn't find onmax or onchange variable", a->variable + 1);
	if (!hv_hist_refer(p, &target, &a->ref))
		return hv_hist_fail(p, ENOMEM, NULL, "");
	return add_variable(p->spec, tracked, HV_HIST_TRACKED, NULL, &a->tracked) ||
	       fail(p, "Couldn't create onmax or onchange variable", "");
}

bool hv_hist_actions_link(struct hv_hist_parse *p)
{
	for (unsigned i = 0; i < p->spec->nr_actions; i++) {
		struct hv_hist_action *a = p->spec->actions[i];

		if (a->handler != HV_HIST_ON_MATCH && !link_tracked(p, a))
			return false;
		if (a->deed == HV_HIST_TRACES && !link_synth(p, a))
			return false;
		if (a->deed == HV_HIST_SAVES && !link_saved(p, a))
			return false;
	}
	return true;
}
