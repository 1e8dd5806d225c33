/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An entry consists of three 32-bit distances, each relative to its own address: to the exported
 * symbol, to its name and to its namespace, usually the empty string (struct kernel_symbol,
 * include/linux/export-internal.h, since 4.19 (7290d5809571) and, with the namespace, 5.4
 * (8651ec01daed)). */
#include "kernel/image/exports.h"

#include <string.h>

#include "base/cancel.h"

#define ENTRY_BYTES    12u
#define NAME_MAX_BYTES 128u
/* The smallest kernel with module support exports some thousands of symbols; random data does not
 * look like a table of hundreds. */
#define ENTRIES_MAX    32768u
#define GAP_BYTES      16u /* the second table is aligned */
#define ENTRIES_MIN    256u

static bool is_letter(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Returns the string that the distance at OFF leads to, or NULL if it is not a name. */
static const char *string_at(struct hv_span image, size_t off, size_t min_len)
{
	uint32_t distance;
	size_t at;
	const uint8_t *s;

	if (!hv_span_u32(image, off, &distance))
		return NULL;
	at = off + (size_t)(int32_t)distance;
	if (at >= image.len_bytes)
		return NULL;
	s = image.data + at;
	for (size_t i = 0; i < NAME_MAX_BYTES && i < image.len_bytes - at; i++) {
		if (!s[i])
			return i >= min_len ? (const char *)s : NULL;
		if (!is_letter(s[i]) && (!i || s[i] < '0' || s[i] > '9'))
			return NULL;
	}
	return NULL;
}

static const char *entry_name(struct hv_span image, size_t off)
{
	uint32_t distance;

	if (!hv_span_u32(image, off, &distance) ||
	    off + (size_t)(int32_t)distance >= image.len_bytes || !string_at(image, off + 8, 0))
		return NULL;
	return string_at(image, off + 4, 1);
}

/* Returns the number of consecutive entries from OFF, or 0 if an entry precedes it. */
static size_t count_entries(struct hv_span image, size_t off)
{
	size_t nr = 0;

	if (!entry_name(image, off) || (off >= ENTRY_BYTES && entry_name(image, off - ENTRY_BYTES)))
		return 0;
	while (entry_name(image, off + nr * ENTRY_BYTES))
		nr++;
	return nr <= ENTRIES_MAX ? nr : 0;
}

struct hv_exports hv_exports_find(const struct hv_image *image)
{
	struct hv_span all = {image->bytes, image->len_bytes};
	struct hv_exports e = {0};
	size_t from = image->text.end.v - image->all.start.v, end = 0;

	/* Each entry is counted at most once. */
	for (size_t off = from & ~(size_t)3; off < all.len_bytes; off += 4) {
		size_t nr = count_entries(all, off);

		if (hv_cancel_now(off / 4))
			return (struct hv_exports){0};
		if (nr < ENTRIES_MIN)
			continue;
		if (e.nr_tables == HV_EXPORTS_TABLES || (e.nr_tables && off - end > GAP_BYTES))
			return (struct hv_exports){0};
		e.tables[e.nr_tables].off = off;
		e.tables[e.nr_tables++].nr = nr;
		end = off + nr * ENTRY_BYTES;
	}
	return e;
}

bool hv_exports_lookup(const struct hv_image *image, const struct hv_exports *e, const char *name,
		       struct hv_gva *ret)
{
	struct hv_span all = {image->bytes, image->len_bytes};
	struct hv_gva found = {0};
	unsigned nr_found = 0;

	for (size_t i = 0; i < e->nr_tables; i++)
		for (size_t at = 0; at < e->tables[i].nr; at++) {
			size_t off = e->tables[i].off + at * ENTRY_BYTES;
			const char *entry = string_at(all, off + 4, 1);
			uint32_t distance = 0;

			if (hv_cancel_now(at))
				return false;
			if (!entry || strcmp(entry, name) != 0 || !entry_name(all, off))
				continue;
			hv_span_u32(all, off, &distance);
			found = hv_gva(image->all.start.v + off + (uint64_t)(int32_t)distance);
			nr_found++;
		}
	if (nr_found == 1)
		*ret = found;
	return nr_found == 1;
}
