/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One decoded event, which becomes a line of `trace`. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/bytes.h"

enum hv_event_kind {
	HV_EVENT_FUNCTION,
	HV_EVENT_GRAPH_ENTRY, /* ip is the function, parent_ip its caller (0: not recorded) */
	HV_EVENT_GRAPH_EXIT,  /* ip is the function, time_ns the time of its return */
	HV_EVENT_PRINT,	      /* a line of trace_marker; ip is the kernel's marker function, or 0 */
	HV_EVENT_RAW_DATA,    /* bytes of trace_marker_raw; the first four are a number */
	HV_EVENT_STACK,	      /* callers of the function ip; parent_ip is its caller */
	HV_EVENT_COMMAND, /* call of the function ip whose commands the host executes; only drains
			     return it */
	HV_EVENT_GUESTS,  /* one of the guest's own events, of type ID; has an entry */
};

/* tracefs-spec: trace_flag_type */
#define HV_TRACE_IRQS_OFF	   0x01
#define HV_TRACE_NEED_RESCHED_LAZY 0x02 /* since 6.13, or of PREEMPT_RT */
#define HV_TRACE_NEED_RESCHED	   0x04
#define HV_TRACE_HARDIRQ	   0x08
#define HV_TRACE_SOFTIRQ	   0x10
#define HV_TRACE_PREEMPT_RESCHED   0x20
#define HV_TRACE_NMI		   0x40
#define HV_TRACE_BH_OFF		   0x80

#define HV_SECTION_BEGINS 1
#define HV_SECTION_ENDS	  2

#define HV_COMM_UNKNOWN "<...>"

/* A set of event kinds. */
#define HV_BRIEF_KIND(kind) (1u << (kind))
#define HV_BRIEF_CALLS	    (HV_BRIEF_KIND(HV_EVENT_GRAPH_ENTRY) | HV_BRIEF_KIND(HV_EVENT_GRAPH_EXIT))
#define HV_BRIEF_ALL	    (HV_BRIEF_CALLS | HV_BRIEF_KIND(HV_EVENT_FUNCTION))

/* The common case of an event: a call (HV_EVENT_FUNCTION, HV_EVENT_GRAPH_ENTRY) or a return
 * (HV_EVENT_GRAPH_EXIT) without losses before it and without further records. The members are as in
 * struct hv_event. */
struct hv_brief {
	uint64_t time_ns;
	struct hv_gva ip;
	struct hv_gva parent_ip; /* only calls */
	uint64_t call_ns;	 /* only returns */
	uint32_t pid;
	uint16_t depth;
	uint8_t kind;
	uint8_t flags;
	uint8_t preempt_depth;
	uint8_t migrate_depth;
	uint8_t lazy_depth;
};

struct hv_event {
	enum hv_event_kind kind;
	unsigned cpu;
	uint64_t time_ns;
	uint32_t pid;
	uint32_t tgid;	       /* 0: unknown */
	char comm[16];	       /* HV_COMM_UNKNOWN, or untrusted */
	uint8_t flags;	       /* HV_TRACE_* */
	uint8_t preempt_depth; /* low nibble, as in the trace */
	uint8_t migrate_depth;
	uint8_t lazy_depth;   /* PREEMPT_RT's lazy preemption count */
	uint64_t lost_before; /* events lost on this CPU just before this one */
	struct hv_gva ip;
	struct hv_gva parent_ip;
	/* entry and exit: */
	uint16_t depth; /* number of traced functions around it. An interrupt continues the depth of
			   the interrupted code */
	uint32_t overrun; /* exit: calls on this stack whose returns had no room */
	uint64_t call_ns; /* exit: time of the call, on the clock of time_ns */
	uint64_t host_ns; /* exit: time when the host did not run the vCPU, at most the call's
			     duration; 0 if not requested */
	uint8_t has_retval;
	uint64_t retval;    /* exit, with has_retval */
	uint8_t of_command; /* stack: recorded for a command, not for a tracer's option */
	/* Stack: deeper than any earlier stack of a task. Only drains return it. Only the top
	 * instance's stack tracer uses it, unless of_command is set too. */
	uint8_t is_deepest;
	/* Function: if not 0, the event is not a call: preemption or interrupts were switched off
	 * or on at ip, in a function called by parent_ip (0: unknown). Stack: recorded at the end
	 * of a section. */
	uint8_t of_section; /* HV_SECTION_* */
	/* Stack: belongs to a guest event on this vCPU, the last one of this task that has no stack
	 * yet. ip is 0; the callers start with the caller of the callback. */
	uint8_t of_event;
	/* Stack: the function itself, then its callers. Borrowed; valid until the event after the
	 * next one is taken. NULL and 0 with HV_CURSOR_DRAIN and HV_CURSOR_TAKE. */
	const struct hv_gva *callers;
	size_t nr_callers;
	uint8_t callers_end_early; /* there may be further callers that could not be found */
	/* Print and raw data: the text as the host wrote it. Borrowed until the next event is taken
	 * or something is written. NULL and length 0: evicted. */
	const char *text;
	size_t text_len;
	/* Guest event: the bytes that its format describes. Borrowed like CALLERS. Contents and
	 * length are untrusted; the length is HV_ENTRY_HEADER_LEN to HV_ENTRY_LEN_MAX. */
	struct hv_span entry;
	const uint8_t *results; /* results of the event's program (HV_FETCH_HEAD), borrowed like
				   CALLERS; NULL: none */
	uint16_t id;		/* guest event: the type, common_type of the entry */
	uint8_t is_compat;	/* guest event: the task is in a system call of another ABI */
	/* Guest event made by the host: how much higher its preempt count is than inside the
	 * callback of the event that it was made from, on kernels with such a count. At most
	 * HV_EVENT_DEEPER_MAX. Decoding does not set it. */
	uint8_t deeper;
	uint16_t results_len; /* bytes */
	/* Guest event made by the host: its preempt count is the one of the original event, not the
	 * one inside its callback. Decoding does not set it. */
	uint8_t is_as_deep;
};
