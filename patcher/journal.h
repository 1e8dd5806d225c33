/* The journal: what is changed in the guest, found by address. It is kept in private memory, which
 * is what undoing goes by, and mirrored into the region (region.h) for whoever comes after us: the
 * guest's root can write there. */
#pragma once

#include "patcher/patcher.h"

struct hv_journal {
	struct hv_region *region;	  /* borrowed */
	struct hv_journal_entry *entries; /* owned */
	uint32_t nr_entries;		  /* used or freed */
	uint32_t *slots; /* owned: open-addressed by gpa, entry index + 1, 0 is empty */
	size_t nr_slots;
	uint32_t *free_list; /* owned */
	size_t nr_free;
	size_t nr_used[HV_CHANGE_RETURN]; /* by enum hv_change_kind, those that are noted */
};

void hv_journal_init(struct hv_journal *j, struct hv_region *region);
void hv_journal_deinit(struct hv_journal *j);

/* Notes that CHANGE may be written from now on: a new entry with FROM as the old bytes, or the new
 * bytes of the entry there is. ENOSPC when the journal is full. */
struct hv_err *hv_journal_note(struct hv_journal *j, const struct hv_change *change) hv_must_use;
/* The address holds what it held before us. */
void hv_journal_forget(struct hv_journal *j, struct hv_gpa gpa);
/* Takes over ENTRIES that lie in the region already, at the same places. */
void hv_journal_adopt(struct hv_journal *j, const struct hv_journal_entry *entries, uint32_t nr);
/* NULL: no entry. */
const struct hv_journal_entry *hv_journal_find(const struct hv_journal *j, struct hv_gpa gpa);
