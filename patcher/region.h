/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Layout of the region, the memory shared with the guest, and of the journal in it. The journal
 * lists every byte changed in the guest. It survives if hvtrace is killed.
 *
 *   0x000000  header, 4 KiB            \ host only: never mapped in the guest's page tables
 *   0x001000  journal                  |
 *   0x3c0000  our page tables         /
 *   0x400000  trampolines   params           \
 *   0x401000          code             |
 *   0x410000          detours           > read-only, executable
 *   0x500000  addresses of the states  |
 *   0x520000  filters of events        |
 *   0x530000  fetch steps of events    |
 *   0x540000  fetch steps of groups    |
 *   0x580000  files of events         |
 *   0x5c0000  chains                  /
 *   0x600000  pid bitmap               \
 *   0x700000  control block             \
 *   0x780000  callbacks of events       |
 *   0x800000  return stacks              > writable, not executable
 *             counts: a table per vCPU  /
 *             a state and a ring per vCPU
 *             event drafts, 4 per vCPU  /
 *
 * Root in the guest can access the region through the PCI device, so a journal read from the region
 * is untrusted: recovery undoes an entry only if it is provably ours (tracer/attach.c).
 *
 * patcher.h decides when to write to the guest. */
#pragma once

#include "base/err.h"
#include "ringbuf/abi.h"
#include "vmm/guest.h"

#define HV_REGION_LEN_MIN (16ULL << 20)
#define HV_REGION_UNIT	  (2ULL << 20) /* mapped by one leaf of this size, or by pages */

#define HV_REGION_TRAMPOLINES_OFF 0x400000ULL
#define HV_REGION_DETOURS_OFF	  0x410000ULL
#define HV_REGION_TRAMPOLINES_END 0x500000ULL
#define HV_REGION_VCPUS_OFF	  0x500000ULL
#define HV_REGION_FILTERS_OFF	  0x520000ULL
#define HV_REGION_READS_OFF	  0x530000ULL
#define HV_REGION_PROGRAMS_OFF	  0x540000ULL
#define HV_REGION_FILES_OFF	  0x580000ULL
#define HV_REGION_FILES_END	  0x5c0000ULL
#define HV_REGION_CHAINS_OFF	  0x5c0000ULL
#define HV_REGION_CHAINS_END	  0x600000ULL
#define HV_REGION_WRITABLE_OFF	  0x600000ULL /* the guest can write from here on */
#define HV_REGION_PIDS_OFF	  0x600000ULL
#define HV_REGION_CONTROL_OFF	  0x700000ULL
#define HV_REGION_CALLBACKS_OFF	  0x780000ULL
#define HV_REGION_STACKS_OFF	  0x800000ULL

_Static_assert(HV_REGION_TRAMPOLINES_OFF == HV_REGION_KEPT_BYTES,
	       "header, journal and page tables are kept");

#define HV_REGION_TABLES_BYTES (HV_REGION_TRAMPOLINES_OFF - HV_REGION_TABLES_OFF)

/* The last HV_REGION_PROBE_SITES detours are for HV_CHANGE_PROBE_SITE. */
#define HV_REGION_NR_DETOURS  ((HV_REGION_TRAMPOLINES_END - HV_REGION_DETOURS_OFF) / HV_DETOUR_LEN)
#define HV_REGION_PROBE_SITES 2048

/* Chains: one for each trampoline of the guest that sites lead to (tracer/sites/chains.h). */
#define HV_REGION_NR_CHAINS ((HV_REGION_CHAINS_END - HV_REGION_CHAINS_OFF) / HV_CHAIN_LEN)

#define HV_REGION_NR_PIDS  (4U << 20) /* PID_MAX_LIMIT on 64 bit */
#define HV_REGION_CPUS_MAX ((HV_REGION_FILTERS_OFF - HV_REGION_VCPUS_OFF) / sizeof(uint64_t))

/* Replacement for the callback array of a tracepoint: the guest's callbacks and ours. */
#define HV_REGION_ARRAY_BYTES 256u

/* Events that can be recorded at the same time. Each uses an event file and an array. */
#define HV_REGION_NR_EVENTS                                                                        \
	((HV_REGION_STACKS_OFF - HV_REGION_CALLBACKS_OFF) / HV_REGION_ARRAY_BYTES)
_Static_assert(HV_REGION_NR_EVENTS * sizeof(struct hv_event_file) <=
		       HV_REGION_FILES_END - HV_REGION_FILES_OFF,
	       "a file for each event");

/* Filters evaluated in the guest at the same time. The host evaluates the others. */
#define HV_REGION_NR_FILTERS ((HV_REGION_READS_OFF - HV_REGION_FILTERS_OFF) >> HV_FILTER_SHIFT)

/* Events that can fetch guest memory at the same time. */
#define HV_REGION_NR_READS                                                                         \
	((HV_REGION_PROGRAMS_OFF - HV_REGION_READS_OFF) /                                          \
	 (HV_FETCH_STEPS_MAX * sizeof(struct hv_fetch_step)))

