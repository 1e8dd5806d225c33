/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows the vCPUs by the host's events: why they exit, and what their threads do. Pure. */
#pragma once

#include <stdbool.h>

#include "latency/outages.h"
#include "latency/stall.h"

/* -- exits ------------------------------------------------------------------------------------- */

/* Statistics on vCPU exits by reason (number, total and longest time), and exit storms.
 *
 * A storm is a time in which exits took at least a fifth of a vCPU's time. Halts are not work, so
 * they never count as a storm or a fault, even while the host polls for the end of a halt. The time
 * of an exit excludes the time that other threads of the host took from it.
 *
 * decode.h names the reasons; verdict.h decides whose fault a storm is. */

#define HV_EXIT_REASONS_MAX 32 /* the last one collects reasons beyond the limit */
#define HV_EXIT_NAME_LEN    32
#define HV_EXIT_CPUS_MAX    4096

/* Why a vCPU exits. */
enum hv_exit_sort {
	HV_EXIT_OTHER,	  /* caused by the host, or unknown */
	HV_EXIT_HALT,	  /* the vCPU is idle */
	HV_EXIT_PROVOKED, /* caused by an instruction of the guest */
	HV_NR_EXIT_SORTS,
};

/* Flags of stalls of kind HV_STALL_EXITS. */
#define HV_EXITS_PROVOKED  0x1 /* see HV_EXIT_PROVOKED */
#define HV_EXITS_IN_KERNEL 0x2 /* most exit time began in the guest's kernel */

struct hv_exit_reason {
	uint64_t key; /* hv_exit_key() */
	char name[HV_EXIT_NAME_LEN];
	enum hv_exit_sort sort;
	uint64_t nr, total_ns, longest_ns;
};

struct hv_exit_share {
	uint64_t nr, ns, longest_ns, kernel_ns;
};

/* State of a vCPU: the current window of half a second, and the current storm. */
struct hv_exit_cpu {
	uint64_t nr;		      /* exits since hv_exits_since() */
	uint64_t from_ns, newest_ns;  /* the current window; 0: no event yet */
	uint64_t unseen_ns;	      /* during this part of the window, events were lost */
	struct hv_exit_share *shares; /* owned; by reason, in this window */
	struct hv_stall_task task;    /* leads in exit time by TASK_NS (vote()) */
	uint64_t task_ns;
	struct hv_stall storm; /* valid if length_ns is not 0 */
	uint64_t storm_kernel_ns, storm_task_ns;
};

struct hv_exits {
	struct hv_exit_reason reasons[HV_EXIT_REASONS_MAX];
	unsigned nr_reasons;
	struct hv_exit_cpu *cpus; /* owned */
	unsigned nr_cpus;
	uint64_t threshold_ns;	  /* minimum exit time of a storm that is reported */
	struct hv_stalls *stalls; /* borrowed; receives the storms */
};

static inline uint64_t hv_exit_key(uint64_t isa, uint64_t reason)
{
	return isa << 32 | (reason & UINT32_MAX);
}

/* NR_CPUS is at most HV_EXIT_CPUS_MAX. */
void hv_exits_init(struct hv_exits *x, unsigned nr_cpus, struct hv_stalls *stalls);
void hv_exits_deinit(struct hv_exits *x);

bool hv_exits_knows(const struct hv_exits *x, uint64_t key);
/* Adds the reason KEY with the host's name for it. Call it if hv_exits_knows() is false, before
 * the first exit of this reason. */
void hv_exits_name(struct hv_exits *x, uint64_t key, const char *name);

struct hv_exit {
	uint64_t key;
	uint64_t entry_ns;	   /* when the vCPU entered the guest again */
	uint64_t length_ns;	   /* without the time that other threads took */
	bool is_in_kernel;	   /* the guest's kernel was interrupted */
	struct hv_stall_task task; /* of the guest; pid 0: idle or unknown */
};
/* Records an exit of CPU. */
void hv_exits_add(struct hv_exits *x, unsigned cpu, const struct hv_exit *exit);
/* Returns the number of exits since the last call, of the vCPU with the most exits. */
uint64_t hv_exits_since(struct hv_exits *x);
/* Returns the storm in progress on CPU. NULL if there is none that reaches the threshold. */
const struct hv_stall *hv_exits_storm(const struct hv_exits *x, unsigned cpu);

/* -- threads ----------------------------------------------------------------------------------- */

/* Follows the host's threads that run the vCPUs, from the host's own events (docs/users/events.md).
 *
 * Finds when a thread was runnable but did not run, which thread had the CPU, how long it took to
 * run after a wakeup, and its exits. Unlike samples of schedstat, the results are exact and on the
 * clock of the guest's events. A thread is recognized as a vCPU by its exits.
 *
 * outages.h and the statistics on exits decide which of these times are stalls. */

enum hv_vcpu_state {
	HV_VCPU_UNKNOWN,
	HV_VCPU_ON_CPU,
	HV_VCPU_WAITS,
	HV_VCPU_SLEEPS,
	HV_VCPU_STOPPED
};

struct hv_vcpu_thread {
	uint32_t tid; /* 0: not known yet */
	enum hv_vcpu_state state;
	uint64_t since_ns;	 /* when `state` began */
	uint64_t known_ns;	 /* no event after this time was lost; 0: unknown */
	bool was_woken;		 /* HV_VCPU_WAITS began with a wakeup */
	struct hv_stall_task by; /* HV_VCPU_WAITS: the thread that took the CPU */
	uint64_t exit_ns;	 /* when it left the guest; 0: it is in the guest, or unknown */
	uint64_t exit_key, exit_address;
	uint64_t exit_waited_ns;   /* part of the exit in which it waited or was stopped */
	struct hv_outage pieces;   /* short outages, reported as one */
	struct hv_stall_task task; /* the guest's task that ran last */
};

struct hv_wakeups {
	uint64_t nr, total_ns, longest_ns;
};

struct hv_vcpu_threads {
	struct hv_vcpu_thread *list; /* owned */
	unsigned nr;
	struct hv_exits exits;
	struct hv_takers takers;
	struct hv_wakeups wakeups;
	struct hv_outages *outages; /* borrowed */
	bool sees_any;		    /* an event of the host was seen */
};

/* OUTAGES and STALLS receive the results and must outlive T. */
void hv_vcpu_threads_init(struct hv_vcpu_threads *t, unsigned nr_cpus, struct hv_outages *outages,
			  struct hv_stalls *stalls);
void hv_vcpu_threads_deinit(struct hv_vcpu_threads *t);
/* Processes an event of the host. The reason of an exit must have a name already
 * (hv_exits_name()). */
void hv_vcpu_threads_see(struct hv_vcpu_threads *t, const struct hv_moment *m);
/* Processes an event of the guest, to attribute exits to tasks. */
void hv_vcpu_threads_see_guest(struct hv_vcpu_threads *t, const struct hv_moment *m);
/* Forgets the state of CPU's thread. Call it when events of CPU before NOW_NS were lost. */
void hv_vcpu_threads_lose(struct hv_vcpu_threads *t, unsigned cpu, uint64_t now_ns);
/* Returns whether all that the host did to CPU since FROM_NS is known. */
bool hv_vcpu_threads_know(const struct hv_vcpu_threads *t, unsigned cpu, uint64_t from_ns);
/* Adds outages and storms that are still in progress at NOW_NS. */
void hv_vcpu_threads_end(struct hv_vcpu_threads *t, uint64_t now_ns);
