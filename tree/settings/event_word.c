/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/event_word.h"

#include <stddef.h>
#include <string.h>

#define MODULE ":mod:"

static const char *unless_all(const char *name)
{
	return *name && strcmp(name, "*") != 0 ? name : NULL;
}

struct hv_event_word hv_event_word_parse(char *word)
{
	struct hv_event_word w = {.is_not = *word == '!'};
	char *colon, *module;

	word += w.is_not;
	module = strstr(word, MODULE);
	if (module) {
		*module = '\0';
		w.module = module + strlen(MODULE);
	}
	colon = strchr(word, ':');
	if (!colon) {
		w.either = module ? unless_all(word) : word;
		return w;
	}
	*colon = '\0';
	w.system = unless_all(word);
	w.event = unless_all(colon + 1);
	return w;
}

static bool is_named(const char *wanted, const char *name)
{
	return !wanted || strcmp(wanted, name) == 0;
}

bool hv_event_word_matches(const struct hv_event_word *w, const char *system, const char *event,
			   const char *module)
{
	if (w->module && (!module || strcmp(w->module, module) != 0))
		return false;
	if (w->either)
		return is_named(w->either, system) || is_named(w->either, event);
	return is_named(w->system, system) && is_named(w->event, event);
}
