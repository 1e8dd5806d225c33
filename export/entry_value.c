/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/entry_value.h"

#include <string.h>

#include "base/prefix.h"

/* A word in the entry contains the offset of a dynamic field, from the start of the entry or from
 * the end of the word. */
static bool find_dynamic(const struct hv_event_field *field, struct hv_span entry,
			 struct hv_span *ret)
{
	bool is_relative = hv_starts_with(field->type, "__rel_loc");
	uint32_t word;
	size_t off;

	if (!hv_span_u32(entry, field->off, &word))
		return false;
	off = (word & 0xffff) + (is_relative ? field->off + sizeof(word) : 0);
	if (!hv_span_has(entry, off, word >> 16))
		return false;
	*ret = (struct hv_span){entry.data + off, word >> 16};
	return true;
}

static bool is_dynamic(const struct hv_event_field *field)
{
	return hv_starts_with(field->type, "__data_loc") ||
	       hv_starts_with(field->type, "__rel_loc");
}

static bool is_number(const struct hv_event_field *field)
{
	uint32_t size = field->size_bytes;

	return !is_dynamic(field) && !strchr(field->type, '[') &&
	       (size == 1 || size == 2 || size == 4 || size == 8);
}

enum hv_entry_kind hv_entry_kind(const struct hv_event_field *field)
{
	if (is_number(field))
		return strchr(field->type, '*') ? HV_ENTRY_POINTER : HV_ENTRY_NUMBER;
	return strstr(field->type, "char") ? HV_ENTRY_STRING : HV_ENTRY_BYTES;
}

static bool find_number(const struct hv_event_field *field, struct hv_span entry,
			struct hv_entry_value *ret)
{
	unsigned unused_bits = 64 - 8 * field->size_bytes;
	uint64_t bits = 0;

	if (!hv_span_copy(entry, field->off, &bits, field->size_bytes))
		return false;
	ret->is_signed = field->is_signed;
	ret->number =
		field->is_signed ? (uint64_t)((int64_t)(bits << unused_bits) >> unused_bits) : bits;
	return true;
}

/* The last field can have size 0 ("char buf[]") and extend to the end of the entry. */
static bool find_array(const struct hv_event_field *field, struct hv_span entry,
		       struct hv_span *ret)
{
	size_t len = field->size_bytes;

	if (!len && field->off <= entry.len_bytes)
		len = entry.len_bytes - field->off;
	if (!hv_span_has(entry, field->off, len))
		return false;
	*ret = (struct hv_span){entry.data + field->off, len};
	return true;
}

bool hv_entry_value(const struct hv_event_field *field, struct hv_span entry,
		    struct hv_entry_value *ret)
{
	struct hv_entry_value value = {.kind = hv_entry_kind(field)};

	if (is_number(field)) {
		if (!find_number(field, entry, &value))
			return false;
	} else if (is_dynamic(field) ? !find_dynamic(field, entry, &value.bytes)
				     : !find_array(field, entry, &value.bytes)) {
		return false;
	} else if (value.kind == HV_ENTRY_STRING) {
		value.bytes.len_bytes =
			strnlen((const char *)value.bytes.data, value.bytes.len_bytes);
	}
	*ret = value;
	return true;
}
