/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A set of changes in a guest, made together and undone together: journalled, verified, written in
 * holds, read back. Nothing else writes into a guest.
 * Leaves to others: which changes (tracer/), what is written (arch/, mapping.h). One thread. */
#pragma once

#include "kernel/own_probes.h"
#include "patcher/region.h"

struct hv_change {
	struct hv_gva gva;
	struct hv_gpa gpa;
	enum hv_change_kind kind;
	uint32_t len_bytes; /* at most 8; within one page, or one leaf (tracer/site_stubs.c) */
	uint8_t from[8];
	uint8_t to[8];
	/* Set by hv_patcher_apply(): the guest's bytes were neither FROM nor TO, or a vCPU was
	 * inside. */
	unsigned refused;
};

struct hv_hold_stat {
	uint64_t nr;
	uint64_t total_ns;
	uint64_t last_ns;
	uint64_t max_ns;
	uint64_t nr_long; /* longer than HV_LONG_HOLD_NS */
	uint64_t last_long_ns;
	uint64_t bytes; /* of changes that were written, also to put something back */
};
#define HV_LONG_HOLD_NS 1000000ull

struct hv_patcher;

/* Starts with an empty journal in REGION, whose header the caller has written. AS and REGION are
 * borrowed. Text in FIXED (the kernel image) stays where it is. Other text can be freed by the
 * guest (a module is unloaded), so its address is translated again in the hold. */
struct hv_patcher *hv_patcher_new(const struct hv_address_space *as, struct hv_gva_range fixed,
				  struct hv_region *region);
void hv_patcher_free(struct hv_patcher *p);

/* From now on every hold first proves that this is still the boot in which GVA was mapped: the page
 * tables of some vCPU lead from GVA to GPA (hv_slot_leads_to). If none do, nothing is written,
 * because after a reset the old kernel's tables and text can still be read in RAM for a while, and
 * without KASLR the next kernel's text is where they were. Fails with ECONNRESET then; with EBUSY
 * when the vCPUs may be running a guest of the guest, whose tables they have at that moment. */
void hv_patcher_bind(struct hv_patcher *p, struct hv_gva gva, struct hv_gpa gpa);

/* From now on a change of HV_CHANGE_DETOUR, HV_CHANGE_PLACE or HV_CHANGE_RENAME is refused where
 * one of the guest's own kprobes has a copy of what is replaced, or, when it is put back, of what
 * is ours. */
void hv_patcher_heed_kprobes(struct hv_patcher *p, const struct hv_own_probes_layout *layout);

/* Takes over what an earlier patcher left patched, from REGION's journal. ENTRIES: a checked copy
 * of that journal, in its order, in which entries that did not pass the check are
 * HV_JOURNAL_FREE. */
void hv_patcher_adopt(struct hv_patcher *p, const struct hv_journal_entry *entries, uint32_t nr);

/* From now on hv_patcher_apply() asks STOPS between its holds. If it returns true, the call fails
 * with EINTR and undoes what it did. STOPS NULL: nobody is asked. */
void hv_patcher_set_stops(struct hv_patcher *p, bool (*stops)(void *ctx), void *ctx);

/* For how long hv_patcher_apply() tries again when holds end by themselves (ETIMEDOUT); at first
 * HV_RETRY_FOR_NS. */
void hv_patcher_set_patience(struct hv_patcher *p, uint64_t patience_ns);

/* Makes CHANGES, in holds of a bounded length between which the guest runs. They are sorted by
 * address in place. A refused change is no error. What a hold that ended by itself had to do is
 * tried again, in smaller parts and for a bounded time. On an error every change of this call is
 * undone; with HV_ERR_NEEDS_RECOVERY that failed, and the message says why. */
struct hv_err *hv_patcher_apply(struct hv_patcher *p, struct hv_change *changes,
				size_t nr) hv_must_use;

/* What hv_patcher_heed_kprobes() was told. */
const struct hv_own_probes_layout *hv_patcher_kprobes(const struct hv_patcher *p);

/* The changes that put back all of KIND that is patched. Returns their number; the caller frees
 * *RET. */
size_t hv_patcher_undo_plan(const struct hv_patcher *p, enum hv_change_kind kind,
			    struct hv_change **ret);
/* The bytes that were at GPA before we patched it. False: it is not patched. */
bool hv_patcher_old_bytes(const struct hv_patcher *p, struct hv_gpa gpa, uint8_t ret[8]);
size_t hv_patcher_nr_patched(const struct hv_patcher *p, enum hv_change_kind kind);

/* The following remove changes from the journal and write nothing into the guest. */

/* Removes what the guest itself took away or put back: text outside FIXED that is no longer mapped
 * where it was (its module was unloaded), or that has its old bytes again (unloaded and loaded). */
void hv_patcher_forget_gone(struct hv_patcher *p);
/* Removes the change at GPA, whose bytes are the guest's own now. */
void hv_patcher_forget_at(struct hv_patcher *p, struct hv_gpa gpa);
/* Removes changes of text in RANGE, which is about to be freed. */
void hv_patcher_forget(struct hv_patcher *p, struct hv_gva_range range);

const struct hv_hold_stat *hv_patcher_holds(const struct hv_patcher *p);

/* Calls FN in a hold that is counted with the others. Returns FN's error; the hold always ends. */
typedef struct hv_err *(*hv_held_fn)(struct hv_hold *hold, void *ctx);
struct hv_err *hv_patcher_held(struct hv_patcher *p, hv_held_fn fn, void *ctx) hv_must_use;

/* Makes WRITES, ordered by address, into the region in a hold of their own. They are not
 * journalled, so nothing may lead there yet. */
struct hv_err *hv_patcher_write(struct hv_patcher *p, const struct hv_hold_write *writes,
				size_t nr) hv_must_use;

/* Does what can be done before a hold in which CHANGES are made. hv_patcher_apply() does it. */
struct hv_err *hv_patcher_prepare(struct hv_patcher *p, const struct hv_change *changes,
				  size_t nr) hv_must_use;
/* For use inside hv_patcher_held(): makes CHANGES in that hold. HV_CHANGE_RETURN can be made only
 * in this way. EALREADY: nothing was changed
 * (hv_probed_waits). */
struct hv_err *hv_patcher_apply_held(struct hv_patcher *p, struct hv_hold *hold,
				     struct hv_change *changes, size_t nr) hv_must_use;
