/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/field_values.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/prefix.h"

/* -- lines of formats ------------------------------------------------------------------------- */

/* Parses the number after LABEL in S, such as "offset:8;". */
static bool number_after(const char *s, const char *label, uint32_t *ret)
{
	const char *at = strstr(s, label);

	return at && sscanf(at + strlen(label), "%" SCNu32, ret) == 1;
}

static bool is_dynamic_type(const char *type)
{
	return hv_starts_with(type, "__data_loc") || hv_starts_with(type, "__rel_loc");
}

bool hv_field_line_parse(const char *line, struct hv_field_line *ret)
{
	const char *begin = strstr(line, "field:"), *end = begin ? strchr(begin, ';') : NULL;
	struct hv_field_line f = {0};
	const char *array, *name, *first;
	uint32_t is_signed = 0;

	if (!end || !number_after(end, "offset:", &f.off) ||
	    !number_after(end, "size:", &f.size_bytes))
		return false;
	number_after(end, "signed:", &is_signed);
	f.is_signed = is_signed;
	begin += strlen("field:");
	array = memchr(begin, '[', (size_t)(end - begin));
	name = memrchr(begin, ' ', (size_t)((array && array[-1] != ' ' ? array : end) - begin));
	if (!name || is_dynamic_type(begin))
		name = memrchr(begin, ' ', (size_t)(end - begin)), array = NULL;
	if (!name)
		return false;
	if (array && array < name) /* brackets that are not an array's */
		array = NULL;
	for (first = name + 1; *first == '*'; first++)
		name = first + 1; /* "char *NAME" */
	f.type = (struct hv_line_part){begin, (size_t)(name - begin)};
	f.array = (struct hv_line_part){array ? array : end, array ? (size_t)(end - array) : 0};
	f.name = (struct hv_line_part){first, (size_t)((array ? array : end) - first)};
	*ret = f;
	return true;
}

/* -- values of fields ------------------------------------------------------------------------- */

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
	return is_dynamic_type(field->type);
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

/* Returns the last word of TYPE, without array brackets. */
static struct hv_span last_word(const char *type)
{
	size_t end = strcspn(type, "["), begin;

	while (end && type[end - 1] == ' ')
		end--;
	for (begin = end; begin && type[begin - 1] != ' ';)
		begin--;
	return (struct hv_span){(const uint8_t *)type + begin, end - begin};
}

/* Returns the size of an integer of TYPE. Returns 1 if TYPE is unknown: then bytes are shown. */
static unsigned bytes_of_type(const char *type)
{
	static const struct {
		const char *name;
		unsigned bytes;
	} known[] = {
		{"u64", 8},	 {"s64", 8},	 {"__u64", 8},	  {"__s64", 8},	  {"uint64_t", 8},
		{"int64_t", 8},	 {"long", 8},	 {"size_t", 8},	  {"u32", 4},	  {"s32", 4},
		{"__u32", 4},	 {"__s32", 4},	 {"uint32_t", 4}, {"int32_t", 4}, {"int", 4},
		{"unsigned", 4}, {"u16", 2},	 {"s16", 2},	  {"__u16", 2},	  {"__s16", 2},
		{"uint16_t", 2}, {"int16_t", 2}, {"short", 2},
	};
	struct hv_span word = last_word(type);

	for (size_t i = 0; i < HV_ARRAY_LEN(known); i++)
		if (strlen(known[i].name) == word.len_bytes &&
		    memcmp(known[i].name, word.data, word.len_bytes) == 0)
			return known[i].bytes;
	return 1;
}

/* The format contains the number of elements, except for arrays of variable length. */
unsigned hv_entry_element_bytes(const struct hv_event_field *field)
{
	const char *array = strchr(field->type, '[');
	unsigned nr = 0, bytes;

	if (!array || sscanf(array, "[%u]", &nr) != 1 || !nr || field->size_bytes % nr)
		return bytes_of_type(field->type);
	bytes = field->size_bytes / nr;
	return bytes == 2 || bytes == 4 || bytes == 8 ? bytes : 1;
}
