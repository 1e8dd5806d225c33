/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A dump, requested by the commands dump and cpudump: the contents of the top instance's buffer at
 * the call, of all vCPUs or of the calling one (ftrace_dump_one). As in the kernel, only one dump
 * exists at a time. files/dump.c has its text; cli/service/dumps.h writes it. */
#pragma once

#include "tracer/events/cursor.h"
#include "tree/instance/core/tracer.h"
#include "tree/settings/probes.h"

enum hv_dump_state {
	HV_DUMP_NONE,
	HV_DUMP_WAITS, /* waits for a reader */
	HV_DUMP_READ,  /* being read, until hv_dump_end() */
};

/* Zero-initialised: no dump. */
struct hv_dump {
	enum hv_dump_state state;
	int cpu;			    /* the calling vCPU; -1: all vCPUs */
	const struct hv_tracer_ops *tracer; /* the top instance's tracer at the call */
	char *why;		  /* owned; function, command, vCPU and task; safe to print */
	struct hv_buffer *buffer; /* the buffer that CURSOR reads */
	struct hv_cursor *cursor; /* owned; NULL: the reader owns it */
};

/* Starts a dump unless one exists. EVENT is the call; SITES contains its function's name. BUFFER
 * and TRACER belong to the top instance. */
void hv_dump_begin(struct hv_dump *dump, const struct hv_sites *sites, struct hv_buffer *buffer,
		   const struct hv_tracer_ops *tracer, enum hv_probe_command command,
		   const struct hv_event *event);
/* Ends the dump, read or not. */
void hv_dump_end(struct hv_dump *dump);
