/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Audit lines about the changes that requests made, and how long they stopped the guest.
 * cli/audit.h writes lines; access.h audits refusals, service.h attach, and ending.h detach. */
#pragma once

#include "cli/audit.h"
#include "tracer/session.h"

struct service;

/* State before a request that may change something. */
struct trail_step {
	struct hv_session_stat before;
	uint64_t began_ns;
};
struct trail_step trail_begin(const struct service *s);

enum trail_write {
	TRAIL_MAYBE,	 /* log PATH if the guest was changed */
	TRAIL_WRITTEN,	 /* PATH was written: also log it if it selects the tracer, the profile or
			    events */
	TRAIL_PUBLISHED, /* PATH was closed after a write: also log it if it is a function or pid
			    filter */
};
/* Call it after WHO used the tree's file PATH. STEP is from before. */
void trail_change(struct service *s, const struct audit_actor *who, const char *path,
		  const struct trail_step *step, enum trail_write write);

/* Logs a line if a hold since the last call exceeded HV_LONG_HOLD_NS. WHO NULL: the service acted
 * without a request. */
void trail_holds(struct service *s, const struct audit_actor *who);
