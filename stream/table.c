/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stream/table.h"

#include <zstd.h>

#define LEVEL 3

/* Appends a skippable zstd frame if the text compresses better than a collector accepts. */
static void pad(struct hv_text *packed, size_t raw_bytes)
{
	size_t want = raw_bytes / HV_STREAM_GROWTH + 1;
	uint32_t head[2] = {ZSTD_MAGIC_SKIPPABLE_START, 0};

	if (hv_stream_may_grow(packed->len_bytes, raw_bytes, HV_STREAM_TABLE_GROWTH_FREE))
		return;
	if (want > packed->len_bytes + sizeof(head))
		head[1] = (uint32_t)(want - packed->len_bytes - sizeof(head));
	hv_text_add_bytes(packed, head, sizeof(head));
	hv_text_add_fill(packed, '\0', head[1]);
}

struct hv_err *hv_stream_parts_set(struct hv_stream_parts *p, enum hv_stream_table_id id,
				   struct hv_span text, uint16_t part_bytes)
{
	size_t bound = ZSTD_compressBound(text.len_bytes);
	HV_AUTO_FREE char *packed = hv_alloc(bound);
	size_t len = ZSTD_compress(packed, bound, text.data, text.len_bytes, LEVEL);

	if (ZSTD_isError(len))
		return hv_err_new(EIO, "zstd: %s", ZSTD_getErrorName(len));
	if (len > HV_STREAM_TABLE_MAX || text.len_bytes > HV_STREAM_TABLE_RAW_MAX)
		return hv_err_new(EFBIG,
				  "the guest's symbols and formats are too long for a stream: %zu "
				  "bytes",
				  text.len_bytes);
	hv_text_clear(&p->packed);
	hv_text_add_bytes(&p->packed, packed, len);
	pad(&p->packed, text.len_bytes);
	p->next = (struct hv_stream_part){
		.table = (uint8_t)id,
		.part_bytes = part_bytes,
		.generation = p->next.generation + 1,
		.total_bytes = (uint32_t)p->packed.len_bytes,
		.raw_bytes = (uint32_t)text.len_bytes,
	};
	p->nr_rounds = 0;
	return NULL;
}

void hv_stream_parts_deinit(struct hv_stream_parts *p)
{
	hv_text_deinit(&p->packed);
}

static size_t part_len(const struct hv_stream_part *p)
{
	size_t left = p->total_bytes - p->off;

	return left < p->part_bytes ? left : p->part_bytes;
}

struct hv_stream_part hv_stream_parts_next(struct hv_stream_parts *p)
{
	struct hv_stream_part part = p->next;

	part.bytes = (struct hv_span){(uint8_t *)p->packed.data + part.off, part_len(&part)};
	p->next.off += (uint32_t)part.bytes.len_bytes;
	if (p->next.off == p->next.total_bytes) {
		p->next.off = 0;
		p->nr_rounds++;
	}
	return part;
}

void hv_stream_table_deinit(struct hv_stream_table *t)
{
	free(t->packed);
	free(t->has);
	*t = (struct hv_stream_table){0};
}

static bool is_like(const struct hv_stream_part *a, const struct hv_stream_part *b)
{
	return a->generation == b->generation && a->part_bytes == b->part_bytes &&
	       a->total_bytes == b->total_bytes && a->raw_bytes == b->raw_bytes;
}

size_t hv_stream_part_memory(const struct hv_stream_part *p)
{
	if (!p->part_bytes || p->total_bytes > HV_STREAM_TABLE_MAX)
		return 0;
	return p->total_bytes + p->total_bytes / p->part_bytes + 1;
}

size_t hv_stream_table_memory(const struct hv_stream_table *t)
{
	return t->packed ? hv_stream_part_memory(&t->like) : 0;
}

/* Allocates the sizes that the part claims; the caller has checked the budget. */
static void begin(struct hv_stream_table *t, const struct hv_stream_part *p)
{
	hv_stream_table_deinit(t);
	t->like = *p;
	t->like.bytes = (struct hv_span){0};
	t->nr_missing = (p->total_bytes + p->part_bytes - 1) / p->part_bytes;
	t->packed = hv_alloc(p->total_bytes);
	t->has = hv_alloc(t->nr_missing);
}

static bool is_possible(const struct hv_stream_part *p)
{
	return p->part_bytes >= HV_STREAM_PART_MIN && p->total_bytes &&
	       p->total_bytes <= HV_STREAM_TABLE_MAX && p->raw_bytes &&
	       p->raw_bytes <= HV_STREAM_TABLE_RAW_MAX &&
	       hv_stream_may_grow(p->total_bytes, p->raw_bytes, HV_STREAM_TABLE_GROWTH_FREE) &&
	       p->off < p->total_bytes && p->off % p->part_bytes == 0 &&
	       p->bytes.len_bytes == part_len(p);
}

enum hv_stream_added hv_stream_table_add(struct hv_stream_table *t, const struct hv_stream_part *p)
{
	size_t i;

	if (!is_possible(p))
		return HV_STREAM_PART_WRONG;
	if (!t->packed || t->like.generation != p->generation)
		begin(t, p);
	else if (!is_like(&t->like, p))
		return HV_STREAM_PART_WRONG;
	i = p->off / p->part_bytes;
	if (t->has[i])
		return HV_STREAM_PART_TAKEN;
	memcpy(t->packed + p->off, p->bytes.data, p->bytes.len_bytes);
	t->has[i] = 1;
	t->nr_missing--;
	t->is_whole = t->nr_missing == 0;
	return t->is_whole ? HV_STREAM_PART_LAST : HV_STREAM_PART_TAKEN;
}

bool hv_stream_table_text(const struct hv_stream_table *t, struct hv_text *ret)
{
	HV_AUTO_FREE char *raw = hv_alloc((size_t)t->like.raw_bytes + 1);
	size_t len = ZSTD_decompress(raw, t->like.raw_bytes, t->packed, t->like.total_bytes);

	if (ZSTD_isError(len) || len != t->like.raw_bytes)
		return false;
	*ret = (struct hv_text){.data = hv_take(raw), .len_bytes = len, .cap_bytes = len + 1};
	return true;
}
