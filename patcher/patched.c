/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of patcher.h that only use the journal and do not write to the guest. */
#include <assert.h>
#include <string.h>

#include "patcher/change.h"
#include "patcher/state.h"

bool hv_patcher_old_bytes(const struct hv_patcher *p, struct hv_gpa gpa, uint8_t ret[8])
{
	const struct hv_journal_entry *entry = hv_journal_find(&p->journal, gpa);

	if (entry)
		memcpy(ret, entry->old_bytes, sizeof(entry->old_bytes));
	return entry;
}

size_t hv_patcher_nr_patched(const struct hv_patcher *p, enum hv_change_kind kind)
{
	return p->journal.nr_used[kind];
}

size_t hv_patcher_undo_plan(const struct hv_patcher *p, enum hv_change_kind kind,
			    struct hv_change **ret)
{
	struct hv_change *plan = hv_alloc(p->journal.nr_used[kind] * sizeof(*plan));
	size_t nr = 0;

	for (uint32_t i = 0; i < p->journal.nr_entries; i++) {
		const struct hv_journal_entry *entry = &p->journal.entries[i];
		struct hv_change *change;

		if (entry->state != HV_JOURNAL_USED || entry->kind != kind)
			continue;
		change = &plan[nr++];
		*change = (struct hv_change){
			.gva = {entry->gva},
			.gpa = {entry->gpa},
			.kind = kind,
			.len_bytes = entry->len_bytes,
		};
		memcpy(change->from, entry->new_bytes, entry->len_bytes);
		memcpy(change->to, entry->old_bytes, entry->len_bytes);
	}
	assert(nr == p->journal.nr_used[kind]);
	*ret = plan;
	return nr;
}

/* Returns false if the text cannot be read, because it may still be there. */
static bool is_gone(struct hv_patcher *p, const struct hv_journal_entry *entry)
{
	uint8_t now[8];
	struct hv_mapping m;
	HV_AUTO_ERR struct hv_err *err = hv_walk(p->as, hv_gva(entry->gva), &m);

	if (err)
		return false;
	if (!m.present || m.gpa.v != entry->gpa)
		return true;
	err = hv_guest_read(p->guest, m.gpa, now, entry->len_bytes);
	return !err && memcmp(now, entry->old_bytes, entry->len_bytes) == 0;
}

void hv_patcher_forget_gone(struct hv_patcher *p)
{
	for (uint32_t i = 0; i < p->journal.nr_entries; i++) {
		const struct hv_journal_entry *entry = &p->journal.entries[i];

		if (entry->state == HV_JOURNAL_USED && hv_change_is_text(entry->kind) &&
		    !hv_gva_in(hv_gva(entry->gva), p->fixed) && is_gone(p, entry))
			hv_journal_forget(&p->journal, hv_gpa(entry->gpa));
	}
}

const struct hv_own_probes_layout *hv_patcher_kprobes(const struct hv_patcher *p)
{
	return &p->kprobes;
}

void hv_patcher_forget_at(struct hv_patcher *p, struct hv_gpa gpa)
{
	hv_journal_forget(&p->journal, gpa);
}

void hv_patcher_forget(struct hv_patcher *p, struct hv_gva_range range)
{
	for (uint32_t i = 0; i < p->journal.nr_entries; i++) {
		const struct hv_journal_entry *entry = &p->journal.entries[i];

		if (entry->state == HV_JOURNAL_USED && entry->kind == HV_CHANGE_TEXT &&
		    hv_gva_in(hv_gva(entry->gva), range))
			hv_journal_forget(&p->journal, hv_gpa(entry->gpa));
	}
}
