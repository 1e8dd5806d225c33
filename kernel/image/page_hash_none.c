/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replaces page_hash.c in a build without libsodium. No key can be made, so no page is released. */
#include "kernel/image/page_hash.h"

#include <string.h>

bool hv_page_key_make(struct hv_page_key *ret)
{
	(void)ret;
	return false;
}

void hv_page_hash(const struct hv_page_key *key hv_unused, struct hv_span page hv_unused,
		  uint8_t ret[HV_PAGE_HASH_BYTES])
{
	memset(ret, 0, HV_PAGE_HASH_BYTES);
}
