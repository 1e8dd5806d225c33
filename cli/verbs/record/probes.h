/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The probes that record is asked for (-k): defines them in kprobe_events, and removes them at the
 * end. If record is killed, they stay defined; nothing is recorded then.
 * Leaves to others: what a definition means (tree/settings/kprobe.h). */
#pragma once

#include "base/err.h"
#include "base/text.h"

struct client;

/* The probe of marks (tracer/events/guest_marks.h). All who record marks share it: the first
 * defines it, and the last removes it. */
#define RECORD_PROBES_MARK "p:hvtrace/mark security_task_prctl text=$mark"

/* Defines the probes of LINES, one a line. Adds to RET, with a blank before each but the first, the
 * event of each probe that was defined, also if a later one was refused: GROUP:NAME. */
struct hv_err *record_probes_define(struct client *c, const char *lines,
				    struct hv_text *ret) hv_must_use;
/* Removes the probes of EVENTS, as record_probes_define() has named them. Nothing may record them
 * any more. */
struct hv_err *record_probes_remove(struct client *c, const char *events) hv_must_use;
