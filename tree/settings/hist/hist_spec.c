/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/hist/hist_spec.h"

#include <stdlib.h>
#include <string.h>

#include "base/prefix.h"
#include "base/text.h"
#include "tree/settings/hist/synth.h"
#include "tree/settings/token.h"

/* -- actions ----------------------------------------------------------------------------------- */

#define SPACES	      " \t\n\v\f\r"
#define PARAM_LEN_MIN 2
#define NO_ACTION     "No action found"
#define NO_CLOSING    "No closing paren found"

static void hist_action_free(struct hv_hist_action *a)
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
	hist_action_free(*a);
}

static bool fail_at(struct hv_hist_parse *p, const char *why, const char *marked)
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
			fail_at(p, "Too many action params", "");
			return true;
		}
		param = strip(strsep(&params, ","));
		if (strlen(param) < PARAM_LEN_MIN)
			return fail_at(p, "Invalid action param", param);
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
		return fail_at(p, NO_ACTION, "");
	a->name = hv_strdup(name);
	params = strsep(&text, ")");
	if (hv_starts_with(name, "save"))
		a->deed = HV_HIST_SAVES;
	else if (hv_starts_with(name, "snapshot"))
		a->deed = HV_HIST_SNAPSHOTS;
	if (a->deed == HV_HIST_SNAPSHOTS && !text)
		return fail_at(p, NO_CLOSING, params);
	if (a->deed != HV_HIST_SNAPSHOTS && !take_params(p, a, params))
		return false;
	return a->deed == HV_HIST_TRACES || a->handler != HV_HIST_ON_MATCH ||
	       fail_at(p, "Handler doesn't support action", name);
}

/* TEXT follows "onmatch(" (onmatch_parse). */
static bool take_match(struct hv_hist_parse *p, struct hv_hist_action *a, char *text)
{
	char *event = strsep(&text, ")"), *system;
	const struct hv_event_type *type;

	if (!text)
		return fail_at(p, NO_CLOSING, event);
	system = strsep(&event, ".");
	if (!event)
		return fail_at(p, "Missing subsystem", system);
	type = hv_catalogue_find(p->scope->catalogue, system, event);
	if (!type || !hv_event_type_has_triggers(type))
		return fail_at(p, "Invalid subsystem or event name", event);
	a->system = hv_strdup(system);
	a->event = hv_strdup(event);
	return take_deed(p, a, text);
}

/* TEXT follows "onmax(" or "onchange(" (track_data_parse). */
static bool take_tracked(struct hv_hist_parse *p, struct hv_hist_action *a, char *text)
{
	char *variable = strsep(&text, ")");

	if (!text)
		return fail_at(p, NULL, "");
	a->variable = hv_strdup(variable);
	return take_deed(p, a, text);
}

/* Parses TEXT, which it modifies, and adds the action to P->spec. Returns false on error. */
static bool hist_action_parse(struct hv_hist_parse *p, char *text)
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
		return fail_at(p, NULL, "");
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

/* Returns whether the kernel considers A and B equal. */
static bool hist_action_is_like(const struct hv_hist_action *a, const struct hv_hist_action *b)
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
		return fail_at(p, "Couldn't parse field variable", name);
	if (hv_hist_has_variable(p, name)) {
		hv_hist_field_free(f);
		return fail_at(p, "Couldn't create or find variable", name);
	}
	return add_variable(p->spec, name, role, f, ret) ||
	       fail_at(p, "Couldn't create or find variable", name);
}

static bool is_own(const struct hv_hist_parse *p, struct hv_hist_qualifier place)
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
static bool find_field(struct hv_hist_parse *p, struct hv_hist_qualifier place, const char *name,
		       struct hv_hist_target *ret)
{
	HV_AUTO_FREE char *variable = hv_format(NAME_PREFIX "%s", name);
	HV_AUTO_FREE char *trigger = NULL;
	const struct hv_event_type *type =
		hv_catalogue_find(p->scope->catalogue, place.system, place.event);
	struct hv_hist_other other;

