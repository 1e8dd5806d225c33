/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The types of the guest's own events: its catalogue, which is read from guest memory when somebody
 * asks for it first, and again after modules were loaded or removed. Attaching does not read it.
 * Leaves to others: what is in a catalogue (kernel/events/catalogue.h), recording events. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct hv_catalogue;
struct hv_event_type;
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
/* Adds TYPE to the catalogue, which has been read, and to those that are read later. What TYPE
 * points to is borrowed until it is removed. Catalogues that were returned before are not valid any
 * more, nor are pointers to types. */
void hv_event_types_add(struct hv_event_types *t, const struct hv_event_type *type);
/* Removes the type ID, which was added. Likewise. */
void hv_event_types_remove(struct hv_event_types *t, uint32_t id);
/* Another number after each change of the types. */
uint64_t hv_event_types_version(const struct hv_event_types *t);
/* Modules were loaded or removed: the catalogue is not valid any more. */
void hv_event_types_forget(struct hv_event_types *t);
