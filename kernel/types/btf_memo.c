/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/types/btf_memo.h"

#include <string.h>

#include "base/guard.h"

#define BUCKETS	    512u
#define RESULTS_MAX 4096u
#define NAMES_MAX   256u /* bytes of both names */

struct entry {
	struct entry *next; /* owned */
	struct hv_btf_result result;
	enum hv_btf_lookup kind;
	size_t name_len;
	char names[]; /* NAME, NUL, PATH, NUL */
};

struct hv_btf_memo {
	struct entry *buckets[BUCKETS]; /* owned */
	unsigned nr;
};

struct hv_btf_memo *hv_btf_memo_new(void)
{
	return hv_alloc(sizeof(struct hv_btf_memo));
}

void hv_btf_memo_free(struct hv_btf_memo *memo)
{
	for (size_t i = 0; memo && i < BUCKETS; i++)
		while (memo->buckets[i]) {
			struct entry *e = memo->buckets[i];

			memo->buckets[i] = e->next;
			free(e);
		}
	free(memo);
}

static uint32_t add_to_hash(uint32_t hash, const char *s)
{
	for (; *s; s++)
		hash = (hash ^ (uint8_t)*s) * 16777619u;
	return hash;
}

static uint32_t bucket_of(const char *name, const char *path)
{
	return add_to_hash(add_to_hash(2166136261u, name) * 31, path) % BUCKETS;
}

const struct hv_btf_result *hv_btf_memo_find(const struct hv_btf_memo *memo,
					     enum hv_btf_lookup kind, const char *name,
					     const char *path)
{
	const struct entry *e = memo ? memo->buckets[bucket_of(name, path)] : NULL;

	while (e && (e->kind != kind || strcmp(e->names, name) != 0 ||
		     strcmp(e->names + e->name_len + 1, path) != 0))
		e = e->next;
	return e ? &e->result : NULL;
}

void hv_btf_memo_keep(struct hv_btf_memo *memo, enum hv_btf_lookup kind, const char *name,
		      const char *path, const struct hv_btf_result *result)
{
	size_t name_len = strlen(name), path_len = strlen(path);
	struct entry *e, **bucket;

	if (memo->nr == RESULTS_MAX || name_len + path_len > NAMES_MAX)
		return;
	bucket = &memo->buckets[bucket_of(name, path)];
	e = hv_alloc(sizeof(*e) + name_len + path_len + 2);
	e->next = *bucket;
	e->result = *result;
	e->kind = kind;
	e->name_len = name_len;
	memcpy(e->names, name, name_len);
	memcpy(e->names + name_len + 1, path, path_len);
	*bucket = e;
	memo->nr++;
}