_Static_assert(HV_REGION_PROGRAMS_OFF + HV_NR_ACTION_GROUPS * HV_FETCH_STEPS_MAX *
						sizeof(struct hv_fetch_step) <=
		       HV_REGION_FILES_OFF,
	       "programs");

enum hv_change_kind {
	HV_CHANGE_TEXT = 1,  /* a site: nop <-> call to a trampoline */
	HV_CHANGE_ENTRY = 2, /* a page table entry: 0 <-> leaf or table in the region */
	HV_CHANGE_FTRACE_READER =
		3,		   /* ftrace's call that reads a site <-> a call to a trampoline */
	HV_CHANGE_HIBERNATION = 4, /* a call on the hibernation path <-> a call to a trampoline */
	HV_CHANGE_DETOUR =
		5, /* an instruction <-> a jump to a detour; or a call <-> a call to a detour */
	HV_CHANGE_PLUG = 6, /* a field of a tracepoint: its callbacks or its enable count */
	HV_CHANGE_KEY = 7,  /* a static key: nop <-> the kernel's own jump */
	/* A return address of a function_graph frame: ours -> the original. It is not recorded in
	 * the journal, because the return stacks hold the original, and it is never reversed. */
	HV_CHANGE_RETURN = 8,
	/* instructions <-> a jump to the detour of a probe, or of a function in a kernel without
	 * ftrace */
	HV_CHANGE_PROBE_SITE = 9,
	/* a call in an event's callback, or the call that frees callback arrays: to the kernel's
	 * function <-> to an event trampoline */
	HV_CHANGE_EVENT_CALL = 20,
	HV_CHANGE_TASK = 21,   /* flags of a guest task */
	HV_CHANGE_MODULE = 22, /* reference count of a guest module */
	/* a static call of a tracepoint: target function <-> another function of the kernel */
	HV_CHANGE_STATIC_CALL = 23,
	/* a call that changes the name of a task: to the kernel's function <-> to a trampoline */
	HV_CHANGE_RENAME = 24,
};
#define HV_NR_CHANGE_KINDS 32

struct hv_region_header {
	char magic[8];	  /* HV_REGION_MAGIC while the guest may contain changes */
	uint32_t version; /* HV_REGION_VERSION */
	uint32_t nr_cpus; /* number of rings */
	uint64_t gpa;	  /* guest-physical address of the region */
	uint64_t map_gva; /* guest virtual address of HV_REGION_TRAMPOLINES_OFF */
	uint64_t map_len_bytes;
	uint64_t veneers_gva; /* second mapping of HV_REGION_TRAMPOLINES_OFF; 0 if none */
	/* address of _stext; identifies the boot together with build_id and the page table
	 * entries */
	uint64_t text_gva;
	/* return address that replaces the originals in function_graph frames */
	uint64_t handler_gva;
	uint32_t build_id_len_bytes;
	uint8_t build_id[32];
	uint32_t nr_entries; /* journal entries, used and free */
};

/* Every release since 0.2.0 stores its name here as a NUL-terminated string, whatever the rest of
 * the header contains. A release that does not support a region's version can thus name the release
 * that does. */
#define HV_REGION_RELEASE_OFF 0xfe0ULL
#define HV_REGION_RELEASE_LEN 32

#define HV_REGION_MAGIC	  "hvtrace"
#define HV_REGION_VERSION 14

/* Returns the first HV_REGION_KEPT_BYTES of the region for reading. Uses the copy outside the
 * guest's reach if there is one, because the guest can write to the region at any time. */
static inline uint8_t *hv_region_start(const struct hv_region *r)
{
	return r->kept ? r->kept : r->host;
}

static inline struct hv_region_header *hv_region_header(const struct hv_region *r)
{
	return (struct hv_region_header *)hv_region_start(r);
}

static inline char *hv_region_release(const struct hv_region *r)
{
	return (char *)(hv_region_start(r) + HV_REGION_RELEASE_OFF);
}

static inline struct hv_journal_entry *hv_region_journal(const struct hv_region *r)
{
	return (struct hv_journal_entry *)(hv_region_start(r) + HV_REGION_JOURNAL_OFF);
}

static inline struct hv_params *hv_region_params(const struct hv_region *r)
{
	return (struct hv_params *)(r->host + HV_REGION_TRAMPOLINES_OFF);
}

/* Guest virtual addresses of the per-vCPU states, indexed by CPU. */
static inline uint64_t *hv_region_vcpus(const struct hv_region *r)
{
	return (uint64_t *)(r->host + HV_REGION_VCPUS_OFF);
}

static inline struct hv_action_group *hv_region_action_group(const struct hv_region *r,
							     unsigned index)
{
	return (struct hv_action_group *)(r->host + HV_REGION_TRAMPOLINES_OFF +
					  HV_ACTION_GROUPS_OFF) +
	       index;
}

