/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Applies and undoes sets of changes to guest memory. It records changes in the journal, verifies
 * them, writes them during a hold and reads them back. All writes to a guest go through this
 * interface.
 *
 * tracer/ chooses the changes; arch/ and mapping.h compute their bytes. One thread. */
#pragma once

#include "kernel/code/own_kprobes.h"
#include "patcher/region.h"

struct hv_change {
	struct hv_gva gva;
	struct hv_gpa gpa;
	enum hv_change_kind kind;
	uint32_t len_bytes; /* at most 8, within one page or leaf (tracer/sites/site_trampolines.c)
			     */
	uint8_t from[8];
	uint8_t to[8];
	/* Output of hv_patcher_apply(): not applied. The guest's bytes are neither `from` nor `to`,
	 * its text is gone, a kprobe prevents it, or a vCPU would resume inside. */
	unsigned refused;
};

struct hv_hold_stat {
	uint64_t nr;
	uint64_t total_ns;
	uint64_t last_ns;
	uint64_t max_ns;
	uint64_t nr_long; /* longer than HV_LONG_HOLD_NS */
	uint64_t last_long_ns;
	uint64_t bytes; /* bytes written, including restored ones */
};
#define HV_LONG_HOLD_NS 1000000ull

struct hv_patcher;

/* Creates a patcher with an empty journal in REGION. The caller has written the header of REGION.
 * Borrows AS and REGION. Text in FIXED, the kernel image, never moves. Other text can be freed when
 * a module is unloaded, so its address is translated again in each hold. */
struct hv_patcher *hv_patcher_new(const struct hv_address_space *as, struct hv_gva_range fixed,
				  struct hv_region *region);
void hv_patcher_free(struct hv_patcher *p);

/* Makes each hold verify that the guest has not been rebooted: the page tables of at least one
 * vCPU must map GVA to GPA (hv_entry_leads_to). After a reset, the tables and text of the old
 * kernel remain in RAM for a while, and without KASLR the new kernel's text is at the same
 * addresses.
 *
 * If no vCPU passes, nothing is written, and the call fails with ECONNRESET, or with EBUSY if the
 * vCPUs may be executing a nested guest, whose page tables are then active. */
void hv_patcher_bind(struct hv_patcher *p, struct hv_gva gva, struct hv_gpa gpa);

/* Makes the patcher respect the guest's kprobes. A change of HV_CHANGE_DETOUR, HV_CHANGE_PROBE_SITE
 * or HV_CHANGE_RENAME is refused if a kprobe holds a copy of the instruction to replace, and its
 * undo is refused if a kprobe holds a copy of our instruction. */
void hv_patcher_heed_kprobes(struct hv_patcher *p, const struct hv_own_kprobes_layout *layout);

/* Takes over the changes of an earlier patcher. ENTRIES is a validated copy of the journal in
 * REGION, in the same order, with invalid entries set to HV_JOURNAL_FREE. */
void hv_patcher_adopt(struct hv_patcher *p, const struct hv_journal_entry *entries, uint32_t nr);

/* Sets a callback that hv_patcher_apply() calls between holds. If it returns true, the call undoes
 * its changes and fails with EINTR. NULL removes the callback. */
void hv_patcher_set_stops(struct hv_patcher *p, bool (*stops)(void *ctx), void *ctx);

/* Sets a callback that is called before each hold. */
void hv_patcher_set_before_hold(struct hv_patcher *p, void (*fn)(void *ctx), void *ctx);

/* Sets how long hv_patcher_apply() retries when holds time out (ETIMEDOUT). Default:
 * HV_RETRY_FOR_NS. */
void hv_patcher_set_patience(struct hv_patcher *p, uint64_t patience_ns);

/* Applies CHANGES in holds of bounded length, between which the guest runs. Sorts CHANGES by
 * address.
 *
 * A refused change is not an error: check `refused`. If a hold times out, its changes are retried
 * in smaller batches for a limited time. On error, all changes of this call are undone; if that
 * fails, the error has HV_ERR_NEEDS_RECOVERY and its message gives both reasons. */
