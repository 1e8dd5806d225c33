/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events that one write named beside others, and that it leaves off without failing: because this
 * guest's kernel has no way to record them, or because the guest itself is in the way now. */
#pragma once

#include "base/err.h"
#include "base/text.h"

struct hv_event_type;

/* Zero-initialised: none. */
struct hv_left_out {
	size_t nr_never;
	struct hv_err *never; /* why the first of them cannot, with its name */
	size_t nr_busy;
	struct hv_err *busy;  /* why the first of them cannot, without its name */
	struct hv_text names; /* of the first busy ones, in a row */
};

/* WHY is EOPNOTSUPP or EBUSY, and is taken. */
void hv_left_out_add(struct hv_left_out *l, const struct hv_event_type *type, struct hv_err *why);
/* Why the first one cannot be recorded, with its name; L is empty then. NULL: there is none. */
struct hv_err *hv_left_out_take(struct hv_left_out *l);
/* What is to be said of a write that named NR events; one error for each of the two kinds, or
 * NULL. */
struct hv_err *hv_left_out_never(const struct hv_left_out *l, size_t nr);
struct hv_err *hv_left_out_busy(const struct hv_left_out *l, size_t nr);
void hv_left_out_deinit(struct hv_left_out *l);
