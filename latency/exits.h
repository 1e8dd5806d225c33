/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exits of the guest's vCPUs by reason: how many, how long, the longest; and storms, which are
 * times in which exits took a fifth of a vCPU's time or more. Halts are no work, and neither
 * storm nor fault, also while the host polls for their end. What is taken from an exit by another
 * thread of the host is not the exit's (vcpu_threads.h).
 * Leaves to others: the names of reasons (exit_names.h), whose fault a storm is (verdict.h). Pure.
 */
#pragma once

#include <stdbool.h>

#include "latency/stall.h"

#define HV_EXIT_REASONS_MAX 32 /* the last one is for all that have no room */
#define HV_EXIT_NAME_LEN    32
#define HV_EXIT_CPUS_MAX    4096

/* What an exit is for. */
enum hv_exit_sort {
	HV_EXIT_OTHER,	  /* the host's, or it is not known whose */
	HV_EXIT_HALT,	  /* the vCPU has nothing to do */
	HV_EXIT_PROVOKED, /* by an instruction that the guest executed */
	HV_NR_EXIT_SORTS,
};

/* Flags of a stall of kind HV_STALL_EXITS. */
#define HV_EXITS_PROVOKED  0x1 /* as HV_EXIT_PROVOKED */
#define HV_EXITS_IN_KERNEL 0x2 /* most of them came from the guest's kernel */

struct hv_exit_reason {
	uint64_t key; /* hv_exit_key() */
	char name[HV_EXIT_NAME_LEN];
	enum hv_exit_sort sort;
	uint64_t nr, total_ns, longest_ns;
};

struct hv_exit_share {
	uint64_t nr, ns, longest_ns, kernel_ns;
};

/* Of a vCPU: some tenths of a second, and the storm that goes on. */
struct hv_exit_cpu {
	uint64_t nr;		      /* of all exits, since hv_exits_since() */
	uint64_t from_ns, newest_ns;  /* 0: no event yet */
	uint64_t unseen_ns;	      /* of the time since FROM_NS: events were lost */
	struct hv_exit_share *shares; /* owned; by reason, since FROM_NS */
	struct hv_stall_task task;    /* who provokes most, and by how much more than others */
	uint64_t task_ns;
	struct hv_stall storm; /* when length_ns is not 0 */
	uint64_t storm_kernel_ns, storm_task_ns;
};

struct hv_exits {
	struct hv_exit_reason reasons[HV_EXIT_REASONS_MAX];
	unsigned nr_reasons;
	struct hv_exit_cpu *cpus; /* owned */
	unsigned nr_cpus;
	uint64_t threshold_ns;	  /* storms whose exits took less are no stalls */
	struct hv_stalls *stalls; /* borrowed; gets the storms */
};

static inline uint64_t hv_exit_key(uint64_t isa, uint64_t reason)
{
	return isa << 32 | (reason & UINT32_MAX);
}

/* NR_CPUS is at most HV_EXIT_CPUS_MAX. */
void hv_exits_init(struct hv_exits *x, unsigned nr_cpus, struct hv_stalls *stalls);
void hv_exits_deinit(struct hv_exits *x);

bool hv_exits_knows(const struct hv_exits *x, uint64_t key);
/* NAME is the host's word for the reason KEY, in the first place where it is not known. */
void hv_exits_name(struct hv_exits *x, uint64_t key, const char *name);

struct hv_exit {
	uint64_t key;
	uint64_t entry_ns;	   /* when the vCPU went on in the guest */
	uint64_t length_ns;	   /* without what other threads took of it */
	bool is_in_kernel;	   /* of the guest */
	struct hv_stall_task task; /* of the guest; pid 0: idle, or not known */
};
/* CPU was in an exit. */
void hv_exits_add(struct hv_exits *x, unsigned cpu, const struct hv_exit *exit);
/* CPU was seen at NOW_NS. */
void hv_exits_pass(struct hv_exits *x, unsigned cpu, uint64_t now_ns);
/* Of CPU, what was between the last time that it was seen and NOW_NS is not known. */
void hv_exits_lose(struct hv_exits *x, unsigned cpu, uint64_t now_ns);
/* How many exits the vCPU with most of them had since the last call. */
uint64_t hv_exits_since(struct hv_exits *x);
/* The storm of CPU that goes on still, so far; NULL: there is none. */
const struct hv_stall *hv_exits_storm(const struct hv_exits *x, unsigned cpu);
/* Adds the storms that go on still. */
void hv_exits_end(struct hv_exits *x);
