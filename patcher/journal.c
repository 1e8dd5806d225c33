/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "patcher/journal.h"

#include <assert.h>
#include <string.h>

#define NR_BUCKETS (1U << 18) /* more than twice HV_JOURNAL_CAP */
_Static_assert(HV_JOURNAL_CAP * 2 < NR_BUCKETS, "the table stays sparse");

#define TOMBSTONE UINT32_MAX

static size_t home(struct hv_gpa gpa)
{
	return (gpa.v * 0x9e3779b97f4a7c15ULL) >> 46 & (NR_BUCKETS - 1);
}

void hv_journal_init(struct hv_journal *j, struct hv_region *region)
{
	*j = (struct hv_journal){
		.region = region,
		.entries = hv_alloc(HV_JOURNAL_CAP * sizeof(*j->entries)),
		.buckets = hv_alloc(NR_BUCKETS * sizeof(*j->buckets)),
		.nr_buckets = NR_BUCKETS,
		.free_list = hv_alloc(HV_JOURNAL_CAP * sizeof(*j->free_list)),
	};
}

void hv_journal_deinit(struct hv_journal *j)
{
	free(j->entries);
	free(j->buckets);
	free(j->free_list);
	*j = (struct hv_journal){0};
}

/* Returns the hash table entry of GPA, or NULL. */
static uint32_t *find_bucket(const struct hv_journal *j, struct hv_gpa gpa)
{
	for (size_t i = 0, at = home(gpa); i < j->nr_buckets; i++, at = (at + 1) % j->nr_buckets) {
		uint32_t bucket = j->buckets[at];

		if (bucket == 0)
			return NULL;
		if (bucket != TOMBSTONE && j->entries[bucket - 1].gpa == gpa.v)
			return &j->buckets[at];
	}
	return NULL;
}

static void insert_bucket(struct hv_journal *j, struct hv_gpa gpa, uint32_t index)
{
	size_t at = home(gpa);

	while (j->buckets[at] != 0 && j->buckets[at] != TOMBSTONE)
		at = (at + 1) % j->nr_buckets;
	j->buckets[at] = index + 1;
}

const struct hv_journal_entry *hv_journal_find(const struct hv_journal *j, struct hv_gpa gpa)
{
	uint32_t *bucket = find_bucket(j, gpa);

	return bucket ? &j->entries[*bucket - 1] : NULL;
}

/* Calls WRITE for each shared copy of the journal: the one outside the guest's reach, if any, and
 * the region. */
static void mirror_by(struct hv_journal *j, uint32_t index,
		      void (*write)(const struct hv_journal *j, uint32_t index, uint8_t *start))
{
	if (j->region->kept)
		write(j, index, j->region->kept);
	write(j, index, j->region->host);
}

static struct hv_journal_entry *entry_at(uint8_t *start, uint32_t index)
{
	return (struct hv_journal_entry *)(start + HV_REGION_JOURNAL_OFF) + index;
}

/* Writes an entry to a copy. The entry is never marked USED while it is incomplete. */
static void mirror(const struct hv_journal *j, uint32_t index, uint8_t *start)
{
	struct hv_journal_entry *to = entry_at(start, index);
	struct hv_journal_entry entry = j->entries[index];

	__atomic_store_n(&to->state, HV_JOURNAL_FREE, __ATOMIC_RELEASE);
	entry.state = HV_JOURNAL_FREE;
	*to = entry;
	__atomic_store_n(&to->state, j->entries[index].state, __ATOMIC_RELEASE);
	__atomic_store_n(&((struct hv_region_header *)start)->nr_entries, j->nr_entries,
			 __ATOMIC_RELEASE);
}

/* Updates the new bytes of an entry that stays USED. Recovery can read it at any moment and must
 * find the old or the new bytes; then it checks which of them the guest has (tracer/attach.c). */
