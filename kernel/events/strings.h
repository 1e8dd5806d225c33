/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings of the guest by their addresses. Each is read and stored once, since events share most of
 * them (names of systems, types of fields).
 * Private to kernel/events/. */
#pragma once

#include "kernel/events/pages.h"
#include "kernel/events/store.h"

struct hv_strings {
	struct hv_pages *pages; /* borrowed */
	struct hv_store *store; /* borrowed: what was read lives as long as it does */
	struct hv_gva_map map;
};

void hv_strings_init(struct hv_strings *s, struct hv_pages *pages, struct hv_store *store);
void hv_strings_deinit(struct hv_strings *s);

/* *RET: the string at AT, of at most MAX_BYTES. E2BIG: it is longer, or all strings together are
 * too long. */
struct hv_err *hv_strings_read(struct hv_strings *s, struct hv_gva at, size_t max_bytes,
			       const char **ret) hv_must_use;
