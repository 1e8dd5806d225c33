/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/print_fmt/fields.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/prefix.h"

/* Finds the bytes of an array. For a dynamic field, a word in the entry locates them. */
static bool array_bytes(const struct hv_print_field *field, struct hv_span entry,
			struct hv_span *ret)
{
	size_t off = field->offset_bytes, len = field->size_bytes;
	uint32_t word;

	if (hv_starts_with(field->type, "__data_loc") || hv_starts_with(field->type, "__rel_loc")) {
		if (!hv_span_u32(entry, off, &word))
			return false;
		off = hv_starts_with(field->type, "__rel_loc") ? off + sizeof(word) : 0;
		off += word & 0xffff;
		len = word >> 16;
	} else if (!len && off <= entry.len_bytes) {
		len = entry.len_bytes - off;
	}
	if (!hv_span_has(entry, off, len))
		return false;
	*ret = (struct hv_span){entry.data + off, len};
	return true;
}

static bool has_text_type(const struct hv_print_field *field)
{
	return strstr(field->type, "char") || strstr(field->type, "u8") ||
	       strstr(field->type, "s8");
}

static bool is_text(struct hv_span bytes)
{
	for (size_t i = 0; i < bytes.len_bytes && bytes.data[i]; i++)
		if (!isprint(bytes.data[i]) && !isspace(bytes.data[i]))
			return false;
	return true;
}

static bool put_array(const struct hv_print_field *field, struct hv_span entry, struct hv_text *out)
{
	struct hv_span bytes;

	if (!array_bytes(field, entry, &bytes))
		return false;
	if (has_text_type(field) && is_text(bytes)) {
		hv_text_add_guest(out, (const char *)bytes.data, bytes.len_bytes);
		return true;
	}
	hv_text_add(out, "ARRAY[");
	for (size_t i = 0; i < bytes.len_bytes; i++)
		hv_text_printf(out, "%s%02x", i ? ", " : "", bytes.data[i]);
	hv_text_add(out, "]");
	return true;
}

static bool put_number(const struct hv_print_field *field, struct hv_span entry,
		       struct hv_text *out)
{
	bool is_long = strstr(field->type, "long") != NULL;
	unsigned unused_bits = 64 - 8 * field->size_bytes;
	uint64_t bits = 0;

	if (!hv_span_copy(entry, field->offset_bytes, &bits, field->size_bytes))
		return false;
	if (strchr(field->type, '*') || (is_long && !field->is_signed))
		hv_text_printf(out, "0x%" PRIx64, bits);
	else if (field->is_signed)
		hv_text_printf(out, "%*" PRId64, field->size_bytes == 2 ? 2 : 1,
			       (int64_t)(bits << unused_bits) >> unused_bits);
	else
		hv_text_printf(out, "%" PRIu64, bits);
	return true;
}

static bool is_number(const struct hv_print_field *field)
{
	uint32_t size = field->size_bytes;

	return !strchr(field->type, '[') && (size == 1 || size == 2 || size == 4 || size == 8);
}

void hv_print_fields(const struct hv_print_field *fields, size_t nr_fields, struct hv_span entry,
		     struct hv_text *out)
{
	hv_text_add(out, "[FAILED TO PARSE]");
	for (size_t i = 0; i < nr_fields; i++) {
		hv_text_add(out, " ");
		hv_text_add_guest(out, fields[i].name, strlen(fields[i].name));
		hv_text_add(out, "=");
		if (is_number(&fields[i]) ? !put_number(&fields[i], entry, out)
					  : !put_array(&fields[i], entry, out))
			hv_text_add(out, "?");
	}
}
