/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SHA-256 (FIPS 180-4), to recognise a file that was seen before. No mandatory dependency of
 * hvtrace provides it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HV_SHA256_BYTES 32

struct hv_sha256 {
	uint32_t state[8];
	uint64_t len_bytes; /* added so far */
	uint8_t block[64];
};

void hv_sha256_init(struct hv_sha256 *s);
void hv_sha256_add(struct hv_sha256 *s, const void *bytes, size_t len_bytes);
void hv_sha256_end(struct hv_sha256 *s, uint8_t ret[HV_SHA256_BYTES]);