/* Returns the kind (HV_KIND_*) of the calls of an action group with HV_DOES_RETURN. */
static inline uint32_t *hv_region_kind(const struct hv_region *r, unsigned index)
{
	return (uint32_t *)(r->host + HV_REGION_TRAMPOLINES_OFF + HV_KINDS_OFF) + index;
}

/* Returns the fetch program of an action group: HV_FETCH_STEPS_MAX steps. */
static inline struct hv_fetch_step *hv_region_program(const struct hv_region *r, unsigned group)
{
	return (struct hv_fetch_step *)(r->host + HV_REGION_PROGRAMS_OFF) +
	       group * HV_FETCH_STEPS_MAX;
}

/* Returns the fetch program of an event: HV_FETCH_STEPS_MAX steps. INDEX is below
 * HV_REGION_NR_READS. */
static inline struct hv_fetch_step *hv_region_reads(const struct hv_region *r, unsigned index)
{
	return (struct hv_fetch_step *)(r->host + HV_REGION_READS_OFF) + index * HV_FETCH_STEPS_MAX;
}

/* INDEX is below HV_REGION_NR_EVENTS. */
static inline struct hv_event_file *hv_region_event_file(const struct hv_region *r, unsigned index)
{
	return (struct hv_event_file *)(r->host + HV_REGION_FILES_OFF) + index;
}

/* Returns a filter program: HV_FILTER_STEPS_MAX steps. */
static inline struct hv_filter_step *hv_region_filter(const struct hv_region *r, unsigned index)
{
	return (struct hv_filter_step *)(r->host + HV_REGION_FILTERS_OFF) +
	       index * HV_FILTER_STEPS_MAX;
}

/* Host and guest write to it. */
static inline struct hv_control *hv_region_control(const struct hv_region *r)
{
	return (struct hv_control *)(r->host + HV_REGION_CONTROL_OFF);
}

/* Host and guest write to it. INDEX is below nr_stacks of the plan. */
static inline struct hv_stack *hv_region_stack(const struct hv_region *r, unsigned index)
{
	return (struct hv_stack *)(r->host + HV_REGION_STACKS_OFF) + index;
}

/* Layout of the variable part of the region. */
struct hv_ring_plan {
	unsigned nr_cpus;
	unsigned homes_shift;  /* log2 of the number of home buckets for return stacks */
	unsigned nr_stacks;    /* at HV_REGION_STACKS_OFF: home buckets + HV_STACK_LOOKUPS - 1 */
	uint64_t counts_off;   /* region offset of the first count table; the others follow */
	unsigned counts_shift; /* log2 of the number of home buckets in a table */
	unsigned nr_counts;    /* entries in a table: home buckets + HV_COUNT_LOOKUPS - 1 */
	/* region offset of the first state; each state is followed by its ring */
	uint64_t vcpus_off;
	uint64_t nr_slots; /* records in a ring; a power of two */
	/* region offset of the HV_NR_DRAFTS of CPU 0, after all rings; 0 if they do not fit, and
	 * events cannot be recorded */
	uint64_t drafts_off;
	uint64_t part_bytes; /* bytes of the region that this layout may use */
};

static inline uint64_t hv_plan_ring_bytes(const struct hv_ring_plan *plan)
{
	return plan->nr_slots * sizeof(struct hv_record);
}

static inline uint64_t hv_plan_state_off(const struct hv_ring_plan *plan, unsigned cpu)
{
	return plan->vcpus_off + cpu * (sizeof(struct hv_state) + hv_plan_ring_bytes(plan));
}

static inline uint64_t hv_plan_counts_off(const struct hv_ring_plan *plan, unsigned cpu)
{
	return plan->counts_off + (uint64_t)cpu * plan->nr_counts * sizeof(struct hv_count);
}

static inline uint64_t hv_plan_drafts_bytes(const struct hv_ring_plan *plan)
{
	return (uint64_t)plan->nr_cpus * HV_NR_DRAFTS * sizeof(struct hv_draft);
}

/* Returns the end of the part that the guest uses. */
static inline uint64_t hv_plan_end_off(const struct hv_ring_plan *plan)
{
	return plan->drafts_off ? plan->drafts_off + hv_plan_drafts_bytes(plan)
				: hv_plan_state_off(plan, plan->nr_cpus);
}

/* Host and guest write to it (struct hv_state). */
static inline struct hv_state *hv_region_state(const struct hv_region *r,
					       const struct hv_ring_plan *plan, unsigned cpu)
{
	return (struct hv_state *)(r->host + hv_plan_state_off(plan, cpu));
}

/* Fails with EINVAL or ENOSPC if the region is too small for NR_CPUS. */
struct hv_err *hv_region_plan_rings(const struct hv_region *r, unsigned nr_cpus,
				    struct hv_ring_plan *ret) hv_must_use;

/* Clears the region and returns its memory to the host. No part of it may be mapped in the
 * guest. */
struct hv_err *hv_region_clear(struct hv_region *r) hv_must_use;