	if (!type || !hv_event_type_has_triggers(type))
		return fail_at(p, "Event file not found", name);
	if (!hv_hist_find_alike(p, type, &other))
		return fail_at(p, "Matching event histogram not found", name);
	if (hv_hist_find_variable(p, place, variable, ret))
		return true;
	trigger = field_trigger(&other, name);
	if (!p->scope->add || p->scope->add(p->scope->of, type, trigger) != 0)
		return fail_at(p, "Couldn't create histogram for field", name);
	return hv_hist_find_variable(p, place, variable, ret) ||
	       fail_at(p, "Couldn't find synthetic variable", name);
}

static struct hv_hist_qualifier place_or_match(const struct hv_hist_action *a,
					       struct hv_hist_qualifier place)
{
	if (!place.system && a->handler == HV_HIST_ON_MATCH)
		return (struct hv_hist_qualifier){a->system, a->event};
	return place;
}

/* trace_action_find_var() */
static bool find_named(struct hv_hist_parse *p, const struct hv_hist_action *a,
		       struct hv_hist_qualifier place, const char *name, struct hv_hist_target *ret)
{
	if (is_own(p, place) && hv_hist_find_own(p->spec, name, ret))
		return true;
	return hv_hist_find_variable(p, place_or_match(a, place), name, ret) ||
	       fail_at(p, "Couldn't find param", name);
}

/* trace_action_create_field_var() */
static bool find_or_add_field(struct hv_hist_parse *p, const struct hv_hist_action *a,
			      struct hv_hist_qualifier place, const char *name,
			      struct hv_hist_target *ret)
{
	struct hv_hist_qualifier at = place_or_match(a, place);
	unsigned variable;

	if (is_own(p, place) && add_field(p, name, HV_HIST_PARAMETER, &variable)) {
		*ret = (struct hv_hist_target){.spec = p->spec, .variable = variable};
		return true;
	}
	return at.event ? find_field(p, at, name, ret) : fail_at(p, NULL, "");
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
	struct hv_hist_qualifier place = {0};
	struct hv_hist_target target;
	char *name = copy;

	if (strchr(copy, '.')) {
		place.system = strsep(&name, ".");
		place.event = strsep(&name, ".");
		if (!name)
			return fail_at(p, NULL, "");
	}
	if (!(name[0] == '$' ? find_named(p, a, place, name + 1, &target)
			     : find_or_add_field(p, a, place, name, &target)))
		return false;
	if (!fits(a->synth, i, &target.spec->variables[target.variable]))
		return fail_at(p, "Param type doesn't match synthetic event field type", name);
	return hv_hist_refer(p, &target, &a->refs[i]) || hv_hist_fail(p, ENOMEM, NULL, "");
}

/* trace_action_create() */
static bool link_synth(struct hv_hist_parse *p, struct hv_hist_action *a)
{
	const char *name = a->synth_name ? a->synth_name : a->name;

	a->synth = p->scope->synth ? p->scope->synth(p->scope->of, name) : NULL;
	if (!a->synth)
		return fail_at(p, "Couldn't find synthetic event", name);
	for (unsigned i = 0; i < a->nr_params; i++)
		if (!link_param(p, a, i))
			return false;
	return a->nr_params == a->synth->nr_fields ||
	       fail_at(p, "Param count doesn't match synthetic event field count", name);
}

/* -- linking actions --------------------------------------------------------------------------- */

static bool link_saved(struct hv_hist_parse *p, const struct hv_hist_action *a)
{
	unsigned unused;

	for (unsigned i = 0; i < p->spec->nr_variables; i++)
		if (p->spec->variables[i].role == HV_HIST_SAVED)
			return hv_hist_fail(p, EEXIST,
					    "Can't have more than one save() action per hist", "");
	for (unsigned i = 0; i < a->nr_params; i++)
		if (!add_field(p, a->params[i], HV_HIST_SAVED, &unused))
			return fail_at(p, "Couldn't create field variable", a->params[i]);
	return true;
}

