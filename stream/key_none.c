/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replaces key.c in a build without libsodium. No key can be read, so no frame is sent or
 * accepted. */
#include "stream/key.h"

struct hv_err *hv_stream_key_read(const char *path, struct hv_stream_key *ret hv_unused)
{
	return hv_err_new(ENOTSUP, "%s: this hvtrace was built without libsodium", path);
}

void hv_stream_hash(const struct hv_stream_key *key hv_unused, struct hv_span s hv_unused,
		    uint8_t ret[HV_STREAM_HASH_LEN])
{
	memset(ret, 0, HV_STREAM_HASH_LEN);
}

bool hv_stream_hash_is(const struct hv_stream_key *key hv_unused, struct hv_span s hv_unused,
		       const uint8_t hash[HV_STREAM_HASH_LEN] hv_unused)
{
	return false;
}

uint64_t hv_stream_random(void)
{
	return 0;
}
