/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/events/skipped.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "kernel/events/catalogue.h"

static void add_busy(struct hv_skipped *l, const struct hv_event_type *type, struct hv_err *why)
{
	if (l->nr_busy < HV_SKIPPED_NAMES)
		l->busy[l->nr_busy] = (struct hv_skipped_event){
			hv_format("%s:%s", type->system, type->name), why};
	else
		hv_err_free(why);
	l->nr_busy++;
}

void hv_skipped_add(struct hv_skipped *l, const struct hv_event_type *type, struct hv_err *why)
{
	if (why->code != EOPNOTSUPP) {
		add_busy(l, type, why);
		return;
	}
	l->nr_never++;
	hv_err_keep_first(&l->never, hv_err_in(why, "%s:%s", type->system, type->name));
}

bool hv_skipped_any(const struct hv_skipped *l)
{
	return l->nr_never || l->nr_busy;
}

struct hv_err *hv_skipped_take(struct hv_skipped *l)
{
	struct hv_err *first;

	if (l->nr_busy) {
		first = hv_err_in(l->busy[0].why, "%s", l->busy[0].name);
		l->busy[0].why = NULL;
	} else {
		first = l->never;
		l->never = NULL;
	}
	hv_skipped_deinit(l);
	return first;
}

struct hv_err *hv_skipped_never(const struct hv_skipped *l, size_t nr)
{
	if (!l->never)
		return NULL;
	return hv_err_new(EOPNOTSUPP, "%zu of %zu events cannot be recorded, as %s", l->nr_never,
			  nr, l->never->message);
}

static size_t nr_named(const struct hv_skipped *l)
{
	return l->nr_busy < HV_SKIPPED_NAMES ? l->nr_busy : HV_SKIPPED_NAMES;
}

static bool has_reason_of(const struct hv_skipped *l, size_t a, size_t b)
{
	return strcmp(l->busy[a].why->message, l->busy[b].why->message) == 0;
}

/* Adds the reason for event FIRST, and all later events with the same reason. Does nothing if an
 * earlier event has this reason. */
static void add_reason(const struct hv_skipped *l, size_t first, struct hv_text *ret)
{
	for (size_t i = 0; i < first; i++)
		if (has_reason_of(l, i, first))
			return;
	hv_text_printf(ret, "%s (%s): %s", first ? ";" : "", l->busy[first].why->message,
		       l->busy[first].name);
	for (size_t i = first + 1; i < nr_named(l); i++)
		if (has_reason_of(l, i, first))
			hv_text_printf(ret, ", %s", l->busy[i].name);
}

struct hv_err *hv_skipped_busy(const struct hv_skipped *l, size_t nr)
{
	HV_AUTO_TEXT struct hv_text why = {0};

	if (!l->nr_busy)
		return NULL;
	for (size_t i = 0; i < nr_named(l); i++)
		add_reason(l, i, &why);
	if (l->nr_busy > HV_SKIPPED_NAMES)
		hv_text_printf(&why, "; and %zu more", l->nr_busy - HV_SKIPPED_NAMES);
	return hv_err_new(EBUSY, "%zu of %zu events cannot be recorded now%s", l->nr_busy, nr,
			  why.data);
}

void hv_skipped_deinit(struct hv_skipped *l)
{
	hv_err_free(l->never);
	for (size_t i = 0; i < nr_named(l); i++) {
		free(l->busy[i].name);
		hv_err_free(l->busy[i].why);
	}
	*l = (struct hv_skipped){0};
}