/* The tracked variable belongs to the trigger itself (track_data_create). */
static bool link_tracked(struct hv_hist_parse *p, struct hv_hist_action *a)
{
	const char *tracked = a->handler == HV_HIST_ON_MAX ? "__max" : "__change";
	struct hv_hist_target target;

	if (a->variable[0] != '$')
		return fail_at(p, "For onmax(x) or onchange(x), x must be a variable", a->variable);
	if (!hv_hist_find_own(p->spec, a->variable + 1, &target))
		return fail_at(p, "Couldn't find onmax or onchange variable", a->variable + 1);
	if (!hv_hist_refer(p, &target, &a->ref))
		return hv_hist_fail(p, ENOMEM, NULL, "");
	return add_variable(p->spec, tracked, HV_HIST_TRACKED, NULL, &a->tracked) ||
	       fail_at(p, "Couldn't create onmax or onchange variable", "");
}

/* Resolves names in the actions of P->spec and adds the variables that they need. May add other
 * triggers. Returns false if a name does not exist. */
static bool hist_actions_link(struct hv_hist_parse *p)
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

#define BLANKS		   " \t"
#define COMMAND		   "hist"
#define SIZE_MIN	   (1u << 7)
#define SIZE		   (1u << 11) /* TRACING_MAP_BITS_DEFAULT */
#define WORD		   8u
#define TOO_MANY_VARIABLES "Too many variables defined"

/* The colon-separated parts of a trigger that are parsed after all of them are known. Owned, and
 * modified by parsing. */
struct parts {
	char *keys, *values, *sort;
	char *assignments[HV_HIST_VARIABLES_MAX];
	unsigned nr_assignments;
	char *actions[HV_HIST_ACTIONS_MAX];
	unsigned nr_actions;
};

static void parts_deinit(struct parts *parts)
{
	free(parts->keys);
	free(parts->values);
	free(parts->sort);
	for (unsigned i = 0; i < parts->nr_assignments; i++)
		free(parts->assignments[i]);
	for (unsigned i = 0; i < parts->nr_actions; i++)
		free(parts->actions[i]);
}

void hv_hist_spec_deinit(struct hv_hist_spec *s)
{
	for (unsigned i = 0; i < s->nr_values; i++)
		hv_hist_field_free(s->values[i]);
	for (unsigned i = 0; i < s->nr_keys; i++)
		hv_hist_field_free(s->keys[i]);
	for (unsigned i = 0; i < s->nr_variables; i++) {
		hv_hist_field_free(s->variables[i].field);
		free(s->variables[i].name);
	}
	for (unsigned i = 0; i < s->nr_actions; i++)
		hist_action_free(s->actions[i]);
	free(s->name);
	free(s->clock);
	free(s->filter);
}

/* An error that the kernel has no message for. */
static bool fail(struct hv_hist_parse *p, int code)
{
	return hv_hist_fail(p, code, NULL, "");
}

/* -- the command and the filter ---------------------------------------------------------------- */

static const char *skip_command(const char *text)
{
	text += strspn(text, SPACES);
	text += *text == '!';
	return hv_after_prefix(text, COMMAND);
}

bool hv_hist_spec_is(const char *text)
{
	const char *rest = skip_command(text);

	return rest && (!*rest || strchr(":" BLANKS, *rest));
}

