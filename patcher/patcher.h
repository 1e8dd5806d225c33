/* A set of changes in a guest, made together and undone together: journalled, verified, written
 * under holds, read back. The only place that writes into a guest.
 * Leaves to others: which changes (tracer/), what is written (arch/, mapping.h). One thread. */
#pragma once

#include "kernel/address_space.h"
#include "patcher/region.h"

struct hv_change {
	struct hv_gva gva;
	struct hv_gpa gpa;
	enum hv_change_kind kind;
	uint32_t len_bytes; /* at most 8; within one page */
	uint8_t from[8];
	uint8_t to[8];
	/* Set by hv_patcher_apply(): the guest's bytes were not FROM, or a vCPU stood inside. */
	unsigned refused;
};

struct hv_hold_stat {
	uint64_t nr;
	uint64_t last_ns;
	uint64_t max_ns;
};

struct hv_patcher;

/* Starts on an empty journal in REGION, whose header the caller has written. AS and REGION are
 * borrowed. Text in FIXED (the kernel image) stays where it is; other text can be freed by the
 * guest (a module unloaded), so its address is translated again under the hold. */
struct hv_patcher *hv_patcher_new(const struct hv_address_space *as, struct hv_gva_range fixed,
				  struct hv_region *region);
void hv_patcher_free(struct hv_patcher *p);

/* From now on every hold first proves that this is still the boot that GVA was mapped in: the page
 * tables of some vCPU lead from GVA to GPA. If none do, nothing is written: after a reset the old
 * kernel's tables and text stay readable in RAM for a while, and without KASLR the next kernel's
 * text lies where they were. ECONNRESET then; EBUSY when a vCPU may be running a guest of its own,
 * whose tables it has at the moment. */
void hv_patcher_bind(struct hv_patcher *p, struct hv_gva gva, struct hv_gpa gpa);

/* Takes over what an earlier patcher left standing in REGION's journal. ENTRIES: a checked copy of
 * that journal, in its order; what did not pass the check is HV_JOURNAL_FREE in it. */
void hv_patcher_adopt(struct hv_patcher *p, const struct hv_journal_entry *entries, uint32_t nr);

/* Makes CHANGES, in holds of a bounded length with the guest running between them. They are sorted
 * by address in place. A refused change is a value, not an error. On error every change of this
 * call is undone; with HV_ERR_NEEDS_RECOVERY that failed, and the message says why. */
struct hv_err *hv_patcher_apply(struct hv_patcher *p, struct hv_change *changes,
				size_t nr) hv_must_use;

/* Every change that stands now, as a change back. The caller frees *RET. */
size_t hv_patcher_undo_plan(const struct hv_patcher *p, enum hv_change_kind kind,
			    struct hv_change **ret);
/* The bytes at GPA before our standing change; false when there is none. */
bool hv_patcher_old_bytes(const struct hv_patcher *p, struct hv_gpa gpa, uint8_t ret[8]);
size_t hv_patcher_nr_standing(const struct hv_patcher *p, enum hv_change_kind kind);

/* These drop changes from the journal and write nothing into the guest. */

/* What the guest itself took away or put back: text outside FIXED that is no longer mapped where it
 * was (a module unloaded), or has its old bytes again (unloaded and loaded). */
void hv_patcher_forget_gone(struct hv_patcher *p);
/* What is at GPA, since it is the guest's own. */
void hv_patcher_forget_at(struct hv_patcher *p, struct hv_gpa gpa);
/* Text in RANGE, which is about to be freed. */
void hv_patcher_forget(struct hv_patcher *p, struct hv_gva_range range);

const struct hv_hold_stat *hv_patcher_holds(const struct hv_patcher *p);

/* One hold around FN, counted with the others; FN's error is returned, the hold always ends. */
typedef struct hv_err *(*hv_held_fn)(struct hv_hold *hold, void *ctx);
struct hv_err *hv_patcher_held(struct hv_patcher *p, hv_held_fn fn, void *ctx) hv_must_use;

/* For use inside hv_patcher_held: makes CHANGES in that hold. The only way for HV_CHANGE_RETURN. */
struct hv_err *hv_patcher_apply_held(struct hv_patcher *p, struct hv_hold *hold,
				     struct hv_change *changes, size_t nr) hv_must_use;
