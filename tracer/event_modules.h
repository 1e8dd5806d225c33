/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the event tracer does for events of modules, whose tracepoint, probe and type are memory
 * that the guest can free: before one is switched on its module is claimed, and while it is claimed
 * the event is as one of the core kernel. Leaves to others: the claims (module_claims.h), when they
 * are taken away (event_tracer.h). */
#pragma once

#include "base/err.h"

struct hv_event_calls;
struct hv_event_type;
struct hv_tracee;

/* Claims the module of TYPE, if it is of one, and makes sure that the type is there still. EBUSY:
 * the guest is loading or removing the module; ENOENT: it has gone. */
struct hv_err *hv_event_modules_claim(struct hv_tracee *t, struct hv_event_calls *calls,
				      const struct hv_event_type *type) hv_must_use;
