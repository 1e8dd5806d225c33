/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The key that the sender and the collector of a stream share, and the keyed hash by which frames
 * prove that their sender has it: BLAKE2b of libsodium. Leaves to others: what is hashed
 * (frame.h). */
#pragma once

#include "base/bytes.h"
#include "base/err.h"

#define HV_STREAM_HASH_LEN     16
#define HV_STREAM_KEY_FILE_MIN 16 /* bytes */
#define HV_STREAM_KEY_FILE_MAX 4096
#define HV_STREAM_KEY_PATH     "/etc/hvtrace/stream.key" /* if the user names no other */

struct hv_stream_key {
	uint8_t bytes[32];
};

/* Reads the key file PATH, of any bytes. An error names PATH: its length is not that of a key, it
 * can be read by everybody, hvtrace was built without libsodium. */
struct hv_err *hv_stream_key_read(const char *path, struct hv_stream_key *ret) hv_must_use;
/* Writes the hash of S. */
void hv_stream_hash(const struct hv_stream_key *key, struct hv_span s,
		    uint8_t ret[HV_STREAM_HASH_LEN]);
/* Whether HASH is that of S. Takes the same time wherever they differ. */
bool hv_stream_hash_is(const struct hv_stream_key *key, struct hv_span s,
		       const uint8_t hash[HV_STREAM_HASH_LEN]);
/* A number that nobody can guess. */
uint64_t hv_stream_random(void);
