/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds stalls in pages of trace_pipe_raw. It is an export format that writes no file, but passes
 * the events to the analysers. The caller also supplies the sections with interrupts or preemption
 * off, and the host's outages unless the host's own events are in the pages.
 *
 * The offset between the guest's clock and the host's is estimated from the pages: an event cannot
 * be read before it happened, so the least delay between an event and its reading is an upper
 * bound. It is a few milliseconds too large at most.
 *
 * The caller reads the pages; cli/verbs has the settings and prints the result. One thread. */
#pragma once

#include "export/page_decode.h"
#include "latency/decode.h"
#include "latency/finders.h"
#include "latency/outages.h"
#include "latency/vcpu_threads.h"
#include "latency/verdict.h"

#define HV_LATENCY_SECONDS	4
#define HV_LATENCY_SECTIONS_MAX 64 /* sections whose end time is not yet known */

/* The newest stack on a vCPU, recorded at the end of a section. Nothing else runs on the vCPU
 * during a section, so tasks that ran before its start can be looked up at its end. */
struct hv_latency_stack {
	uint64_t time_ns;
	uint32_t pid;
	struct hv_stall_before before[HV_STALL_BEFORE];
	unsigned nr_before;
};

/* A section whose end time is not yet known. */
struct hv_latency_section {
	struct hv_stall stall; /* with the tasks that ran before `slice`, if that is set */
	uint64_t after_ns;     /* the section ended later than this */
	struct hv_slice slice; /* contains the section; to_ns 0: unknown */
	unsigned nr_turns;     /* calls of hv_export_turn() that it has waited */
};

/* The tasks that ran before a vCPU's longest outage. */
struct hv_latency_outage {
	uint64_t from_ns; /* 0: no outage */
	struct hv_stall_before before[HV_STALL_BEFORE];
	unsigned nr_before;
};

struct hv_latency {
	struct hv_export base;
	struct hv_page_decode decode;
	struct hv_page_merge merge;
	struct hv_moments moments;
	struct hv_finders finders;
	struct hv_due_stacks due_stacks;
	struct hv_limit_fields limit_fields;
	struct hv_stalls stalls;
	struct hv_outages host;
	struct hv_shares shares;	     /* owned; for the measured window; empty until known */
	struct hv_outages vmm;		     /* index 0: outages of VMM threads that run no vCPU */
	struct hv_vcpu_threads threads;	     /* from the host's events */
	struct hv_exit_names *exit_names;    /* owned */
	struct hv_latency_stack *stacks;     /* owned, one per vCPU */
	struct hv_latency_section *sections; /* owned */
	unsigned nr_sections;
	uint64_t checked_ns;		   /* newest event at the last query for sections */
	struct hv_latency_outage *outages; /* owned, one per vCPU */
	bool sees_host;			   /* there is some information on the host */
	bool has_host_events;
	bool clock_is_hosts; /* the trace uses the host's clock */
	bool clock_counts;   /* the guest's clock counts its instructions */
	uint64_t nr_events, nr_lost;
	uint64_t newest_ns; /* newest processed event; 0: none yet */
	uint64_t read_ns;   /* newest event in the pages; some wait for other vCPUs */
	uint64_t forget_ns; /* events up to this time are ignored */
	/* Estimated clock offsets: the minimum over all time, and the minimum of each of the first
	 * and last seconds with events. */
	int64_t least_ns;
	int64_t first_ones_ns[HV_LATENCY_SECONDS], last_ones_ns[HV_LATENCY_SECONDS];
	uint64_t second_ns, clock_begin_ns; /* host clock: start of the last and the first second */
	unsigned nr_seconds;
	uint64_t threshold_ns;
};

extern const struct hv_export_format hv_latency_format;

/* X must be open and of this format. */
struct hv_latency *hv_latency_of(struct hv_export *x);
/* Call the hv_latency_begin* functions before the first page, except hv_latency_begin_stacks(). */
void hv_latency_begin(struct hv_latency *l, uint64_t threshold_ns);
/* Call this if the trace uses the host's clock. */
void hv_latency_begin_on_hosts_clock(struct hv_latency *l);
/* Call this if the caller will report the host's outages. */
void hv_latency_begin_seeing_host(struct hv_latency *l);
/* Call this if the pages contain the host's events, which show outages. */
void hv_latency_begin_host_events(struct hv_latency *l);
/* Call this if the guest's clock counts its instructions, even if the first events do not show it.
 */
void hv_latency_begin_counted(struct hv_latency *l);
/* Discards all events read so far, because not all kinds of events were enabled yet. */
void hv_latency_forget(struct hv_latency *l);
/* From now on, the guest records a stack with the events of KIND that have a trigger for it
 * (hv_wanted_events). hv_latency_end_stacks() ends this for all kinds. */
void hv_latency_begin_stacks(struct hv_latency *l, enum hv_moment_kind kind);
void hv_latency_end_stacks(struct hv_latency *l);
/* Adds SECTION, whose length is known, but not its time. The stack that the guest records at its
 * end gives the time. If no stack arrives, the section is assumed to be in the time slice of its
 * task that was at least as long, if there is only one. */
void hv_latency_add_section(struct hv_latency *l, const struct hv_stall *section);
/* Call it after each query for sections: sections added later ended after this call. */
void hv_latency_end_sections(struct hv_latency *l);
/* Adds an outage of CPU found by sampling. Ignored if the pages contain the host's events. */
void hv_latency_add_host(struct hv_latency *l, unsigned cpu, const struct hv_outage *span);
/* Adds a time in which a thread of the VMM that runs no vCPU waited for a CPU. SPAN names the
 * thread. */
void hv_latency_add_vmm(struct hv_latency *l, const struct hv_outage *span);
/* Ends the input. Stalls still in progress end at NOW_NS on the host's clock. */
void hv_latency_end(struct hv_latency *l, uint64_t now_ns);
/* Returns whether hv_latency_clock_is_apart() is reliable. That takes HV_LATENCY_SECONDS seconds
 * with events, unless the clock's kind was given. */
bool hv_latency_knows_clock(const struct hv_latency *l);
/* Returns whether the guest's clock drifts against the host's, or seems to because events were read
 * late. */
bool hv_latency_clock_is_apart(const struct hv_latency *l);
/* Returns what is known about the host. HV_HOST_UNSEEN: the guest's clock is not known yet, it
 * drifts although it does not count instructions, or expected host events are missing. */
enum hv_host_view hv_latency_view(const struct hv_latency *l);
/* Computes the verdict. The tasks that ran before an outage are only known if this is called soon
 * after the outage. */
void hv_latency_verdict(struct hv_latency *l, struct hv_verdict *ret);
/* Returns the name of the symbol at exactly ADDR, or NULL. */
const char *hv_latency_symbol(const struct hv_latency *l, uint64_t addr);
