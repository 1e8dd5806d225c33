/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes words of a fake kernel's data. The input of the fuzzer is pairs of a 4-byte offset and an
 * 8-byte value. */
#pragma once

#include "tests/unit/kernel/fake_kernel.h"

/* Offsets count units of 4 bytes in the allocated data. */
static inline void change(struct fk *f, const uint8_t *data, size_t size)
{
	for (; size >= 12; data += 12, size -= 12) {
		uint64_t value;
		uint32_t off;

		memcpy(&off, data, 4);
		memcpy(&value, data + 4, 8);
		/* an address in the data reaches more code */
		if (value >> 32 == 0x5a5a5a5a)
			value = FK_DATA + (uint32_t)value % (f->brk - FK_DATA);
		fk_u64(f, FK_DATA + off % ((f->brk - FK_DATA) / 4) * 4, value);
	}
}

/* The original data, which is restored for each input. */
struct saved {
	uint8_t *data;
	size_t len_bytes;
};

static inline void save(struct fk *f, struct saved *ret)
{
	ret->len_bytes = f->brk - FK_DATA;
	ret->data = hv_alloc(ret->len_bytes);
	memcpy(ret->data, fk_host(f, FK_DATA), ret->len_bytes);
}

static inline void restore(struct fk *f, const struct saved *saved)
{
	memcpy(fk_host(f, FK_DATA), saved->data, saved->len_bytes);
}
