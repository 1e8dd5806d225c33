/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads guest memory for a catalogue: whole pages, each copied at the first access and not read
 * again. This needs one page-table walk per page instead of thousands, and checked data cannot
 * change afterwards. Strings and objects are found by their guest address, so that each is read
 * once. Private to kernel/events/. */
#pragma once

#include "base/addr.h"
#include "base/map.h"
#include "base/text.h"
#include "kernel/events/catalogue.h"
#include "kernel/image/address_space.h"

struct hv_pages {
	const struct hv_address_space *as; /* borrowed */
	struct hv_map map;		   /* the owned bytes of each page */
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

/* Guest strings by address. Each is read and stored once, because events share most of them (names
 * of systems, types of fields). */
struct hv_strings {
	struct hv_pages *pages; /* borrowed */
	struct hv_store *store; /* borrowed; strings live as long as the store */
	struct hv_map map;
};

void hv_strings_init(struct hv_strings *s, struct hv_pages *pages, struct hv_store *store);
void hv_strings_deinit(struct hv_strings *s);

/* Returns the string at AT, which has at most MAX_BYTES. Fails with E2BIG if it is longer or if all
 * strings together exceed their limit. */
struct hv_err *hv_strings_read(struct hv_strings *s, struct hv_gva at, size_t max_bytes,
			       const char **ret) hv_must_use;
