/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The region: the layout of the memory that is shared with the guest, and the journal of every byte
 * that is changed in the guest. The journal is still there when we are killed.
 *
 *   0x000000  header, 4 KiB            \ host only: never mapped in the guest's page tables
 *   0x001000  journal                  |
 *   0x3c0000  page tables of ours     /
 *   0x400000  stubs   params           \
 *   0x401000          code             |
 *   0x410000          detours           > read-only, executable
 *   0x500000  addresses of the states  |
 *   0x520000  filters of events        |
 *   0x530000  programs of events       |
 *   0x540000  programs of slots        |
 *   0x580000  files of events         /
 *   0x600000  pid bitmap               \
 *   0x700000  control block             \
 *   0x780000  probes of events          |
 *   0x800000  return stacks              > writable, not executable
 *             counts, a table a vCPU    /
 *             a state and a ring a vCPU
 *             drafts of events, 4 a vCPU /
 *
 * The guest's root can reach the memory through the PCI device, so the journal is hostile when it
 * is read there again: an entry is believed only when what it would undo is certainly ours
 * (tracer/recover.c).
 * Leaves to others: when to write into the guest (patcher.h). */
#pragma once

#include "base/err.h"
#include "ringbuf/abi.h"
#include "vmm/guest.h"
#include "vmm/region_journal.h"

#define HV_REGION_LEN_MIN (16ULL << 20)
#define HV_REGION_UNIT	  (2ULL << 20) /* mapped in leaves of this size, or in so many pages */

#define HV_REGION_STUBS_OFF    0x400000ULL
#define HV_REGION_DETOURS_OFF  0x410000ULL
#define HV_REGION_STUBS_END    0x500000ULL
#define HV_REGION_VCPUS_OFF    0x500000ULL
#define HV_REGION_FILTERS_OFF  0x520000ULL
#define HV_REGION_READS_OFF    0x530000ULL
#define HV_REGION_PROGRAMS_OFF 0x540000ULL
#define HV_REGION_FILES_OFF    0x580000ULL
#define HV_REGION_FILES_END    0x600000ULL
#define HV_REGION_WRITABLE_OFF 0x600000ULL /* for the guest, from here on */
#define HV_REGION_PIDS_OFF     0x600000ULL
#define HV_REGION_CONTROL_OFF  0x700000ULL
#define HV_REGION_PROBES_OFF   0x780000ULL
#define HV_REGION_STACKS_OFF   0x800000ULL

_Static_assert(HV_REGION_STUBS_OFF == HV_REGION_KEPT_BYTES,
	       "header, journal and page tables are kept");

#define HV_REGION_TABLES_BYTES (HV_REGION_STUBS_OFF - HV_REGION_TABLES_OFF)

/* The last of them are those of probes, of HV_CHANGE_PLACE. */
#define HV_REGION_NR_DETOURS ((HV_REGION_STUBS_END - HV_REGION_DETOURS_OFF) / HV_DETOUR_LEN)
#define HV_REGION_NR_PLACES  2048

#define HV_REGION_NR_PIDS  (4U << 20) /* PID_MAX_LIMIT on 64 bit */
#define HV_REGION_CPUS_MAX ((HV_REGION_FILTERS_OFF - HV_REGION_VCPUS_OFF) / sizeof(uint64_t))

/* An array of probes, for a tracepoint of the guest's: those of the guest, and one of ours. */
#define HV_REGION_ARRAY_BYTES 256u

/* Events that can be recorded at one time. Each has a file and an array. */
#define HV_REGION_NR_EVENTS ((HV_REGION_STACKS_OFF - HV_REGION_PROBES_OFF) / HV_REGION_ARRAY_BYTES)
_Static_assert(HV_REGION_NR_EVENTS * sizeof(struct hv_event_file) <=
		       HV_REGION_FILES_END - HV_REGION_FILES_OFF,
	       "a file for each event");

/* Events that the guest filters at one time; the host filters the others. */
#define HV_REGION_NR_FILTERS ((HV_REGION_READS_OFF - HV_REGION_FILTERS_OFF) >> HV_FILTER_SHIFT)

