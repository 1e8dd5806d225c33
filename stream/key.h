/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The key shared by sender and collector, and the keyed hash that authenticates frames: BLAKE2b
 * from libsodium. frame.h defines which bytes are hashed. */
#pragma once

#include "base/bytes.h"
#include "base/err.h"

#define HV_STREAM_HASH_LEN     16
#define HV_STREAM_KEY_FILE_MIN 16 /* bytes */
#define HV_STREAM_KEY_FILE_MAX 4096
#define HV_STREAM_KEY_PATH     "/etc/hvtrace/stream.key" /* default */

struct hv_stream_key {
	uint8_t bytes[32];
};

/* Derives a key from the file PATH, which can contain arbitrary bytes. Fails if the file has the
 * wrong length or is accessible to other users, or if hvtrace was built without libsodium. */
struct hv_err *hv_stream_key_read(const char *path, struct hv_stream_key *ret) hv_must_use;
void hv_stream_hash(const struct hv_stream_key *key, struct hv_span s,
		    uint8_t ret[HV_STREAM_HASH_LEN]);
/* Returns whether HASH is the hash of S, in constant time. */
bool hv_stream_hash_is(const struct hv_stream_key *key, struct hv_span s,
		       const uint8_t hash[HV_STREAM_HASH_LEN]);
/* Returns a cryptographically secure random number. */
uint64_t hv_stream_random(void);
