/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits until the kernel of a machine of `hvtrace run` can be traced. It parses what the guest
 * wrote, so the service's process without rights does this.
 * Leaves to others: the machine and its service (session.h). */
#pragma once

#include "cli/service/config.h"

/* See struct service_machine. From boot on: the machine stands afterwards where ftrace_init() has
 * returned; else it runs, and its kernel has freed its init code. ECANCELED: the machine ended
 * before. */
struct hv_err *run_until_up(struct hv_guest *guest, const struct service_machine *machine,
			    void (*say)(void *ctx, const char *line), void *ctx) hv_must_use;
