/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The journal: which bytes of the guest are patched, found by address. Undoing relies on the copy
 * in private memory. Two more are for the process that comes after us when we are killed: where
 * there is a warden, one that is out of the guest's reach (vmm/warden/kept.h), and one in the
 * region (region.h), where the guest's root can write. */
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
	size_t nr_used[HV_NR_CHANGE_KINDS]; /* entries in use, by enum hv_change_kind */
};

void hv_journal_init(struct hv_journal *j, struct hv_region *region);
void hv_journal_deinit(struct hv_journal *j);

/* Notes that CHANGE may be written from now on: in a new entry, with FROM as the old bytes, or as
 * the new bytes of the entry for this address. Fails with ENOSPC when the journal is full. */
struct hv_err *hv_journal_note(struct hv_journal *j, const struct hv_change *change) hv_must_use;
/* Removes the entry of GPA, which has its old bytes again. */
void hv_journal_forget(struct hv_journal *j, struct hv_gpa gpa);
/* Takes over ENTRIES, which are in the region already, in the same order. */
void hv_journal_adopt(struct hv_journal *j, const struct hv_journal_entry *entries, uint32_t nr);
/* NULL: there is no entry. */
const struct hv_journal_entry *hv_journal_find(const struct hv_journal *j, struct hv_gpa gpa);
