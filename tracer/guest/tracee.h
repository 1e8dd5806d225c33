/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The traced guest and everything shared with it: its kernel, the region and its guest addresses,
 * the header of the region, and the patcher that changes the guest.
 *
 * trampolines.h and the parts of a session define the region's contents; session.h maps it. One
 * thread. */
#pragma once

#include "kernel/events/callback_calls.h"
#include "kernel/kernel.h"
#include "patcher/patcher.h"
#include "patcher/region.h"

struct hv_detours;

struct hv_tracee {
	struct hv_guest *guest;	  /* borrowed */
	struct hv_kernel *kernel; /* borrowed */
	struct hv_region region;
	struct hv_ring_plan plan;
	/* Where the guest sees the region, from HV_REGION_TRAMPOLINES_OFF on. RANGE and HANDLER are
	 * 0 until attach has chosen them or recover has found them. */
	struct hv_gva_range range;
	/* Second mapping of the first HV_REGION_UNIT of RANGE, for veneers (trampolines.h). Empty:
	 * none. */
	struct hv_gva_range veneers;
	struct hv_gva handler;	    /* replaces return addresses in a graph */
	struct hv_patcher *patcher; /* owned */
	/* The trampolines add to memory of their vCPU with locked instructions, because a task can
	 * migrate to another vCPU during an addition. This is never reset, since a task may have
	 * been stopped there. */
	bool locks;
	/* The trampolines of a graph return to chains, too. This is never reset, since a task may be
	 * in a chain. */
	bool chains;
	/* Our callback was removed from an array of the guest since the last check that found no
	 * users. A task may still be using an older array that contains it. */
	bool had_copies;
	/* Owned, HV_VCPUS_MAX entries because vCPUs can be hotplugged: whether the vCPU was seen
	 * outside all functions that use arrays since then. NULL: none was. */
	bool *have_left;
	/* Link values of the event trampolines; 0 until the first event is recorded. */
	struct hv_event_symbols event_symbols;
	/* Borrowed, NULL if unused: the detours of sections and of probe sites (detours.h). */
	struct hv_detours *detours[2];
};

/* Borrows GUEST and KERNEL, which must outlive it. Does not change the guest. ENOSPC, EINVAL: the
 * region is too small for this number of vCPUs. */
struct hv_err *hv_tracee_new(struct hv_guest *guest, struct hv_kernel *kernel,
			     struct hv_tracee **ret) hv_must_use;
void hv_tracee_free(struct hv_tracee *t);

/* Halves the part of the region that the plan uses, because the guest has no room for it. ENOSPC,
 * EINVAL: that is too small for this number of vCPUs, and the plan is unchanged. */
struct hv_err *hv_tracee_use_half(struct hv_tracee *t) hv_must_use;
/* Returns how much address space of the guest the planned parts need, from
 * HV_REGION_TRAMPOLINES_OFF on. */
uint64_t hv_tracee_map_bytes(const struct hv_tracee *t);
/* Uses the plan of the session that mapped LEN_BYTES. If no plan has this length, the plan is
 * unchanged. */
void hv_tracee_plan_as(struct hv_tracee *t, uint64_t len_bytes);

/* Call this when the page-table entries of the range are filled, and when some may have been
 * emptied. From then on nothing is written to another boot of the guest. */
void hv_tracee_bind(struct hv_tracee *t);
/* Sets *RET to whether the guest's page tables map the range and the veneers to the region, which
 * they no longer do after a reboot. */
struct hv_err *hv_tracee_is_mapped(const struct hv_tracee *t, bool *ret) hv_must_use;
/* Returns whether any page-table entry maps the region. A hold that timed out may have emptied only
 * some of the entries. */
bool hv_tracee_is_partly_mapped(const struct hv_tracee *t);

/* Returns whether the session maps AT to GPA, both in the region. Does not read page tables: those
 * of the region may be in the region, which is not RAM. */
bool hv_tracee_maps(const struct hv_tracee *t, struct hv_gva at, struct hv_gpa gpa);

/* Returns the state of CPU, which must be below the plan's nr_cpus. The ring follows it. */
static inline struct hv_state *hv_tracee_state(const struct hv_tracee *t, unsigned cpu)
{
	return hv_region_state(&t->region, &t->plan, cpu);
}

/* Returns whether AT is in a mapping of the region. */
static inline bool hv_tracee_has(const struct hv_tracee *t, struct hv_gva at)
{
	return hv_gva_in(at, t->range) || hv_gva_in(at, t->veneers);
}

/* Returns whether BYTES, which have the length of a site, would be a call into the region at the
 * address AT. */
bool hv_tracee_is_call(const struct hv_tracee *t, struct hv_gva at, const uint8_t *bytes);
/* Like hv_tracee_is_call(), but also returns true for a free site whose first instruction still
 * loads one of our addresses, because the guest's own ftrace freed it (riscv64). */
bool hv_tracee_is_left(const struct hv_tracee *t, struct hv_gva at, const uint8_t *bytes);
/* NOW has the guest's bytes at E, an entry of an untrusted journal. If the guest has a breakpoint
 * there, such as its own kprobe, the first byte of NOW is replaced by the one that E recorded. The
 * result must still be checked. */
void hv_tracee_look_under_breakpoint(const struct hv_tracee *t, const struct hv_journal_entry *e,
				     uint8_t *now);
/* Sets *RET to whether E, an entry of an untrusted journal, describes a patched site: one whose
 * bytes call into the region. It may call another trampoline than E records, since the dead service
 * may have been replacing one trampoline by another. The site's bytes become E's new ones. */
struct hv_err *hv_tracee_is_patched(const struct hv_tracee *t, struct hv_journal_entry *e,
				    bool *ret) hv_must_use;

/* -- the header of the region ------------------------------------------------------------------ */

/* Records the user of a region in a header at attach, and evaluates it for later services. The
 * header is then untrusted, because the guest's root can write it. patcher/region.h defines the
 * layout; attach.c undoes the changes of a dead service. */

/* Marks the region as in use: writes the kernel that is traced and the address at which the guest
 * sees the region. */
void hv_region_write_header(const struct hv_tracee *t);

enum hv_region_use {
	HV_REGION_UNUSED,
	HV_REGION_STALE, /* used in an earlier boot of the guest, so none of its changes can be in
			    memory */
	HV_REGION_LIVE,	 /* the guest may contain changes */
};
/* *RET is a checked copy of the header, valid if the use is HV_REGION_LIVE. EUCLEAN: as for
 * hv_region_check_not_mapped, or another release of hvtrace, named in the message, left changes in
 * the guest. */
struct hv_err *hv_region_use(const struct hv_tracee *t, struct hv_region_header *ret,
			     enum hv_region_use *ret_use) hv_must_use;
/* Returns where the guest saw the region, according to a checked header. */
struct hv_gva_range hv_region_range(const struct hv_region_header *header);
/* Returns where the guest saw its veneers; empty: it had none. */
struct hv_gva_range hv_region_veneers(const struct hv_region_header *header);

/* EUCLEAN: an entry of the guest's page tables leads into the region, so the region must not be
 * cleared. The guest's root can erase a journal or entries that are still needed, and sites may
 * still call the code in the region. */
struct hv_err *hv_region_check_not_mapped(const struct hv_tracee *t) hv_must_use;
