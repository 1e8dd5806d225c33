/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Extracts the values of fields from entries of the guest's trace events. Formats and entries can
 * contain anything: a field outside the entry has no value.
 *
 * tree/format/print_fmt/ formats entries as the guest's own trace does. Pure. */
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

/* Returns the kind of FIELD's values. */
enum hv_entry_kind hv_entry_kind(const struct hv_event_field *field);
/* RET borrows ENTRY. Returns false if FIELD is not entirely in ENTRY. */
bool hv_entry_value(const struct hv_event_field *field, struct hv_span entry,
		    struct hv_entry_value *ret);
