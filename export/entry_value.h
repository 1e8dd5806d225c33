/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The values of the fields of an entry of the guest's own events, for formats that have a place for
 * each. Formats and entries may be anything: what is not in the entry has no value.
 * Leaves to others: the text that the guest itself shows (tree/format/print_fmt/). Pure. */
#pragma once

#include "base/bytes.h"
#include "kernel/events/catalogue.h"

enum hv_entry_kind {
	HV_ENTRY_NUMBER,
	HV_ENTRY_POINTER,
	HV_ENTRY_STRING, /* without its NUL */
	HV_ENTRY_BYTES,
};

struct hv_entry_value {
	enum hv_entry_kind kind;
	bool is_signed;
	uint64_t number; /* sign-extended */
	struct hv_span bytes;
};

/* What the values of FIELD are. */
enum hv_entry_kind hv_entry_kind(const struct hv_event_field *field);
/* RET borrows ENTRY. False: FIELD is not wholly in it. */
bool hv_entry_value(const struct hv_event_field *field, struct hv_span entry,
		    struct hv_entry_value *ret);
