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
	unsigned
		refused; /* set by apply: the guest's bytes were not FROM, or a vCPU stood inside */
};

struct hv_hold_stat {
	uint64_t nr;
	uint64_t last_ns;
	uint64_t max_ns;
	uint64_t total_ns;
};

struct hv_patcher;

/* Starts on an empty journal in REGION, whose header the caller has written. AS and REGION are
 * borrowed. Text in FIXED (the kernel image) stays where it is; other text can be freed by the
 * guest (a module unloaded), so its address is translated again under the hold. */
struct hv_patcher *hv_patcher_new(const struct hv_address_space *as, struct hv_gva_range fixed,
				  struct hv_region *region);
void hv_patcher_free(struct hv_patcher *p);

/* From now on every hold first proves that this is still the boot that GVA was mapped in: some
 * vCPU's own page tables lead from GVA to GPA. ECONNRESET otherwise (EBUSY: they may be those of a
 * guest of its own, which it runs at the moment), and nothing is written: after
 * a reset the old kernel's tables and text stay readable in RAM for a while, and without KASLR the
 * next kernel's text lies where they were. */
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

/* Drops from the journal what the guest itself took away or put back: text outside FIXED that is no
 * longer mapped where it was, or has its old bytes again (a module unloaded and loaded). Writes
 * nothing into the guest. */
void hv_patcher_forget_gone(struct hv_patcher *p);

/* What is at GPA is the guest's own: it goes from the journal. */
void hv_patcher_forget_at(struct hv_patcher *p, struct hv_gpa gpa);

/* Text in RANGE is about to be freed: what stands there is dropped from the journal. */
void hv_patcher_forget(struct hv_patcher *p, struct hv_gva_range range);

/* Sites whose memory the guest has freed since (a module unloaded) are not ours to undo any more.
 */
void hv_patcher_forget_freed(struct hv_patcher *p);

const struct hv_hold_stat *hv_patcher_holds(const struct hv_patcher *p);

/* One hold around FN, counted with the others; FN's error is returned, the hold always ends. */
typedef struct hv_err *(*hv_held_fn)(struct hv_hold *hold, void *ctx);
struct hv_err *hv_patcher_held(struct hv_patcher *p, hv_held_fn fn, void *ctx) hv_must_use;

/* For use inside hv_patcher_held: makes CHANGES in that hold. The only way for HV_CHANGE_RETURN. */
struct hv_err *hv_patcher_apply_held(struct hv_patcher *p, struct hv_hold *hold,
				     struct hv_change *changes, size_t nr) hv_must_use;
