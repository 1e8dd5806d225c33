/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of the audit log about what requests changed, and how long the guest was stopped for
 * it. Leaves to others: how a line is written (cli/audit.h), refusals (access.h), attach and detach
 * (service.h, ending.h). */
#pragma once

#include "cli/audit.h"
#include "tracer/session.h"

struct service;

/* A request that may change something, from its beginning. */
struct trail_step {
	struct hv_session_stat before;
	uint64_t began_ns;
};
struct trail_step trail_begin(const struct service *s);

enum trail_write {
	TRAIL_MAYBE,	 /* PATH gets a line if the guest was changed */
	TRAIL_WRITTEN,	 /* PATH was written: it gets a line also if it is the tracer */
	TRAIL_PUBLISHED, /* PATH was closed after a write: also if it is a filter */
};
/* WHO did something with the file PATH of the tree since STEP. */
void trail_change(struct service *s, const struct audit_actor *who, const char *path,
		  const struct trail_step *step, enum trail_write write);

/* Writes a line if the guest was held for more than HV_LONG_HOLD_NS since the last call. WHO NULL:
 * nobody asked for it, the service did it of its own accord. */
void trail_holds(struct service *s, const struct audit_actor *who);
