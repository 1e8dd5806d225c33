/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events that one write named beside others, and that it leaves off without failing: because this
 * guest's kernel has no way to record them, or because they cannot be recorded now, as while the
 * guest itself is in the way. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define HV_SKIPPED_NAMES 8

struct hv_event_type;

/* One that cannot be recorded now; both owned. */
struct hv_skipped_event {
	char *name;
	struct hv_err *why;
};

/* Zero-initialised: none. */
struct hv_skipped {
	size_t nr_never;
	struct hv_err *never; /* why the first of them cannot, with its name */
	size_t nr_busy;
	struct hv_skipped_event busy[HV_SKIPPED_NAMES]; /* the first of them */
};

/* WHY, which is taken, is EOPNOTSUPP where TYPE never can be recorded. */
void hv_skipped_add(struct hv_skipped *l, const struct hv_event_type *type, struct hv_err *why);
bool hv_skipped_any(const struct hv_skipped *l);
/* Why the first one cannot be recorded, with its name; L is empty then. NULL: there is none. */
struct hv_err *hv_skipped_take(struct hv_skipped *l);
/* What is to be said of a write that named NR events; one error for each of the two kinds, or
 * NULL. */
struct hv_err *hv_skipped_never(const struct hv_skipped *l, size_t nr);
struct hv_err *hv_skipped_busy(const struct hv_skipped *l, size_t nr);
void hv_skipped_deinit(struct hv_skipped *l);
