/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The journal of patched bytes in the guest, looked up by guest-physical address.
 *
 * This process undoes changes from its private copy. Two more copies serve recovery after it was
 * killed: one outside the guest's reach, for the broker (vmm/broker/kept.h), and one in the region
 * (region.h), for a later recover. Root in the guest can change the latter. */
#pragma once

#include "patcher/patcher.h"

struct hv_journal {
	struct hv_region *region;	  /* borrowed */
	struct hv_journal_entry *entries; /* owned */
	uint32_t nr_entries;		  /* used and free entries */
	uint32_t *buckets; /* owned; hash table by gpa: entry index + 1, 0 if empty */
	size_t nr_buckets;
	uint32_t *free_list; /* owned */
	size_t nr_free;
	size_t nr_used[HV_NR_CHANGE_KINDS]; /* entries in use, by enum hv_change_kind */
};

void hv_journal_init(struct hv_journal *j, struct hv_region *region);
void hv_journal_deinit(struct hv_journal *j);

/* Records CHANGE before it is written: adds an entry with FROM as the old bytes, or updates the new
 * bytes of the existing entry for this address. Fails with ENOSPC if the journal is full. */
struct hv_err *hv_journal_note(struct hv_journal *j, const struct hv_change *change) hv_must_use;
/* Removes the entry of GPA after its old bytes were restored. */
void hv_journal_forget(struct hv_journal *j, struct hv_gpa gpa);
/* Takes over the journal of an earlier session. ENTRIES are those in the region, in the same
 * order. */
void hv_journal_adopt(struct hv_journal *j, const struct hv_journal_entry *entries, uint32_t nr);
/* Returns NULL if there is no entry. */
const struct hv_journal_entry *hv_journal_find(const struct hv_journal *j, struct hv_gpa gpa);
