/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses the format of a host event from its text in the host's tracefs.
 *
 * host_page.h reads entries; vmm/hosttrace/names.h lists the events. Pure. */
#pragma once

#include <stdbool.h>

#include "kernel/events/catalogue.h"

struct hv_host_format {
	uint32_t id;		       /* id on the host: common_type of its entries */
	struct hv_event_fields fields; /* owned; without the common fields */
	const char *print_fmt;	       /* points into TEXT */
	char *text;		       /* owned; names and types point into it */
};

/* Returns false if TEXT is not a format, or if the common fields differ from the guest's. */
bool hv_host_format_parse(const char *text, struct hv_host_format *ret);
void hv_host_format_deinit(struct hv_host_format *f);
/* Returns the offset in entries of the 4-byte number NAME; 0: no such field. */
uint32_t hv_host_format_u32(const struct hv_host_format *f, const char *name);
