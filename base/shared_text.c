/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/shared_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a over words. Texts with equal hashes are compared, so a guest that constructs collisions
 * only costs time. */
static uint64_t hash_of(const char *data, size_t len_bytes)
{
	uint64_t hash = 0xcbf29ce484222325, word;

	for (size_t i = 0; i < len_bytes; i += sizeof(word)) {
		size_t left = len_bytes - i;

		word = 0;
		memcpy(&word, data + i, left < sizeof(word) ? left : sizeof(word));
		hash = (hash ^ word) * 0x100000001b3;
	}
	return hash;
}

static bool is_like(const struct hv_shared_text *s, uint64_t hash, const struct hv_text *text)
{
	return s->hash == hash && s->len_bytes == text->len_bytes &&
	       memcmp(s->data, text->data, s->len_bytes) == 0;
}

/* Takes the bytes of TEXT, which has spare capacity. */
static char *shrunk(struct hv_text *text)
{
	size_t len_bytes = text->len_bytes;
	char *data = hv_text_take(text), *less = realloc(data, len_bytes + 1);

	return less ? less : data;
}

static struct hv_shared_text *add(struct hv_shared_texts *all, uint64_t hash, struct hv_text *text)
{
	struct hv_shared_text *s = hv_alloc(sizeof(*s));

	s->hash = hash;
	s->len_bytes = text->len_bytes;
	s->data = shrunk(text);
	s->all = all;
	s->next = all->first;
	all->first = s;
	all->len_bytes += s->len_bytes;
	return s;
}

const struct hv_shared_text *hv_shared_text_take(struct hv_shared_texts *all, struct hv_text *text)
{
	uint64_t hash = hash_of(text->data, text->len_bytes);
	struct hv_shared_text *s = all->first;

	while (s && !is_like(s, hash, text))
		s = s->next;
	if (!s)
		s = add(all, hash, text);
	hv_text_deinit(text);
	s->nr_owners++;
	return s;
}

struct hv_err *hv_shared_text_take_limited(struct hv_shared_texts *all, struct hv_text *text,
					   const struct hv_shared_text **ret)
{
	const struct hv_shared_text *s = hv_shared_text_take(all, text);

	if (all->len_bytes > HV_SHARED_ALL_MAX) {
		hv_shared_text_drop(s);
		return hv_err_new(ENOMEM,
				  "the texts of open files have more than %u MiB: close some files",
				  HV_SHARED_ALL_MAX >> 20);
	}
	*ret = s;
	return NULL;
}

void hv_shared_text_drop(const struct hv_shared_text *text)
{
	struct hv_shared_texts *all = text ? text->all : NULL;
	struct hv_shared_text **at, *s;

	if (!text)
		return;
	at = &all->first;
	while (*at != text)
		at = &(*at)->next;
	s = *at;
	if (--s->nr_owners)
		return;
	*at = s->next;
	all->len_bytes -= s->len_bytes;
	free(s->data);
	free(s);
}
