/* Dumps, which the commands dump and cpudump ask for: the top's buffer as it was at the call, of
 * all vCPUs or of the one that called (ftrace_dump_one). There is one dump at a time, as in the
 * kernel: none begins until the one before has ended.
 * Leaves to others: its text (files/dump.h), where that is written (cli/service/dumps.h). */
#pragma once

#include "tracer/events/cursor.h"
#include "tree/settings/probes.h"
#include "tree/settings/tracer_names.h"

enum hv_dump_state {
	HV_DUMP_NONE,
	HV_DUMP_WAITS, /* nobody has asked for it yet */
	HV_DUMP_READ,  /* somebody reads it, until hv_dump_end() */
};

/* Zero-initialised is none. */
struct hv_dump {
	enum hv_dump_state state;
	int cpu;	       /* the one that called; -1: all */
	enum hv_tracer tracer; /* the top's at the call */
	char *why;	       /* owned; the function, the command and the caller, safe to print */
	struct hv_buffer *buffer; /* the cursor's */
	struct hv_cursor *cursor; /* owned; NULL: its reader has taken it */
};

/* EVENT is the call; SITES give its function a name. BUFFER and TRACER are the top's. */
void hv_dump_begin(struct hv_dump *dump, const struct hv_sites *sites, struct hv_buffer *buffer,
		   enum hv_tracer tracer, enum hv_probe_command command,
		   const struct hv_event *event);
/* Also ends one that nobody has read. */
void hv_dump_end(struct hv_dump *dump);
