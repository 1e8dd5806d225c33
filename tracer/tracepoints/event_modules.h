/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Claims modules for the event tracer. The tracepoint, probe and type of a module's event are
 * memory that the guest can free, so the module is claimed before the event is switched on. While
 * it is claimed, the event is handled like one of the core kernel.
 *
 * module_claims.h implements claims; event_tracer.h releases them. */
#pragma once

#include "base/err.h"

struct hv_event_calls;
struct hv_event_type;
struct hv_tracee;

/* Claims the module of TYPE, if it belongs to one, and verifies that the type still exists. EBUSY:
 * the guest is loading or removing the module. ENOENT: the module was removed. */
struct hv_err *hv_event_modules_claim(struct hv_tracee *t, struct hv_event_calls *calls,
				      const struct hv_event_type *type) hv_must_use;
