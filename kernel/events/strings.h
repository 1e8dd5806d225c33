/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guest strings by address. Each is read and stored once, because events share most of them (names
 * of systems, types of fields). Private to kernel/events/. */
#pragma once

#include "kernel/events/pages.h"
#include "kernel/events/store.h"

struct hv_strings {
	struct hv_pages *pages; /* borrowed */
	struct hv_store *store; /* borrowed; strings live as long as the store */
	struct hv_gva_map map;
};

void hv_strings_init(struct hv_strings *s, struct hv_pages *pages, struct hv_store *store);
void hv_strings_deinit(struct hv_strings *s);

/* Returns the string at AT, which has at most MAX_BYTES. Fails with E2BIG if it is longer or if all
 * strings together exceed their limit. */
struct hv_err *hv_strings_read(struct hv_strings *s, struct hv_gva at, size_t max_bytes,
			       const char **ret) hv_must_use;