static void mirror_new_bytes(const struct hv_journal *j, uint32_t index, uint8_t *start)
{
	struct hv_journal_entry *to = entry_at(start, index);
	uint64_t bytes;

	memcpy(&bytes, j->entries[index].new_bytes, sizeof(bytes));
	__atomic_store_n((uint64_t *)to->new_bytes, bytes, __ATOMIC_RELEASE);
}

/* Allocates an entry. Returns false if the journal is full. */
static bool take_index(struct hv_journal *j, uint32_t *ret)
{
	if (j->nr_free > 0) {
		*ret = j->free_list[--j->nr_free];
		return true;
	}
	if (j->nr_entries >= HV_JOURNAL_CAP)
		return false;
	*ret = j->nr_entries++;
	return true;
}

static struct hv_journal_entry entry_of(const struct hv_change *change)
{
	struct hv_journal_entry entry = {
		.gpa = change->gpa.v,
		.gva = change->gva.v,
		.state = HV_JOURNAL_USED,
		.kind = (uint16_t)change->kind,
		.len_bytes = (uint16_t)change->len_bytes,
	};

	memcpy(entry.old_bytes, change->from, change->len_bytes);
	memcpy(entry.new_bytes, change->to, change->len_bytes);
	return entry;
}

static void note_again(struct hv_journal *j, uint32_t index, const struct hv_change *change)
{
	struct hv_journal_entry *entry = &j->entries[index];

	/* The address has changed, so the memory was freed and now belongs to another module. The
	 * old bytes are obsolete, and undoing must use the new address. */
	if (entry->gva != change->gva.v) {
		j->nr_used[entry->kind]--;
		j->nr_used[change->kind]++;
		*entry = entry_of(change);
		mirror_by(j, index, mirror);
		return;
	}
	/* A change back to the old bytes is covered by the existing entry. */
	if (memcmp(entry->old_bytes, change->to, change->len_bytes) == 0 ||
	    memcmp(entry->new_bytes, change->to, change->len_bytes) == 0)
		return;
	memcpy(entry->new_bytes, change->to, change->len_bytes);
	mirror_by(j, index, mirror_new_bytes);
}

struct hv_err *hv_journal_note(struct hv_journal *j, const struct hv_change *change)
{
	uint32_t *bucket = find_bucket(j, change->gpa);
	uint32_t index;

	assert(change->len_bytes <= sizeof(j->entries->new_bytes));
	if (bucket) {
		note_again(j, *bucket - 1, change);
		return NULL;
	}
	if (!take_index(j, &index))
		return hv_err_new(ENOSPC, "journal: full at %zu changes", (size_t)HV_JOURNAL_CAP);
	j->entries[index] = entry_of(change);
	mirror_by(j, index, mirror);
	insert_bucket(j, change->gpa, index);
	j->nr_used[change->kind]++;
	return NULL;
}

void hv_journal_forget(struct hv_journal *j, struct hv_gpa gpa)
{
	uint32_t *bucket = find_bucket(j, gpa);
	uint32_t index;

	if (!bucket)
		return;
	index = *bucket - 1;
	j->nr_used[j->entries[index].kind]--;
	j->entries[index].state = HV_JOURNAL_FREE;
	mirror_by(j, index, mirror);
	j->free_list[j->nr_free++] = index;
	*bucket = TOMBSTONE;
}

void hv_journal_adopt(struct hv_journal *j, const struct hv_journal_entry *entries, uint32_t nr)
{
	assert(j->nr_entries == 0 && nr <= HV_JOURNAL_CAP);
	memcpy(j->entries, entries, nr * sizeof(*entries));
	j->nr_entries = nr;
	for (uint32_t i = 0; i < nr; i++) {
		if (entries[i].state == HV_JOURNAL_USED) {
			insert_bucket(j, hv_gpa(entries[i].gpa), i);
			j->nr_used[entries[i].kind]++;
		} else {
			j->free_list[j->nr_free++] = i;
		}
	}
}
