/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/trigger.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tree/settings/token.h"

#define BLANKS " \t"
#define SPACES " \t\n\v\f\r"

static const char *const names[HV_NR_TRIGGER_COMMANDS] = {
	[HV_TRIGGER_TRACEON] = "traceon",	    [HV_TRIGGER_TRACEOFF] = "traceoff",
	[HV_TRIGGER_SNAPSHOT] = "snapshot",	    [HV_TRIGGER_STACKTRACE] = "stacktrace",
	[HV_TRIGGER_ENABLE_EVENT] = "enable_event", [HV_TRIGGER_DISABLE_EVENT] = "disable_event",
	[HV_TRIGGER_ENABLE_HIST] = "enable_hist",   [HV_TRIGGER_DISABLE_HIST] = "disable_hist",
};

void hv_trigger_deinit(struct hv_trigger *t)
{
	free(t->system);
	free(t->event);
	free(t->filter);
}

static struct hv_err *find_command(const char *name, enum hv_trigger_command *ret)
{
	for (unsigned i = 0; i < HV_NR_TRIGGER_COMMANDS; i++) {
		if (strcmp(names[i], name) != 0)
			continue;
		*ret = (enum hv_trigger_command)i;
		return NULL;
	}
	return hv_err_new(EINVAL, "there is no trigger '%s' here", name);
}

/* Parses the count at the start of PARAM, which may be NULL (event_trigger_parse_num). */
static struct hv_err *parse_count(char *param, int64_t *ret)
{
	const char *number = strsep(&param, ":");
	struct hv_err *err;
	uint64_t value;

	if (!number)
		return NULL;
	err = hv_number_parse(number, 0, &value);
	if (!err)
		*ret = (int64_t)value;
	return err;
}

/* Parses "if FILTER" in REST, which may be NULL (set_trigger_filter). */
static struct hv_err *parse_filter(char *rest, char **ret)
{
	const char *word = strsep(&rest, BLANKS);

	if (!word)
		return NULL;
	if (strcmp(word, "if") != 0 || !rest)
		return hv_err_new(EINVAL, "'%s': only 'if FILTER' may follow a trigger", word);
	*ret = hv_strdup(rest);
	return NULL;
}

/* Parses SYSTEM:EVENT in *PARAM. A count may follow. */
static struct hv_err *take_event(char **param, struct hv_trigger *t)
{
	char *system = strsep(param, ":");

	if (!system || !*param)
		return hv_err_new(EINVAL, "%s: SYSTEM:EVENT is missing", names[t->command]);
	t->system = hv_strdup(system);
	t->event = hv_strdup(strsep(param, ":"));
	return NULL;
}

/* REST follows the command and one delimiter (event_trigger_separate_filter). */
static struct hv_err *parse_rest(char *rest, struct hv_trigger *t)
{
	bool has_param = rest && (hv_trigger_has_target(t) || isdigit((unsigned char)*rest));
	char *param = has_param ? strsep(&rest, BLANKS) : NULL;
	struct hv_err *err = NULL;

	if (has_param && rest) {
		rest += strspn(rest, SPACES);
		rest = *rest ? rest : NULL;
	}
	if (hv_trigger_has_target(t))
		err = take_event(&param, t);
	if (!err && !t->removes)
		err = parse_count(param, &t->count);
	if (!err && !t->removes)
		err = parse_filter(rest, &t->filter);
	return err;
}

struct hv_err *hv_trigger_parse(const char *text, struct hv_trigger *ret)
{
	HV_AUTO_FREE char *copy = hv_strdup(text + strspn(text, SPACES));
	struct hv_trigger t = {.count = -1};
	char *rest = copy;
	const char *name = strsep(&rest, ":" BLANKS);
	struct hv_err *err;

	if (rest) {
		rest += strspn(rest, SPACES);
		rest = *rest ? rest : NULL;
	}
	t.removes = *name == '!';
	err = find_command(name + t.removes, &t.command);
	if (!err)
		err = parse_rest(rest, &t);
	if (err)
		hv_trigger_deinit(&t);
	else
		*ret = t;
	return err;
}

void hv_trigger_text(const struct hv_trigger *t, struct hv_text *ret)
{
	hv_text_add(ret, names[t->command]);
	if (t->system)
		hv_text_printf(ret, ":%s:%s", t->system, t->event);
	if (t->count == -1)
		hv_text_add(ret, ":unlimited");
	else
		hv_text_printf(ret, ":count=%" PRId64, t->count);
	if (t->filter)
		hv_text_printf(ret, " if %s", t->filter);
	hv_text_add(ret, "\n");
}

void hv_trigger_names(struct hv_text *ret)
{
	for (unsigned i = 0; i < HV_NR_TRIGGER_COMMANDS; i++)
		hv_text_printf(ret, " %s", names[i]);
}

/* traceon and traceoff are of the same type; every other command is its own type. */
static enum hv_trigger_command kind_of(const struct hv_trigger *t)
{
	return t->command == HV_TRIGGER_TRACEOFF ? HV_TRIGGER_TRACEON : t->command;
}

bool hv_trigger_is_like(const struct hv_trigger *a, const struct hv_trigger *b)
{
	if (hv_trigger_has_target(a) != hv_trigger_has_target(b) ||
	    hv_trigger_switches_hists(a) != hv_trigger_switches_hists(b))
		return false;
	if (hv_trigger_has_target(a))
		return strcmp(a->system, b->system) == 0 && strcmp(a->event, b->event) == 0;
	return kind_of(a) == kind_of(b);
}
