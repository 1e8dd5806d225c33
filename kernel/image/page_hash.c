/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hashes with keyed BLAKE2b of libsodium. */
#include "kernel/image/page_hash.h"

#include <sodium.h>
#include <sys/random.h>

bool hv_page_key_make(struct hv_page_key *ret)
{
	return sodium_init() >= 0 &&
	       getrandom(ret->bytes, sizeof(ret->bytes), GRND_NONBLOCK) == sizeof(ret->bytes);
}

void hv_page_hash(const struct hv_page_key *key, struct hv_span page,
		  uint8_t ret[HV_PAGE_HASH_BYTES])
{
	crypto_generichash(ret, HV_PAGE_HASH_BYTES, page.data, page.len_bytes, key->bytes,
			   sizeof(key->bytes));
}
