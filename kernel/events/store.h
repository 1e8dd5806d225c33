/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory of a catalogue. Allocations do not move and are all freed together. pages.h stores
 * each guest string once. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/guard.h"

struct hv_store_block;

/* Zero-initialised is empty and valid. */
struct hv_store {
	struct hv_store_block *blocks; /* owned, the newest first */
	size_t len_bytes;	       /* total size of allocations */
};

void hv_store_deinit(struct hv_store *s);
/* Returns zeroed memory, aligned for any type. */
void *hv_store_alloc(struct hv_store *s, size_t len_bytes) hv_must_use;
/* Returns a copy of LEN_BYTES with a NUL appended. */
char *hv_store_string(struct hv_store *s, const char *string, size_t len_bytes) hv_must_use;
