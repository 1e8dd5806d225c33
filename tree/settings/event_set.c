/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/event_set.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/guard.h"
#include "kernel/events/catalogue.h"

struct hv_event_ref hv_event_ref_of(const struct hv_event_type *type)
{
	return (struct hv_event_ref){type->call.v, type->id};
}

void hv_event_set_deinit(struct hv_event_set *s)
{
	free(s->list);
	*s = (struct hv_event_set){0};
}

struct hv_event_set hv_event_set_dup(const struct hv_event_set *s)
{
	struct hv_event_set copy = {hv_alloc((s->nr + 1) * sizeof(*s->list)), s->nr};

	if (s->nr)
		memcpy(copy.list, s->list, s->nr * sizeof(*s->list));
	return copy;
}

/* Returns the index of the first type with an id of at least ID. */
static size_t index_of(const struct hv_event_set *s, uint32_t id)
{
	return HV_BISECT(i, s->nr, s->list[i].id < id);
}

bool hv_event_set_has_id(const struct hv_event_set *s, uint32_t id)
{
	size_t at = index_of(s, id);

	return at < s->nr && s->list[at].id == id;
}

bool hv_event_set_has(const struct hv_event_set *s, struct hv_event_ref ref)
{
	size_t at = index_of(s, ref.id);

	return at < s->nr && s->list[at].id == ref.id && s->list[at].call == ref.call;
}

bool hv_event_set_is_same(const struct hv_event_set *a, const struct hv_event_set *b)
{
	for (size_t i = 0; i < a->nr && i < b->nr; i++)
		if (a->list[i].id != b->list[i].id || a->list[i].call != b->list[i].call)
			return false;
	return a->nr == b->nr;
}

void hv_event_set_add(struct hv_event_set *s, struct hv_event_ref ref)
{
	size_t at = index_of(s, ref.id);

	if (!hv_event_set_has_id(s, ref.id)) {
		s->list = hv_realloc_array(s->list, s->nr + 1, sizeof(*s->list));
		memmove(s->list + at + 1, s->list + at, (s->nr - at) * sizeof(*s->list));
		s->nr++;
	}
	s->list[at] = ref;
}

void hv_event_set_remove(struct hv_event_set *s, struct hv_event_ref ref)
{
	size_t at = index_of(s, ref.id);

	if (!hv_event_set_has(s, ref))
		return;
	s->nr--;
	memmove(s->list + at, s->list + at + 1, (s->nr - at) * sizeof(*s->list));
}

/* -- words of set_event ------------------------------------------------------------------------ */

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

/* -- forms of fields --------------------------------------------------------------------------- */

enum hv_field_form hv_field_form_of(const char *type)
{
	bool has_char = strstr(type, "char") != NULL;

	if (strstr(type, "__data_loc") && has_char)
		return HV_FIELD_DYNAMIC;
	if (strstr(type, "__data_loc") && strstr(type, "cpumask_t"))
		return HV_FIELD_CPUMASK;
	if (strstr(type, "__rel_loc") && has_char)
		return HV_FIELD_RELATIVE;
	if (has_char && strchr(type, '['))
		return HV_FIELD_ARRAY;
	return has_char && strstr(type, " *") ? HV_FIELD_POINTER : HV_FIELD_NUMBER;
}
