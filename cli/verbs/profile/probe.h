/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A probe that all profiles of a session share: the first one defines it, and the last one removes
 * it. ticks.h and switches.h define which ones. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "cli/client.h"

/* Zero-initialised is undefined. */
struct profile_probe {
	const char *event; /* GROUP/NAME */
	bool is_defined;
};

/* Defines EVENT, which must outlive P, by LINE of kprobe_events. Does nothing if it is defined. */
struct hv_err *profile_probe_define(struct profile_probe *p, struct client *c, const char *event,
				    const char *line) hv_must_use;
/* Removes the probe unless other commands record it. This command must have stopped recording it. */
struct hv_err *profile_probe_remove(struct profile_probe *p, struct client *c) hv_must_use;

/* Moves the reason of ERR to *RET_WHY, which the caller frees. If the session is gone, it returns ERR
 * instead. */
struct hv_err *profile_explain(struct hv_err *err, char **ret_why) hv_must_use;
