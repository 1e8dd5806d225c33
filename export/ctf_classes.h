/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Event classes of a trace in the Common Trace Format 1.8: their declarations in the metadata, and
 * the encoding of their events.
 *
 * Formats and events come from the guest and can contain anything. So names are turned into
 * identifiers, and strings into UTF-8 without control characters. A field that is not entirely
 * inside its event becomes 0 or empty. ctf.c writes packets, files and the rest of the metadata.
 * Pure. */
#pragma once

#include "base/text.h"
#include "export/page_decode.h"

struct hv_ctf_field {
	const struct hv_event_field *of; /* borrowed */
	/* Owned; identifiers that are unique within the event. LENGTH names the field with an
	 * array's length; NULL if the field is no array. */
	char *name, *length;
	enum hv_entry_kind kind;
	unsigned element_bytes; /* of a number or an array element: 1, 2, 4, 8 */
};

/* A trace event of the guest. */
struct hv_ctf_class {
	const struct hv_event_type *type; /* borrowed */
	struct hv_ctf_field *fields;	  /* owned */
	size_t nr_fields;
};

struct hv_ctf_classes {
	const struct hv_page_decode *decode; /* borrowed */
	struct hv_ctf_class *list;	     /* owned */
	size_t nr;
	uint32_t *by_id; /* owned; by event id: index in LIST plus 1, or 0 */
};

void hv_ctf_classes_init(struct hv_ctf_classes *c, const struct hv_page_decode *decode);
void hv_ctf_classes_deinit(struct hv_ctf_classes *c);

/* Adds the declarations of all events. They use the types u8 to u64, s8 to s64, and x8 to x64,
 * which are displayed in hex. */
void hv_ctf_classes_describe(const struct hv_ctf_classes *c, struct hv_text *out);
/* Adds the fields of E and stores its event id in *RET_ID. Returns false and adds nothing if the
 * trace has no class for E. */
bool hv_ctf_classes_add(const struct hv_ctf_classes *c, const struct hv_event *e,
			struct hv_text *out, uint16_t *ret_id);
/* Adds TEXT in quotes. */
void hv_ctf_add_quoted(struct hv_text *out, const char *text);
/* Adds the LEN_BYTES low bytes of VALUE. */
void hv_ctf_add_number(struct hv_text *out, uint64_t value, unsigned len_bytes);
