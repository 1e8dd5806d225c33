/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest that is traced and what is shared with it: its kernel, the region, where the guest sees
 * the region, and the patcher that changes the guest.
 * Leaves to others: what is in the region (stubs.h, region_use.h and the parts of a session), when
 * it is mapped (session.h). One thread. */
#pragma once

#include "kernel/events/event_places.h"
#include "kernel/kernel.h"
#include "patcher/patcher.h"

struct hv_detours;

struct hv_tracee {
	struct hv_guest *guest;	  /* borrowed */
	struct hv_kernel *kernel; /* borrowed */
	struct hv_region region;
	struct hv_ring_plan plan;
	/* Where the guest sees the region, from HV_REGION_STUBS_OFF on. The range and HANDLER are 0
	 * until attach has chosen them, or recover has found them. */
	struct hv_gva_range range;
	/* Where it sees the first HV_REGION_UNIT of that a second time, for landings (landings.h).
	 * Empty: it does not. */
	struct hv_gva_range landings;
	struct hv_gva handler;	    /* what a graph puts in the place of return addresses */
	struct hv_patcher *patcher; /* owned */
	/* The stubs lock what they add to memory of their vCPU: a task may go on on another vCPU in
	 * between. They stay so, since a task may have been stopped there. */
	bool locks;
	/* Since it was last seen that nobody uses what is ours, a probe of ours was taken out of an
	 * array of the guest's. Somebody may be going through an older array that has it, too. */
	bool had_copies;
	/* Owned, HV_VCPUS_MAX of them, since vCPUs can be plugged: the vCPU has been seen in no
	 * function that goes through arrays since then. NULL: none has. */
	bool *have_left;
	/* What the stubs of events are linked with: 0 until the first event is recorded. */
	struct hv_event_places event_places;
	/* Borrowed, NULL while there are none: those of sections, those of places (detours.h). */
	struct hv_detours *detours[2];
};

/* GUEST and KERNEL are borrowed and outlive it. Nothing is in the guest yet. ENOSPC, EINVAL: the
 * region is too small for so many vCPUs. */
struct hv_err *hv_tracee_new(struct hv_guest *guest, struct hv_kernel *kernel,
			     struct hv_tracee **ret) hv_must_use;
void hv_tracee_free(struct hv_tracee *t);

/* Plans with half as much of the region as before: no room was found for all of it. ENOSPC, EINVAL:
 * that is too small for so many vCPUs, and the plan stays. */
struct hv_err *hv_tracee_use_half(struct hv_tracee *t) hv_must_use;
/* How much of the guest's addresses the planned parts need, from HV_REGION_STUBS_OFF on. */
uint64_t hv_tracee_map_bytes(const struct hv_tracee *t);
/* Plans as the session did that mapped LEN_BYTES. If no plan needs so much, it stays as it is. */
void hv_tracee_plan_as(struct hv_tracee *t, uint64_t len_bytes);

/* Called when the page-table slots of the range are filled, and when some may have been emptied:
 * from now on nothing is written into another boot of the guest. */
void hv_tracee_bind(struct hv_tracee *t);
/* *RET: the guest's page tables lead from the range and the landings to the region. After a reboot,
 * for example, they do not. */
struct hv_err *hv_tracee_is_mapped(const struct hv_tracee *t, bool *ret) hv_must_use;
/* Whether they do so from some slot: others may have been emptied in a hold that ended too soon. */
bool hv_tracee_is_partly_mapped(const struct hv_tracee *t);

/* Returns the state of CPU, which is below the plan's nr_cpus. The ring follows it. */
static inline struct hv_state *hv_tracee_state(const struct hv_tracee *t, unsigned cpu)
{
	return hv_region_state(&t->region, &t->plan, cpu);
}

/* Returns whether the guest sees something of the region at AT. */
static inline bool hv_tracee_has(const struct hv_tracee *t, struct hv_gva at)
{
	return hv_gva_in(at, t->range) || hv_gva_in(at, t->landings);
}

/* Returns whether BYTES, as many as a site has, would be a call into the region at the address
 * AT. */
bool hv_tracee_is_call(const struct hv_tracee *t, struct hv_gva at, const uint8_t *bytes);
/* The same, or it is a free site whose first instruction still has an address of ours: the guest's
 * own ftrace has made it free (riscv64). */
bool hv_tracee_is_left(const struct hv_tracee *t, struct hv_gva at, const uint8_t *bytes);
/* NOW is what the guest has where E is, an entry of an untrusted journal. If the guest has a
 * breakpoint there, as a kprobe of its own, NOW gets the first byte that E says was there. What
 * comes out still has to be looked at. */
void hv_tracee_look_under_breakpoint(const struct hv_tracee *t, const struct hv_journal_entry *e,
				     uint8_t *now);
/* *RET: a site of ours is where E says, an entry of an untrusted journal: its bytes call into the
 * region. It may call another stub than E says, since the dead service may have been replacing one
 * stub by another. The site's bytes become E's new ones. */
struct hv_err *hv_tracee_is_patched(const struct hv_tracee *t, struct hv_journal_entry *e,
				    bool *ret) hv_must_use;
