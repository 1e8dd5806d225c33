/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events that a write named together with others and that it skips without failing, because the
 * guest's kernel cannot record them at all, or because they cannot be recorded now, for example
 * while the guest itself uses them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define HV_SKIPPED_NAMES 8

struct hv_event_type;

/* An event that cannot be recorded now. Members are owned. */
struct hv_skipped_event {
	char *name;
	struct hv_err *why;
};

/* Zero-initialised is empty. */
struct hv_skipped {
	size_t nr_never;
	struct hv_err *never; /* owned; the reason for the first of them, with its name */
	size_t nr_busy;
	struct hv_skipped_event busy[HV_SKIPPED_NAMES]; /* the first of them */
};

/* Takes ownership of WHY. EOPNOTSUPP means that TYPE can never be recorded. */
void hv_skipped_add(struct hv_skipped *l, const struct hv_event_type *type, struct hv_err *why);
bool hv_skipped_any(const struct hv_skipped *l);
/* Returns the reason for the first event, with its name, and empties L. Returns NULL if L is
 * empty. */
struct hv_err *hv_skipped_take(struct hv_skipped *l);
/* Return one message for each kind, for a write that named NR events, or NULL. */
struct hv_err *hv_skipped_never(const struct hv_skipped *l, size_t nr);
struct hv_err *hv_skipped_busy(const struct hv_skipped *l, size_t nr);
void hv_skipped_deinit(struct hv_skipped *l);
