/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guest memory in copies of whole pages. A page is copied when something in it is read for the
 * first time, and is not read again. So there is one walk of the page tables for each page instead
 * of thousands, and data that was checked does not change afterwards. Private to kernel/events/. */
#pragma once

#include "base/text.h"
#include "kernel/address_space.h"
#include "kernel/events/gva_map.h"

struct hv_pages {
	const struct hv_address_space *as; /* borrowed */
	struct hv_gva_map map;		   /* the owned bytes of each page */
	uint64_t last; /* address of the page used last; last_bytes NULL: none */
	const uint8_t *last_bytes;
	struct hv_text string; /* the string read last, if it was in more than one page */
};

void hv_pages_init(struct hv_pages *p, const struct hv_address_space *as);
void hv_pages_deinit(struct hv_pages *p);

/* EFAULT as hv_read; E2BIG: that would be more pages than the events of any kernel take. */
struct hv_err *hv_pages_read(struct hv_pages *p, struct hv_gva at, void *buf,
			     size_t len_bytes) hv_must_use;
struct hv_err *hv_pages_u64(struct hv_pages *p, struct hv_gva at, uint64_t *ret) hv_must_use;
/* *RET: the *RET_LEN bytes of the string at AT, valid until the next read. E2BIG: there are more
 * than MAX_BYTES. */
struct hv_err *hv_pages_string(struct hv_pages *p, struct hv_gva at, size_t max_bytes,
			       const char **ret, size_t *ret_len) hv_must_use;
