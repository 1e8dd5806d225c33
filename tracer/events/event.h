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
	HV_EVENT_GRAPH_EXIT,  /* ip is the function that returned; time_ns is when */
	HV_EVENT_PRINT, /* a line of trace_marker; ip is the kernel's function for markers, or 0 */
	HV_EVENT_RAW_DATA, /* bytes of trace_marker_raw, of which the first four are a number */
	HV_EVENT_STACK,	   /* the callers of the function ip; parent_ip is its caller */
	HV_EVENT_COMMAND,  /* a call of the function ip, whose commands the host obeys; only for
			      drains */
	HV_EVENT_GUESTS,   /* one of the guest's own events, of the type ID; has an entry */
};

/* tracefs-spec: trace_flag_type */
#define HV_TRACE_IRQS_OFF	   0x01
#define HV_TRACE_NEED_RESCHED_LAZY 0x02 /* since 6.13, or PREEMPT_RT's own */
#define HV_TRACE_NEED_RESCHED	   0x04
#define HV_TRACE_HARDIRQ	   0x08
#define HV_TRACE_SOFTIRQ	   0x10
#define HV_TRACE_PREEMPT_RESCHED   0x20
#define HV_TRACE_NMI		   0x40
#define HV_TRACE_BH_OFF		   0x80

#define HV_SECTION_BEGINS 1
#define HV_SECTION_ENDS	  2

#define HV_COMM_UNKNOWN "<...>"

/* A set of kinds. */
#define HV_BRIEF_KIND(kind) (1u << (kind))
#define HV_BRIEF_CALLS	    (HV_BRIEF_KIND(HV_EVENT_GRAPH_ENTRY) | HV_BRIEF_KIND(HV_EVENT_GRAPH_EXIT))
#define HV_BRIEF_ALL	    (HV_BRIEF_CALLS | HV_BRIEF_KIND(HV_EVENT_FUNCTION))

/* What most events are, in brief: a call of a function, HV_EVENT_FUNCTION or HV_EVENT_GRAPH_ENTRY,
 * or a return, HV_EVENT_GRAPH_EXIT, before which nothing was lost and of which no more was recorded
 * than this. The members are as in struct hv_event. */
struct hv_brief {
	uint64_t time_ns;
	struct hv_gva ip;
	struct hv_gva parent_ip; /* calls only */
	uint64_t call_ns;	 /* returns only */
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
	char comm[16];	       /* HV_COMM_UNKNOWN, or hostile */
	uint8_t flags;	       /* HV_TRACE_* */
	uint8_t preempt_depth; /* low nibble as shown */
	uint8_t migrate_depth;
	uint8_t lazy_depth;   /* of PREEMPT_RT's own lazy preemption */
	uint64_t lost_before; /* events lost on this CPU just before this one */
	struct hv_gva ip;
	struct hv_gva parent_ip;
	/* entry and exit only */
	uint16_t depth;	  /* traced functions around it: 0 for the outermost. That of an interrupt
			     continues the depth of what it interrupted */
	uint32_t overrun; /* exit: calls on this stack whose returns found no room */
	uint64_t call_ns; /* exit: time of the call, on the clock of time_ns */
	uint64_t host_ns; /* exit: for how long of the call the host did not run the vCPU; at most
			   * its time. 0 also if nobody asked for it */
	uint8_t has_retval;
	uint64_t retval;    /* exit, with has_retval */
	uint8_t of_command; /* stack: of a command, not of a tracer's option */
	/* stack: the task's stack was deeper than ever. Only a drain returns it, and nobody else
	 * wants it unless it is of_command, too */
	uint8_t is_deepest;
	/* function: not 0: it was not called, but switched preemption off or on there; ip is where,
	 * parent_ip the function's caller (0: not known). Stack: of the end of a section */
	uint8_t of_section; /* HV_SECTION_* */
	/* stack: of an event of the guest's own on this vCPU: the last one of this task whose stack
	 * has not come yet. ip is 0, the callers begin with that of the probe */
	uint8_t of_event;
	/* stack: the function itself, then its callers. Borrowed, valid until the event after the
	 * next one is taken. A drain does not look for them: NULL, 0. */
	const struct hv_gva *callers;
	size_t nr_callers;
	uint8_t callers_end_early; /* there may be more callers, which could not be found */
	/* print and raw data: the text as the host wrote it. Borrowed, valid until the next event
	 * is taken or something is written. NULL, of length 0: forgotten */
	const char *text;
	size_t text_len;
	/* guest's: the bytes that its format describes. Borrowed as CALLERS. Hostile, also the
	 * length, which is from HV_ENTRY_HEADER_LEN to HV_ENTRY_LEN_MAX. */
	struct hv_span entry;
	const uint8_t *results; /* likewise, of the event's program (HV_FETCH_HEAD); NULL: none */
	uint16_t id;		/* guest's: of the type, common_type of the entry */
	uint8_t is_compat;	/* guest's: the task is in a system call of another ABI */
	/* guest's, of an event that the host has made: by how much the preempt count of a kernel
	 * that has one is higher than that inside the probe whose event it was made of; at most
	 * HV_EVENT_DEEPER_MAX. Not set by decoding. */
	uint8_t deeper;
	uint16_t results_len; /* bytes */
	/* guest's, likewise: the preempt count is that of the event it was made of, not that inside
	 * its probe */
	uint8_t is_as_deep;
};
