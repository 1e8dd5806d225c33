/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cache of whole pages of guest memory. A page is copied at the first access and not read again.
 * This needs one page-table walk per page instead of thousands, and checked data cannot change
 * afterwards. Private to kernel/events/. */
#pragma once

#include "base/text.h"
#include "kernel/image/address_space.h"
#include "kernel/events/gva_map.h"

struct hv_pages {
	const struct hv_address_space *as; /* borrowed */
	struct hv_gva_map map;		   /* the owned bytes of each page */
	uint64_t last; /* address of the last page used; unset if last_bytes is NULL */
	const uint8_t *last_bytes;
	struct hv_text string; /* the last string read, if it crossed a page boundary */
};

void hv_pages_init(struct hv_pages *p, const struct hv_address_space *as);
void hv_pages_deinit(struct hv_pages *p);

/* Fails with EFAULT like hv_read(), or E2BIG if this would exceed the page limit, which no kernel's
 * events reach. */
struct hv_err *hv_pages_read(struct hv_pages *p, struct hv_gva at, void *buf,
			     size_t len_bytes) hv_must_use;
struct hv_err *hv_pages_u64(struct hv_pages *p, struct hv_gva at, uint64_t *ret) hv_must_use;
/* Returns the string at AT and its length; valid until the next read. Fails with E2BIG if it is
 * longer than MAX_BYTES. */
struct hv_err *hv_pages_string(struct hv_pages *p, struct hv_gva at, size_t max_bytes,
			       const char **ret, size_t *ret_len) hv_must_use;
