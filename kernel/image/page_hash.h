/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hashes of pages with a random key that only this process has. The guest, which chooses the pages,
 * cannot compute or compare the hashes, so it cannot find two pages with the same hash. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

#define HV_PAGE_HASH_BYTES 16

struct hv_page_key {
	uint8_t bytes[32];
};

/* Makes a random key. Returns false in a build without libsodium, or if there is no random data. */
bool hv_page_key_make(struct hv_page_key *ret);
void hv_page_hash(const struct hv_page_key *key, struct hv_span page,
		  uint8_t ret[HV_PAGE_HASH_BYTES]);
