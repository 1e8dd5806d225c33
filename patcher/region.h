/* The region: what lies where in the memory shared with the guest, and the journal of every byte
 * changed in it, which outlives us.
 *
 *   0x000000  header, 4 KiB            \ host only: never mapped in the guest's page tables
 *   0x001000  journal                  /
 *   0x400000  stubs   params           \
 *   0x401000          code             / read-only, executable
 *   0x600000  states, 64 bytes a vCPU    writable, not executable
 *   0x700000  pid bitmap                 writable, not executable
 *   0x7f0000  control block              writable, not executable
 *   0x800000  return stacks              writable, not executable
 *             counts, a table a vCPU     writable, not executable
 *             rings, one a vCPU          writable, not executable
 *
 * The guest's root can reach the memory through the PCI device, so the journal is hostile when it
 * is read again: an entry is believed only when what it would undo is plainly ours
 * (tracer/recover.c). Leaves to others: when to write into the guest (patcher.h). */
#pragma once

#include "base/err.h"
#include "ringbuf/abi.h"
#include "vmm/guest.h"

#define HV_REGION_LEN_MIN (16ULL << 20)
#define HV_REGION_UNIT	  (2ULL << 20) /* mapped in leaves of this size */

#define HV_REGION_JOURNAL_OFF 0x1000ULL
#define HV_REGION_STUBS_OFF   0x400000ULL
#define HV_REGION_STUBS_END   0x500000ULL
#define HV_REGION_STATES_OFF  0x600000ULL
#define HV_REGION_PIDS_OFF    0x700000ULL
#define HV_REGION_CONTROL_OFF 0x7f0000ULL
#define HV_REGION_STACKS_OFF  0x800000ULL

#define HV_REGION_NR_PIDS  (4U << 20) /* PID_MAX_LIMIT on 64 bit */
#define HV_REGION_CPUS_MAX ((HV_REGION_PIDS_OFF - HV_REGION_STATES_OFF) / sizeof(struct hv_state))

enum hv_change_kind {
	HV_CHANGE_TEXT = 1,  /* a site: nop <-> call of ours */
	HV_CHANGE_ENTRY = 2, /* a page-table slot: 0 <-> leaf of the region */
	HV_CHANGE_YIELD = 3, /* a call in the guest's ftrace: to its reader of sites <-> of ours */
	/* A return address of a graph's frame, back to what it was. Never in the journal: the
	 * return stacks say what was, and there is no way back. */
	HV_CHANGE_RETURN = 4,
};

enum hv_journal_state {
	HV_JOURNAL_FREE = 0,
	HV_JOURNAL_USED = 1, /* the change may have been written */
};

struct hv_journal_entry {
	uint64_t gpa;
	uint64_t gva;
	uint32_t state; /* written last when used, first when freed */
	uint16_t kind;
	uint16_t len_bytes;
	uint8_t old_bytes[8];
	uint8_t new_bytes[8];
};
_Static_assert(sizeof(struct hv_journal_entry) == 40, "journal entry");

struct hv_region_header {
	char magic[8];	  /* HV_REGION_MAGIC while something of ours may be in the guest */
	uint32_t version; /* HV_REGION_VERSION */
	uint32_t nr_cpus; /* rings */
	uint64_t gpa;	  /* of the region */
	uint64_t map_gva; /* of HV_REGION_STUBS_OFF in the guest */
	uint64_t map_len_bytes;
	uint64_t text_gva; /* _stext: with build_id and the page-table slots, which boot this is */
	uint64_t handler_gva; /* what the return addresses of a graph's frames were replaced with */
	uint32_t build_id_len_bytes;
	uint8_t build_id[32];
	uint32_t nr_entries; /* of the journal, used or freed */
};

#define HV_REGION_MAGIC	  "hvtrace"
#define HV_REGION_VERSION 4
#define HV_JOURNAL_CAP                                                                             \
	((HV_REGION_STUBS_OFF - HV_REGION_JOURNAL_OFF) / sizeof(struct hv_journal_entry))

static inline struct hv_region_header *hv_region_header(const struct hv_region *r)
{
	return (struct hv_region_header *)r->host;
}

static inline struct hv_journal_entry *hv_region_journal(const struct hv_region *r)
{
	return (struct hv_journal_entry *)(r->host + HV_REGION_JOURNAL_OFF);
}

static inline struct hv_params *hv_region_params(const struct hv_region *r)
{
	return (struct hv_params *)(r->host + HV_REGION_STUBS_OFF);
}

static inline const struct hv_state *hv_region_state(const struct hv_region *r, unsigned cpu)
{
	return (const struct hv_state *)(r->host + HV_REGION_STATES_OFF) + cpu;
}

/* What the host writes of a state. */
static inline uint32_t *hv_region_muted(const struct hv_region *r, unsigned cpu)
{
	return &((struct hv_state *)(r->host + HV_REGION_STATES_OFF))[cpu].muted;
}

static inline struct hv_slot *hv_region_slot(const struct hv_region *r, unsigned index)
{
	return (struct hv_slot *)(r->host + HV_REGION_STUBS_OFF + HV_SLOTS_OFF) + index;
}

/* Host and guest write it. */
static inline struct hv_control *hv_region_control(const struct hv_region *r)
{
	return (struct hv_control *)(r->host + HV_REGION_CONTROL_OFF);
}

/* A return stack, host and guest write it; INDEX below the plan's nr_stacks. */
static inline struct hv_stack *hv_region_stack(const struct hv_region *r, unsigned index)
{
	return (struct hv_stack *)(r->host + HV_REGION_STACKS_OFF) + index;
}

/* How the rest is cut: no bytes are between two tables of counts. */
struct hv_ring_plan {
	unsigned nr_cpus;
	uint64_t rings_off;  /* of the first ring, in the region */
	uint64_t ring_bytes; /* a power of two, each */
	uint64_t nr_slots;   /* of each */
	unsigned nr_stacks;  /* at HV_REGION_STACKS_OFF */
	uint64_t counts_off; /* of the first table, in the region */
	unsigned nr_counts;  /* of each */
};

/* EINVAL/ENOSPC with the numbers when the region is too small for that many vCPUs. */
struct hv_err *hv_region_plan_rings(const struct hv_region *r, unsigned nr_cpus,
				    struct hv_ring_plan *ret) hv_must_use;

/* Empties the region and gives its memory back to the host: nothing of ours may be mapped. */
struct hv_err *hv_region_clear(struct hv_region *r) hv_must_use;
