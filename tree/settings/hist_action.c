/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/hist_action.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

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

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
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
	bool is_synth_next = a->deed == HV_HIST_TRACES && has_prefix(a->name, "trace");
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
	if (has_prefix(name, "save"))
		a->deed = HV_HIST_SAVES;
	else if (has_prefix(name, "snapshot"))
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

	while (i < HV_ARRAY_LEN(handlers) && !has_prefix(text, handlers[i].prefix))
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
