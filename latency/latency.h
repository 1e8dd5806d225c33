/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of trace_pipe_raw to stalls: a format of export/ that writes no file, but has the analysers
 * look at the events. Besides the pages it is told the sections with interrupts or preemption off,
 * and what the host took, unless the host's own events among the guest's tell it.
 *
 * The guest's clock is found on the host's by the pages: no event can be read before it happened.
 * So the least time between an event and its being read is how far the clocks are apart at most,
 * and no more than some milliseconds are missing.
 * Leaves to others: the pages, the settings (cli/verbs), words. One thread. */
#pragma once

#include "export/page_decode.h"
#include "latency/decode.h"
#include "latency/due_stacks.h"
#include "latency/exit_names.h"
#include "latency/finders.h"
#include "latency/limit_fields.h"
#include "latency/outages.h"
#include "latency/vcpu_threads.h"
#include "latency/verdict.h"

#define HV_LATENCY_SECONDS	4
#define HV_LATENCY_SECTIONS_MAX 64 /* that wait for the time of their end */

/* The newest stack on a vCPU: the end of a section. What ran before the section ran before its
 * end, too, since nothing else runs there meanwhile. */
struct hv_latency_stack {
	uint64_t time_ns;
	uint32_t pid;
	struct hv_stall_before before[HV_STALL_BEFORE];
	unsigned nr_before;
};

/* A section whose end was not placed yet. */
struct hv_latency_section {
	struct hv_stall stall; /* with what ran before SLICE, if there is one */
	uint64_t after_ns;     /* it ended later than that */
	struct hv_slice slice; /* in which it must have been; TO_NS 0: not known yet */
	unsigned nr_turns;     /* that it has waited */
};

/* What ran before the longest time in which the host did not run a vCPU. */
struct hv_latency_outage {
	uint64_t from_ns; /* 0: none */
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
	struct hv_shares shares; /* owned; of what was measured; empty while it is not known */
	struct hv_outages vmm;	 /* of one "vCPU": when a thread that does I/O waited for a CPU */
	struct hv_vcpu_threads threads;	     /* by the host's events */
	struct hv_exit_names *exit_names;    /* owned */
	struct hv_latency_stack *stacks;     /* owned, one a vCPU */
	struct hv_latency_section *sections; /* owned */
	unsigned nr_sections;
	uint64_t checked_ns; /* the newest event when it was looked for sections last */
	struct hv_latency_outage *outages; /* owned, one a vCPU */
	bool sees_host;			   /* something is known of the host */
	bool has_host_events;
	bool clock_is_hosts; /* the trace's clock is the host's */
	bool clock_counts;   /* it goes by the guest's instructions */
	uint64_t nr_events, nr_lost;
	uint64_t newest_ns; /* of the events; 0: none yet */
	uint64_t read_ns;   /* of the pages, which wait for those of other vCPUs */
	uint64_t forget_ns; /* events until then count for nothing */
	/* How far the clocks are apart: the least of all, and of each of the first and the last
	 * seconds in which events came. */
	int64_t least_ns;
	int64_t first_ones_ns[HV_LATENCY_SECONDS], last_ones_ns[HV_LATENCY_SECONDS];
	uint64_t second_ns, clock_begin_ns; /* host: when the last, and the first second began */
	unsigned nr_seconds;
	uint64_t threshold_ns;
};

extern const struct hv_export_format hv_latency_format;

/* X is of this format, and open. */
struct hv_latency *hv_latency_of(struct hv_export *x);
/* To be called before the first page. */
void hv_latency_begin(struct hv_latency *l, uint64_t threshold_ns);
/* The trace's clock is the host's. To be called before the first page. */
void hv_latency_begin_on_hosts_clock(struct hv_latency *l);
/* The host tells what it takes. To be called before the first page. */
void hv_latency_begin_seeing_host(struct hv_latency *l);
/* The host's events are among those that come, and say what the host takes. To be called before the
 * first page. */
void hv_latency_begin_host_events(struct hv_latency *l);
/* The guest's clock goes by its instructions, whatever the first events look like. To be called
 * before the first page. */
void hv_latency_begin_counted(struct hv_latency *l);
/* Forgets the events that were read until now: not all kinds of them were recorded yet. */
void hv_latency_forget(struct hv_latency *l);
/* A stack is recorded with each event of KIND for which hv_moment_has_stack(); or with none any
 * more. */
void hv_latency_begin_stacks(struct hv_latency *l, enum hv_moment_kind kind);
void hv_latency_end_stacks(struct hv_latency *l);
/* SECTION has all but its interval, which is known when the stack of its end was read, or else by
 * the only time that its task ran for so long. */
void hv_latency_add_section(struct hv_latency *l, const struct hv_stall *section);
/* Whoever adds sections has looked for them now: others end later. */
void hv_latency_end_sections(struct hv_latency *l);
/* What the host took of CPU, by samples. Ignored if the host's events say it. */
void hv_latency_add_host(struct hv_latency *l, unsigned cpu, const struct hv_outage *span);
/* For how long a thread of the VMM that runs no vCPU, which SPAN names, waited for a CPU. */
void hv_latency_add_vmm(struct hv_latency *l, const struct hv_outage *span);
/* No more events come. What is a stall and goes on still is one until NOW_NS of the host. */
void hv_latency_end(struct hv_latency *l, uint64_t now_ns);
/* Whether it is known how the guest's clock goes: events came in several seconds. */
bool hv_latency_knows_clock(const struct hv_latency *l);
/* Whether the guest's clock does not go with the host's, or does not seem to. */
bool hv_latency_clock_is_apart(const struct hv_latency *l);
/* What is known of the host: nothing while the guest's clock is not known, or moves although it
 * does not count instructions. */
enum hv_host_view hv_latency_view(const struct hv_latency *l);
/* Of what the host took, it is known what ran before if that is asked soon enough once. */
void hv_latency_verdict(struct hv_latency *l, struct hv_verdict *ret);
/* The name of the symbol at ADDR, if there is one exactly there; else NULL. */
const char *hv_latency_symbol(const struct hv_latency *l, uint64_t addr);
