/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The session of a verb that records for a while: the one that the domain has, or one that is begun
 * for as long. Leaves to others: what is recorded. */
#pragma once

#include "cli/client.h"
#include "cli/verbs/verb.h"

/* Connects RET to the session of the domain SPEC. If it has none, begins one, which ends with this
 * connection; *RET_ATTACHED_HERE says so, also after an error. MAX_OVERHEAD_PPM: the part of a
 * vCPU's time that tracing may take while RET is connected; 0: no limit. */
struct hv_err *record_session_begin(const struct cli *cli, const char *spec,
				    uint64_t max_overhead_ppm, struct client *ret,
				    bool *ret_attached_here) hv_must_use;
/* Detaches. Its notes go to standard error. */
struct hv_err *record_session_end(struct client *c) hv_must_use;