/* Events for which the guest reads memory at one time. */
#define HV_REGION_NR_READS                                                                         \
	((HV_REGION_PROGRAMS_OFF - HV_REGION_READS_OFF) /                                          \
	 (HV_FETCH_STEPS_MAX * sizeof(struct hv_fetch_step)))

_Static_assert(HV_REGION_PROGRAMS_OFF +
			       HV_NR_SLOTS * HV_FETCH_STEPS_MAX * sizeof(struct hv_fetch_step) <=
		       HV_REGION_FILES_OFF,
	       "programs");

enum hv_change_kind {
	HV_CHANGE_TEXT = 1,  /* a site: nop <-> call of ours */
	HV_CHANGE_ENTRY = 2, /* a page-table slot: 0 <-> leaf of the region, or table in it */
	HV_CHANGE_YIELD = 3, /* a call in the guest's ftrace: to its reader of sites <-> of ours */
	HV_CHANGE_HIBERNATION = 4, /* a call on the kernel's way to hibernate <-> of ours */
	HV_CHANGE_DETOUR =
		5,	    /* an instruction <-> a jump to a detour, or a call <-> a call of one */
	HV_CHANGE_PLUG = 6, /* a word of a tracepoint of the guest: its probes, its key's count */
	HV_CHANGE_KEY = 7,  /* a place of a static key: nop <-> the kernel's own jump */
	/* A return address of a graph's frame: ours -> the kernel's. It is never in the journal,
	 * because the return stacks have the old value, and it is not reversed. */
	HV_CHANGE_RETURN = 8,
	HV_CHANGE_PLACE = 9, /* instructions inside a function <-> a jump to a probe's detour */
	/* A call in a probe, or by which tracepoints free probes: to the kernel's function <-> to a
	 * stub of events */
	HV_CHANGE_EVENT_CALL = 20,
	HV_CHANGE_TASK = 21,   /* flags of a task of the guest */
	HV_CHANGE_MODULE = 22, /* how often a module of the guest is used */
	/* A call of the static call of a tracepoint: of one function of the kernel <-> of another
	 */
	HV_CHANGE_STATIC_CALL = 23,
	HV_CHANGE_RENAME =
		24, /* a call where a task gets another name: of the kernel's <-> of ours */
};
#define HV_NR_CHANGE_KINDS 32

struct hv_region_header {
	char magic[8];	  /* HV_REGION_MAGIC while something of ours may be in the guest */
	uint32_t version; /* HV_REGION_VERSION */
	uint32_t nr_cpus; /* rings */
	uint64_t gpa;	  /* of the region */
	uint64_t map_gva; /* of HV_REGION_STUBS_OFF in the guest */
	uint64_t map_len_bytes;
	uint64_t landings_gva; /* of HV_REGION_STUBS_OFF, mapped a second time; 0: it is not */
	uint64_t text_gva;     /* _stext; it identifies the boot, with build_id and the slots */
	uint64_t handler_gva; /* what the return addresses of a graph's frames were replaced with */
	uint32_t build_id_len_bytes;
	uint8_t build_id[32];
	uint32_t nr_entries; /* of the journal, used or freed */
};

/* Where every release since 0.2.0 has its own name in the header's page, NUL-terminated, whatever
 * else it has there: a release that does not know a region's version says by this who does. */
#define HV_REGION_RELEASE_OFF 0xfe0ULL
#define HV_REGION_RELEASE_LEN 32

#define HV_REGION_MAGIC	  "hvtrace"
#define HV_REGION_VERSION 13

/* The region's first HV_REGION_KEPT_BYTES as they are read: out of the guest's reach, if they are
 * anywhere. The guest may write into the region at any moment. */
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
	return (struct hv_params *)(r->host + HV_REGION_STUBS_OFF);
}

/* Addresses in the guest of the vCPUs' states, by CPU number. */
static inline uint64_t *hv_region_vcpus(const struct hv_region *r)
{
	return (uint64_t *)(r->host + HV_REGION_VCPUS_OFF);
}

