/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits until the kernel of a machine of `hvtrace run` can be traced. Runs in the service's
 * unprivileged process, because it parses the guest's data. session.h handles the machine and its
 * service. */
#pragma once

#include "cli/service/config.h"

/* See struct service_machine. With from_boot, the machine is stopped where ftrace_init() has
 * returned; otherwise it runs, and its kernel has freed its init code. ECANCELED: the machine ended
 * first. */
struct hv_err *run_until_up(struct hv_guest *guest, const struct service_machine *machine,
			    void (*say)(void *ctx, const char *line), void *ctx) hv_must_use;