struct hv_err *hv_patcher_apply(struct hv_patcher *p, struct hv_change *changes,
				size_t nr) hv_must_use;

/* Returns the layout set by hv_patcher_heed_kprobes(). */
const struct hv_own_kprobes_layout *hv_patcher_kprobes(const struct hv_patcher *p);

/* Stores in *RET the changes that restore all patched bytes of KIND, and returns their number. The
 * caller frees *RET. */
size_t hv_patcher_undo_plan(const struct hv_patcher *p, enum hv_change_kind kind,
			    struct hv_change **ret);
/* Gets the original bytes at GPA. Returns false if GPA is not patched. */
bool hv_patcher_old_bytes(const struct hv_patcher *p, struct hv_gpa gpa, uint8_t ret[8]);
/* Replaces the patched bytes in BYTES, a copy of LEN_BYTES of the guest's memory at AT, by the
 * original ones. */
void hv_patcher_put_back_copy(const struct hv_patcher *p, struct hv_gva at, uint8_t *bytes,
			      size_t len_bytes);
size_t hv_patcher_nr_patched(const struct hv_patcher *p, enum hv_change_kind kind);

/* The functions below remove changes from the journal without writing to the guest. */

/* Removes changes that the guest itself discarded: text outside FIXED that is no longer mapped
 * there because its module was unloaded, or that has its original bytes because the module was
 * loaded again. */
void hv_patcher_forget_gone(struct hv_patcher *p);
/* Removes the change at GPA, where the guest wrote its own bytes. */
void hv_patcher_forget_at(struct hv_patcher *p, struct hv_gpa gpa);
/* Removes changes to text in RANGE, which the guest is about to free. */
void hv_patcher_forget(struct hv_patcher *p, struct hv_gva_range range);

const struct hv_hold_stat *hv_patcher_holds(const struct hv_patcher *p);

/* Calls FN in a hold, which hv_patcher_holds() counts. The hold ends even if FN fails. Returns the
 * first error. */
typedef struct hv_err *(*hv_held_fn)(struct hv_hold *hold, void *ctx);
struct hv_err *hv_patcher_held(struct hv_patcher *p, hv_held_fn fn, void *ctx) hv_must_use;

/* Writes WRITES, sorted by address, to the region in one hold. They are not recorded in the
 * journal, so the guest must not use that part of the region yet. */
struct hv_err *hv_patcher_write(struct hv_patcher *p, const struct hv_hold_write *writes,
				size_t nr) hv_must_use;

/* Does the work for CHANGES that does not need a hold. hv_patcher_apply() includes it. */
struct hv_err *hv_patcher_prepare(struct hv_patcher *p, const struct hv_change *changes,
				  size_t nr) hv_must_use;
/* Applies CHANGES in the current hold, inside hv_patcher_held(). HV_CHANGE_RETURN requires this
 * function. EALREADY means that nothing was changed; retry with hv_probed_waits(). */
struct hv_err *hv_patcher_apply_held(struct hv_patcher *p, struct hv_hold *hold,
				     struct hv_change *changes, size_t nr) hv_must_use;

/* -- exchanging -------------------------------------------------------------------------------- */

/* Replaces patched instructions by a different set of patches that overlaps them. A patch is never
 * written over another one: the original bytes are restored first, in the same hold.
 *
 * tracer/probe_sites/detours.h chooses the changes. */

/* Restores UNDO, from hv_patcher_undo_plan(), and then applies CHANGES, whose FROM must be the
 * bytes after the restore. Use it inside hv_patcher_held(), like hv_patcher_apply_held().
 *
 * *RET_REFUSED is set, and nothing is changed, if the guest's bytes differ, its kprobes forbid a
 * change, or a vCPU is inside one. EALREADY means that nothing was changed. After other errors,
 * UNDO may have been restored. */
struct hv_err *hv_patcher_exchange_held(struct hv_patcher *p, struct hv_hold *hold,
					struct hv_change *undo, size_t nr_undo,
					struct hv_change *changes, size_t nr,
					bool *ret_refused) hv_must_use;
