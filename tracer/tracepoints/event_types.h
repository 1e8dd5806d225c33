/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The types of the guest's own events. The catalogue is read from guest memory at the first
 * request, not at attach, and again after modules were loaded or removed.
 *
 * kernel/events/catalogue.h defines the contents; event_tracer.h records events. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct hv_catalogue;
struct hv_event_type;
struct hv_event_types;
struct hv_kernel;

/* Borrows KERNEL. */
struct hv_event_types *hv_event_types_new(const struct hv_kernel *kernel) hv_must_use;
void hv_event_types_free(struct hv_event_types *t);

/* *RET is borrowed until hv_event_types_forget(), which hv_session_refresh() calls. Returns the
 * errors of hv_catalogue_read(). After an error further calls return it again, without reading,
 * until hv_event_types_forget(). */
struct hv_err *hv_event_types_catalogue(struct hv_event_types *t,
					const struct hv_catalogue **ret) hv_must_use;
/* Adds TYPE to the catalogue, which must have been read, and to later ones. Borrows everything that
 * TYPE points to until it is removed. Invalidates catalogues returned before and pointers to
 * types. */
void hv_event_types_add(struct hv_event_types *t, const struct hv_event_type *type);
/* Removes an added type. Invalidates the same pointers as hv_event_types_add(). */
void hv_event_types_remove(struct hv_event_types *t, uint32_t id);
/* Returns a number that changes whenever the types change. */
uint64_t hv_event_types_version(const struct hv_event_types *t);
/* Discards the catalogue after modules were loaded or removed. */
void hv_event_types_forget(struct hv_event_types *t);
