/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The types of the guest's own events: its catalogue, which is read from guest memory when somebody
 * asks for it first, and again after modules were loaded or removed. Attaching does not read it.
 * Leaves to others: what is in a catalogue (kernel/events/catalogue.h), recording events. */
#pragma once

#include "base/err.h"

struct hv_catalogue;
struct hv_event_types;
struct hv_kernel;

/* KERNEL is borrowed. */
struct hv_event_types *hv_event_types_new(const struct hv_kernel *kernel) hv_must_use;
void hv_event_types_free(struct hv_event_types *t);

/* *RET is borrowed until hv_event_types_forget(), which hv_session_refresh() calls. Errors are
 * those of hv_catalogue_read(); after one the next call fails likewise, without reading anything,
 * until hv_event_types_forget(). */
struct hv_err *hv_event_types_catalogue(struct hv_event_types *t,
					const struct hv_catalogue **ret) hv_must_use;
/* Modules were loaded or removed: the catalogue is not valid any more. */
void hv_event_types_forget(struct hv_event_types *t);