/* Returns the text after the command, or NULL. */
static const char *rest_of(const char *text)
{
	const char *rest = skip_command(text);

	if (!*rest)
		return NULL;
	rest++;
	rest += strspn(rest, SPACES);
	return *rest ? rest : NULL;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Removes " if FILTER" from REST. *RET_FILTER points to the filter in REST, or is NULL. */
static bool cut_filter(struct hv_hist_parse *p, char *rest, char **ret_filter)
{
	char *end = rest + strlen(rest);

	*ret_filter = NULL;
	for (char *at = strstr(rest, "if"); at; at = strstr(at + 1, "if")) {
		if (at == rest)
			return fail(p, EINVAL);
		if (!is_blank(at[-1]))
			continue;
		if (at + strlen("if") + 1 >= end)
			return fail(p, EINVAL);
		if (!is_blank(at[strlen("if")]))
			continue;
		at[-1] = '\0';
		*ret_filter = at + strlen("if") + 1;
		return true;
	}
	return true;
}

/* The '-' of sym-offset is not an operator. */
static void protect_offsets(char *rest)
{
	static const char modifier[] = ".sym-offset";

	for (char *at = strstr(rest, modifier); at; at = strstr(at + strlen(modifier), modifier))
		at[strlen(".sym")] = 'X';
}
/* -- colon-separated parts --------------------------------------------------------------------- */

static void replace(char **at, const char *text)
{
	free(*at);
	*at = hv_strdup(text);
}

static bool take_size(struct hv_hist_parse *p, struct hv_hist_spec *s, const char *text)
{
	uint64_t value;
	struct hv_err *err = hv_number_parse(text, 0, &value);
	int code = err ? err->code : EINVAL;

	if (err || value > HV_HIST_SIZE_MAX || value <= SIZE_MIN / 2) {
		hv_err_free(err);
		return fail(p, code);
	}
	for (s->size = SIZE_MIN; s->size < value;)
		s->size *= 2;
	return true;
}

static bool add_assignment(struct hv_hist_parse *p, struct parts *parts, const char *part)
{
	if (parts->nr_assignments == HV_HIST_VARIABLES_MAX)
		return hv_hist_fail(p, EINVAL, TOO_MANY_VARIABLES, part);
	parts->assignments[parts->nr_assignments++] = hv_strdup(part);
	return true;
}

/* Parses NAME=TEXT in PART (parse_assignment). */
static bool take_assignment(struct hv_hist_parse *p, struct hv_hist_spec *s, struct parts *parts,
			    char *part)
{
	size_t name_len = strcspn(part, "=");
	HV_AUTO_FREE char *name = hv_format("%.*s", (int)name_len, part);
	char *text = part + name_len + 1;

	if (!*text)
		return hv_hist_fail(p, EINVAL, "Empty assignment", part);
	if (strcmp(name, "key") == 0 || strcmp(name, "keys") == 0)
		replace(&parts->keys, text);
	else if (strcmp(name, "val") == 0 || strcmp(name, "vals") == 0 ||
		 strcmp(name, "values") == 0)
		replace(&parts->values, text);
	else if (strcmp(name, "sort") == 0)
		replace(&parts->sort, text);
	else if (strcmp(name, "name") == 0)
		replace(&s->name, part);
	else if (strcmp(name, "clock") == 0)
		replace(&s->clock, strip(text));
	else if (strcmp(name, "size") == 0)
		return take_size(p, s, text);
	else
		return add_assignment(p, parts, part);
	return true;
}

static bool take_word(struct hv_hist_parse *p, struct hv_hist_spec *s, struct parts *parts,
		      const char *word)
{
	static const char *const actions[] = {"onmatch(", "onmax(", "onchange("};
	const struct {
		const char *word;
		bool *flag;
	} flags[] = {{"pause", &s->pauses},	      {"cont", &s->continues},
		     {"continue", &s->continues},     {"clear", &s->clears},
		     {"nohitcount", &s->no_hitcount}, {"NOHC", &s->no_hitcount}};

	for (size_t i = 0; i < HV_ARRAY_LEN(flags); i++) {
		if (strcmp(word, flags[i].word) != 0)
			continue;
		*flags[i].flag = true;
		return true;
	}
	for (size_t i = 0; i < HV_ARRAY_LEN(actions); i++) {
		if (!hv_starts_with(word, actions[i]))
			continue;
		if (parts->nr_actions == HV_HIST_ACTIONS_MAX)
			return fail(p, EINVAL);
		parts->actions[parts->nr_actions++] = hv_strdup(word);
		return true;
	}
	return fail(p, EINVAL);
}

/* parse_hist_trigger_attrs() */
static bool take_parts(struct hv_hist_parse *p, struct hv_hist_spec *s, struct parts *parts,
		       char *rest)
{
	char *part;

	while ((part = strsep(&rest, ":")))
		if (!(strchr(part, '=') ? take_assignment(p, s, parts, part)
					: take_word(p, s, parts, part)))
			return false;
	return parts->keys || fail(p, EINVAL);
}

/* -- variables and actions --------------------------------------------------------------------- */

static bool take_actions(struct hv_hist_parse *p, struct parts *parts)
{
	for (unsigned i = 0; i < parts->nr_actions; i++)
		if (!hist_action_parse(p, parts->actions[i]))
			return false;
	return true;
}

/* Splits the assignments NAME=TEXT[,NAME=TEXT]... (parse_var_defs). */
static bool take_definitions(struct hv_hist_parse *p, struct parts *parts)
{
	for (unsigned i = 0; i < parts->nr_assignments; i++) {
		char *rest = parts->assignments[i], *text;

		for (unsigned j = 0; j < HV_HIST_VARIABLES_MAX; j++) {
			const char *name;

			text = strsep(&rest, ",");
			if (!text)
				break;
			name = strsep(&text, "=");
			if (!text)
				return hv_hist_fail(p, EINVAL, "Malformed assignment", name);
			if (p->nr_definitions == HV_HIST_VARIABLES_MAX)
				return hv_hist_fail(p, EINVAL, TOO_MANY_VARIABLES, name);
			p->definitions[p->nr_definitions++] =
				(struct hv_hist_definition){name, text};
		}
	}
	return true;
}

/* A variable with .execname contains the task's name, not its pid (update_var_execname). */
static void name_task(struct hv_hist_field *f)
{
	if (f->modifier != HV_HIST_EXECNAME)
		return;
	f->kind = HV_HIST_COMM;
	f->is_text = true;
	f->is_signed = false;
	f->size_bytes = HV_HIST_TEXT_BYTES;
	replace(&f->type, "char[]");
}

/* create_var_fields() */
static bool take_variables(struct hv_hist_parse *p, struct hv_hist_spec *s)
{
	for (unsigned i = 0; i < p->nr_definitions; i++) {
		const struct hv_hist_definition *d = &p->definitions[i];
		HV_AUTO_FREE char *text = hv_strdup(d->text);
		struct hv_hist_field *f;

		if (!s->removes && hv_hist_has_variable(p, d->name))
			return hv_hist_fail(p, EINVAL, "Variable already defined", d->name);
		f = hv_hist_field_parse(p, text, HV_HIST_VARIABLE);
		if (!f)
			return false;
		name_task(f);
		s->variables[s->nr_variables++] = (struct hv_hist_variable){
			.name = hv_strdup(d->name),
			.role = HV_HIST_DEFINED,
			.field = f,
		};
	}
	return true;
}

/* -- keys, values, sorts ----------------------------------------------------------------------- */

/* hitcount is always a value. */
static bool take_values(struct hv_hist_parse *p, struct hv_hist_spec *s, char *values)
{
	char hitcount[] = "hitcount";
	char *value = NULL;

	s->values[s->nr_values++] = hv_hist_field_parse(p, hitcount, HV_HIST_VALUE);
	for (unsigned i = 0; i < HV_HIST_VALUES_MAX && s->nr_values < HV_HIST_VALUES_MAX; i++) {
		value = strsep(&values, ",");
		if (!value)
			break;
		if (strcmp(value, hitcount) == 0)
			continue;
		s->values[s->nr_values] = hv_hist_field_parse(p, value, HV_HIST_VALUE);
		if (!s->values[s->nr_values])
			return false;
		s->nr_values++;
	}
	if (s->nr_values == 1 && s->no_hitcount)
		return hv_hist_fail(p, ENOENT, "Non-hitcount value is required for 'nohitcount'",
				    "");
	return !values || strcmp(values, hitcount) == 0 || fail(p, EINVAL);
}

/* Returns whether F uses a variable (field_has_hist_vars). Parsing has limited the depth. */
static bool has_variables(const struct hv_hist_field *f)
{
	if (!f)
		return false;
	return f->kind == HV_HIST_REFERENCE || has_variables(f->operands[0]) ||
	       has_variables(f->operands[1]);
}

static uint32_t key_bytes_of(const struct hv_hist_field *f)
{
	bool is_wide = f->kind == HV_HIST_TEXT || f->is_stack;

	return is_wide ? (f->size_bytes + WORD - 1) / WORD * WORD : WORD;
}

/* The guest determines the size of a string, so it is checked against HV_HIST_KEY_BYTES_MAX. */
static bool has_room(const struct hv_hist_spec *s, const struct hv_hist_field *f)
{
	return f->size_bytes <= HV_HIST_KEY_BYTES_MAX &&
	       key_bytes_of(f) <= HV_HIST_KEY_BYTES_MAX - s->key_bytes;
}

static bool take_keys(struct hv_hist_parse *p, struct hv_hist_spec *s, char *keys)
{
	char *key;

	while (s->nr_keys < HV_HIST_KEYS_MAX && (key = strsep(&keys, ","))) {
		struct hv_hist_field *f = hv_hist_field_parse(p, key, HV_HIST_KEY);

		if (!f)
			return false;
		s->keys[s->nr_keys] = f;
		s->key_off[s->nr_keys++] = s->key_bytes;
		if (has_variables(f))
			return hv_hist_fail(p, EINVAL,
					    "Using variable references in keys not supported", key);
		if (!has_room(s, f))
			return fail(p, EINVAL);
		s->key_bytes += key_bytes_of(f);
	}
	return !keys || fail(p, EINVAL);
}

static bool take_direction(struct hv_hist_parse *p, const char *text, struct hv_hist_sort *ret)
{
	ret->descending = text && strcmp(text, "descending") == 0;
	return !text || ret->descending || strcmp(text, "ascending") == 0 ||
	       hv_hist_fail(p, EINVAL, "Invalid sort modifier", text);
}

static bool find_sorted(struct hv_hist_parse *p, const struct hv_hist_spec *s, const char *name,
			struct hv_hist_sort *ret)
{
	if (strcmp(name, "hitcount") == 0) {
		ret->by = 0;
		return true;
	}
	for (ret->by = 1; ret->by < s->nr_values + s->nr_keys; ret->by++)
		if (strcmp(hv_hist_spec_field(s, ret->by)->name, name) == 0)
			return true;
	return hv_hist_fail(p, EINVAL, "Sort field must be a key or a val", name);
}

/* create_sort_keys() */
static bool take_sorts(struct hv_hist_parse *p, struct hv_hist_spec *s, char *sorts)
{
	char *text;

	s->nr_sorts = sorts ? 0 : 1;
	while (s->nr_sorts < HV_HIST_SORTS_MAX && (text = strsep(&sorts, ","))) {
		struct hv_hist_sort *sort = &s->sorts[s->nr_sorts];
		const char *name;

		if (*text && s->nr_sorts == HV_HIST_SORTS_MAX - 1 && sorts)
			return hv_hist_fail(p, EINVAL, "Too many sort fields (Max = 2)", "sort=");
		name = strsep(&text, ".");
		if (!*name)
			return hv_hist_fail(p, EINVAL, "Empty sort field", "sort=");
		if (!find_sorted(p, s, name, sort) || !take_direction(p, text, sort))
			return false;
		s->nr_sorts++;
	}
	return true;
}

static bool parse(struct hv_hist_parse *p, char *rest, struct hv_hist_spec *s, struct parts *parts)
{
	char *filter;

	if (!cut_filter(p, rest, &filter))
		return false;
	if (filter) {
		s->filter = hv_strdup(filter);
		rest = strip(rest);
	}
	protect_offsets(rest);
	if (!take_parts(p, s, parts, rest) || !take_actions(p, parts) ||
	    !take_definitions(p, parts) || !take_values(p, s, parts->values) ||
	    !take_variables(p, s) || !take_keys(p, s, parts->keys) ||
	    !take_sorts(p, s, parts->sort))
		return false;
	s->has_time = p->has_time;
	s->has_usecs = p->has_usecs;
	if (!s->clock)
		s->clock = hv_strdup("global");
	return true;
}

char *hv_hist_spec_command(const char *text)
{
	const char *rest = rest_of(text);

	return hv_format(COMMAND ":%s", rest ? rest : "");
}

bool hv_hist_spec_parse(const struct hv_hist_scope *scope, const char *text,
			struct hv_hist_spec *ret, struct hv_hist_faults *ret_faults)
{
	const char *rest = rest_of(text);
	HV_AUTO_FREE char *command = hv_hist_spec_command(text);
	HV_AUTO_FREE char *copy = hv_strdup(rest ? rest : "");
	hv_cleanup(parts_deinit) struct parts parts = {0};
	struct hv_hist_spec s = {
		.removes = text[strspn(text, SPACES)] == '!',
		.size = SIZE,
	};
	struct hv_hist_parse p = {.scope = scope, .command = command, .spec = &s};
	bool is_right = rest ? parse(&p, copy, &s, &parts) : fail(&p, EINVAL);

	*ret_faults = p.faults;
	if (is_right) {
		ret_faults->code = 0;
		*ret = s;
	} else {
		hv_hist_spec_deinit(&s);
	}
	return is_right;
}

bool hv_hist_spec_link(const struct hv_hist_scope *scope, const char *text, struct hv_hist_spec *s,
		       struct hv_hist_faults *ret_faults)
{
	HV_AUTO_FREE char *command = hv_hist_spec_command(text);
	struct hv_hist_parse p = {.scope = scope, .command = command, .spec = s};
	bool is_right = hist_actions_link(&p);

	*ret_faults = p.faults;
	if (is_right)
		ret_faults->code = 0;
	return is_right;
}

bool hv_hist_spec_needs_stack(const struct hv_hist_spec *s)
{
	for (unsigned i = 0; i < s->nr_keys; i++)
		if (s->keys[i]->kind == HV_HIST_STACK)
			return true;
	for (unsigned i = 0; i < s->nr_variables; i++)
		if (s->variables[i].field && s->variables[i].field->kind == HV_HIST_STACK)
			return true;
	return false;
}

bool hv_hist_spec_needs_user_stack(const struct hv_hist_spec *s)
{
	for (unsigned i = 0; i < s->nr_keys; i++)
		if (s->keys[i]->kind == HV_HIST_USER_STACK)
			return true;
	return false;
}

/* -- keys of entries --------------------------------------------------------------------------- */

/* Copies the string up to its NUL, and leaves room for a NUL. */
static void put_text(const struct hv_hist_field *f, const struct hv_hist_record *record,
		     uint8_t *ret)
{
	struct hv_span text = hv_hist_field_text(f, record);
	size_t len = text.len_bytes, max = key_bytes_of(f) - 1;

	if (len > max)
		len = max;
	if (len)
		memcpy(ret, text.data, strnlen((const char *)text.data, len));
}

void hv_hist_spec_key(const struct hv_hist_spec *s, const struct hv_hist_record *record,
		      uint8_t *ret_key)
{
	memset(ret_key, 0, s->key_bytes);
	for (unsigned i = 0; i < s->nr_keys; i++) {
		uint8_t *at = ret_key + s->key_off[i];
		uint64_t value;

		if (s->keys[i]->kind == HV_HIST_TEXT) {
			put_text(s->keys[i], record, at);
			continue;
		}
		if (s->keys[i]->is_stack) {
			uint64_t stack[HV_HIST_STACK_MAX];

			hv_hist_field_stack(s->keys[i], record, stack);
			memcpy(at, stack, sizeof(stack));
			continue;
		}
		value = hv_hist_field_value(s->keys[i], record);
		memcpy(at, &value, sizeof(value));
	}
}

/* -- comparing triggers ------------------------------------------------------------------------ */

/* Compares two hist triggers as the kernel does (hist_trigger_match). */

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
		if (!hist_action_is_like(a->actions[i], b->actions[i]))
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
