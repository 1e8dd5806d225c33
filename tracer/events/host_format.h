/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The format of an event of the host, from the text that its kernel has in tracefs.
 * Leaves to others: entries (host_page.h), which events there are (vmm/hosttrace/names.h). Pure. */
#pragma once

#include <stdbool.h>

#include "kernel/events/catalogue.h"

struct hv_host_format {
	uint32_t id;		       /* the host's, common_type of its entries */
	struct hv_event_fields fields; /* without the common ones; owned */
	const char *print_fmt;	       /* in TEXT */
	char *text;		       /* owned; names and types point into it */
};

/* False: TEXT is no format, or entries begin otherwise than the guest's do. */
bool hv_host_format_parse(const char *text, struct hv_host_format *ret);
void hv_host_format_deinit(struct hv_host_format *f);
/* Returns where the number NAME of 4 bytes is in entries; 0: there is none. */
uint32_t hv_host_format_u32(const struct hv_host_format *f, const char *name);