static inline struct hv_slot *hv_region_slot(const struct hv_region *r, unsigned index)
{
	return (struct hv_slot *)(r->host + HV_REGION_STUBS_OFF + HV_SLOTS_OFF) + index;
}

/* The kind of the calls of a slot with HV_SLOT_RETURN. */
static inline uint32_t *hv_region_kind(const struct hv_region *r, unsigned index)
{
	return (uint32_t *)(r->host + HV_REGION_STUBS_OFF + HV_KINDS_OFF) + index;
}

/* HV_FETCH_STEPS_MAX steps. */
static inline struct hv_fetch_step *hv_region_program(const struct hv_region *r, unsigned slot)
{
	return (struct hv_fetch_step *)(r->host + HV_REGION_PROGRAMS_OFF) +
	       slot * HV_FETCH_STEPS_MAX;
}

/* HV_FETCH_STEPS_MAX steps; INDEX is below HV_REGION_NR_READS. */
static inline struct hv_fetch_step *hv_region_reads(const struct hv_region *r, unsigned index)
{
	return (struct hv_fetch_step *)(r->host + HV_REGION_READS_OFF) + index * HV_FETCH_STEPS_MAX;
}

/* INDEX is below HV_REGION_NR_EVENTS. */
static inline struct hv_event_file *hv_region_event_file(const struct hv_region *r, unsigned index)
{
	return (struct hv_event_file *)(r->host + HV_REGION_FILES_OFF) + index;
}

/* HV_FILTER_STEPS_MAX steps. */
static inline struct hv_filter_step *hv_region_filter(const struct hv_region *r, unsigned index)
{
	return (struct hv_filter_step *)(r->host + HV_REGION_FILTERS_OFF) +
	       index * HV_FILTER_STEPS_MAX;
}

/* Written by host and guest. */
static inline struct hv_control *hv_region_control(const struct hv_region *r)
{
	return (struct hv_control *)(r->host + HV_REGION_CONTROL_OFF);
}

/* A return stack, written by host and guest. INDEX is below the plan's nr_stacks. */
static inline struct hv_stack *hv_region_stack(const struct hv_region *r, unsigned index)
{
	return (struct hv_stack *)(r->host + HV_REGION_STACKS_OFF) + index;
}

/* How the rest of the region is divided. */
struct hv_ring_plan {
	unsigned nr_cpus;
	unsigned homes_shift;  /* log2 of the return stacks' homes */
	unsigned nr_stacks;    /* at HV_REGION_STACKS_OFF, HV_STACK_PROBES - 1 more than homes */
	uint64_t counts_off;   /* of the first table, in the region; the others follow it */
	unsigned counts_shift; /* log2 of a table's homes */
	unsigned nr_counts;    /* of a table, HV_COUNT_PROBES - 1 more than homes */
	uint64_t vcpus_off;    /* of the first state, in the region; its ring follows it, then the
				* next state */
	uint64_t nr_slots;     /* of a ring, a power of two */
	uint64_t drafts_off;   /* of the first CPU's HV_NR_DRAFTS, in the region, behind all rings;
				* 0: there is no room, and events cannot be recorded */
	uint64_t part_bytes;   /* of the region from its start, what all this is in */
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

/* The end of what the guest uses of the region. */
static inline uint64_t hv_plan_end_off(const struct hv_ring_plan *plan)
{
	return plan->drafts_off ? plan->drafts_off + hv_plan_drafts_bytes(plan)
				: hv_plan_state_off(plan, plan->nr_cpus);
}

/* Host and guest write it: see struct hv_state. */
static inline struct hv_state *hv_region_state(const struct hv_region *r,
					       const struct hv_ring_plan *plan, unsigned cpu)
{
	return (struct hv_state *)(r->host + hv_plan_state_off(plan, cpu));
}

/* EINVAL/ENOSPC with the numbers when the region is too small for that many vCPUs. */
struct hv_err *hv_region_plan_rings(const struct hv_region *r, unsigned nr_cpus,
				    struct hv_ring_plan *ret) hv_must_use;

/* Empties the region and gives its memory back to the host. Nothing of it may be mapped in the
 * guest. */
struct hv_err *hv_region_clear(struct hv_region *r) hv_must_use;
