/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/events/store.h"

#include <stdalign.h>
#include <string.h>

#define BLOCK_BYTES 65536u

struct hv_store_block {
	struct hv_store_block *next;
	size_t used_bytes, cap_bytes;
	alignas(max_align_t) uint8_t bytes[];
};

void hv_store_deinit(struct hv_store *s)
{
	while (s->blocks) {
		struct hv_store_block *next = s->blocks->next;

		free(s->blocks);
		s->blocks = next;
	}
	s->len_bytes = 0;
}

static void *take(struct hv_store *s, size_t len_bytes, size_t align)
{
	struct hv_store_block *block = s->blocks;
	size_t at = block ? (block->used_bytes + align - 1) / align * align : 0;

	if (!block || at > block->cap_bytes || len_bytes > block->cap_bytes - at) {
		size_t cap = len_bytes > BLOCK_BYTES ? len_bytes : BLOCK_BYTES;

		block = hv_alloc(sizeof(*block) + cap);
		block->cap_bytes = cap;
		block->next = s->blocks;
		s->blocks = block;
		at = 0;
	}
	block->used_bytes = at + len_bytes;
	s->len_bytes += len_bytes;
	return block->bytes + at;
}

void *hv_store_alloc(struct hv_store *s, size_t len_bytes)
{
	return take(s, len_bytes, alignof(max_align_t));
}

char *hv_store_string(struct hv_store *s, const char *string, size_t len_bytes)
{
	char *copy = take(s, len_bytes + 1, 1);

	memcpy(copy, string, len_bytes);
	return copy;
}
