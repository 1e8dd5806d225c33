/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/left_out.h"

#include <string.h>

#include "kernel/events/catalogue.h"

#define NAMES_MAX 8

static void add_busy(struct hv_left_out *l, const struct hv_event_type *type, struct hv_err *why)
{
	if (l->nr_busy < NAMES_MAX)
		hv_text_printf(&l->names, "%s%s:%s", l->nr_busy ? ", " : "", type->system,
			       type->name);
	l->nr_busy++;
	hv_err_keep_first(&l->busy, why);
}

void hv_left_out_add(struct hv_left_out *l, const struct hv_event_type *type, struct hv_err *why)
{
	if (why->code == EBUSY) {
		add_busy(l, type, why);
		return;
	}
	l->nr_never++;
	hv_err_keep_first(&l->never, hv_err_in(why, "%s:%s", type->system, type->name));
}

struct hv_err *hv_left_out_take(struct hv_left_out *l)
{
	struct hv_err *first = l->never;

	l->never = NULL;
	if (l->busy) {
		hv_err_free(first);
		l->names.data[strcspn(l->names.data, ",")] = '\0';
		first = hv_err_in(l->busy, "%s", l->names.data);
		l->busy = NULL;
	}
	hv_left_out_deinit(l);
	return first;
}

struct hv_err *hv_left_out_never(const struct hv_left_out *l, size_t nr)
{
	if (!l->never)
		return NULL;
	return hv_err_new(EOPNOTSUPP, "%zu of %zu events cannot be recorded, as %s", l->nr_never,
			  nr, l->never->message);
}

struct hv_err *hv_left_out_busy(const struct hv_left_out *l, size_t nr)
{
	HV_AUTO_FREE char *more = NULL;

	if (!l->busy)
		return NULL;
	if (l->nr_busy > NAMES_MAX)
		more = hv_format(" and %zu more", l->nr_busy - NAMES_MAX);
	return hv_err_new(EBUSY, "%zu of %zu events cannot be recorded now (%s): %s%s", l->nr_busy,
			  nr, l->busy->message, l->names.data, more ? more : "");
}

void hv_left_out_deinit(struct hv_left_out *l)
{
	hv_err_free(l->never);
	hv_err_free(l->busy);
	hv_text_deinit(&l->names);
	*l = (struct hv_left_out){0};
}
