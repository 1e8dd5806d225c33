/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A dump, which the commands dump and cpudump ask for: the contents of the top's buffer at the
 * call, of all vCPUs or of the one that called (ftrace_dump_one). As in the kernel there is one
 * dump at a time: none begins until the last one has ended.
 * Leaves to others: its text (files/dump.h), where that is written (cli/service/dumps.h). */
#pragma once

#include "tracer/events/cursor.h"
#include "tree/instance/core/tracer.h"
#include "tree/settings/probes.h"

enum hv_dump_state {
	HV_DUMP_NONE,
	HV_DUMP_WAITS, /* it waits for a reader */
	HV_DUMP_READ,  /* somebody reads it, until hv_dump_end() */
};

/* Zero-initialised: there is no dump. */
struct hv_dump {
	enum hv_dump_state state;
	int cpu;			    /* the vCPU that called; -1: all vCPUs */
	const struct hv_tracer_ops *tracer; /* of the top, at the call */
	char *why; /* owned; the function, the command, the vCPU and the task; safe to print */
	struct hv_buffer *buffer; /* the buffer that CURSOR reads */
	struct hv_cursor *cursor; /* owned; NULL: the reader owns it */
};

/* Begins a dump unless there is one. EVENT is the call, and SITES contains its function's name.
 * BUFFER and TRACER are those of the top. */
void hv_dump_begin(struct hv_dump *dump, const struct hv_sites *sites, struct hv_buffer *buffer,
		   const struct hv_tracer_ops *tracer, enum hv_probe_command command,
		   const struct hv_event *event);
/* Ends the dump, also when nobody has read it. */
void hv_dump_end(struct hv_dump *dump);
