/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The events of a trace in the Common Trace Format 1.8: what each is made of, as the trace's
 * metadata says it, and its bytes. Formats and events are the guest's and may be anything: names
 * become identifiers, strings UTF-8 without control characters, and a field that is not wholly in
 * its event is 0 or empty. Leaves to others: packets, files, the rest of the metadata (ctf.c).
 * Pure. */
#pragma once

#include "base/text.h"
#include "export/entry_value.h"
#include "export/page_decode.h"

struct hv_ctf_field {
	const struct hv_event_field *of; /* borrowed */
	/* Owned; identifiers, unlike all others of the event. LENGTH is of an array's length; NULL:
	 * it is none. */
	char *name, *length;
	enum hv_entry_kind kind;
	unsigned element_bytes; /* of a number, or of each of an array's: 1, 2, 4, 8 */
};

/* An event of the guest's own. */
struct hv_ctf_class {
	const struct hv_event_type *type; /* borrowed */
	struct hv_ctf_field *fields;	  /* owned */
	size_t nr_fields;
};

struct hv_ctf_classes {
	const struct hv_page_decode *decode; /* borrowed */
	struct hv_ctf_class *list;	     /* owned */
	size_t nr;
	uint32_t *by_id; /* owned; for each id of an event, 1 + its place in LIST. 0: it has none */
};

void hv_ctf_classes_init(struct hv_ctf_classes *c, const struct hv_page_decode *decode);
void hv_ctf_classes_deinit(struct hv_ctf_classes *c);

/* Adds the declarations of all events. They use types that are named by their bits: u8 to u64, s8
 * to s64, and x8 to x64, which are shown in hex. */
void hv_ctf_classes_describe(const struct hv_ctf_classes *c, struct hv_text *out);
/* Adds what follows an event's header. *RET_ID: its number. False: it cannot be in a trace, and
 * nothing was added. */
bool hv_ctf_classes_add(const struct hv_ctf_classes *c, const struct hv_event *e,
			struct hv_text *out, uint16_t *ret_id);
/* Adds TEXT in quotes. */
void hv_ctf_add_quoted(struct hv_text *out, const char *text);
/* Adds the LEN_BYTES lowest bytes of VALUE. */
void hv_ctf_add_number(struct hv_text *out, uint64_t value, unsigned len_bytes);
