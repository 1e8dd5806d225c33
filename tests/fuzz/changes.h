/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of a fake kernel's data that the input of a fuzzer changes: the input is pairs of a 4-byte
 * offset and an 8-byte value. */
#pragma once

#include "tests/unit/kernel/fake_kernel.h"

/* Offsets are numbers of words in the data that was allocated. */
static inline void change(struct fk *f, const uint8_t *data, size_t size)
{
	for (; size >= 12; data += 12, size -= 12) {
		uint64_t value;
		uint32_t off;

		memcpy(&off, data, 4);
		memcpy(&value, data + 4, 8);
		/* an address in the data is likelier to be of use */
		if (value >> 32 == 0x5a5a5a5a)
			value = FK_DATA + (uint32_t)value % (f->brk - FK_DATA);
		fk_u64(f, FK_DATA + off % ((f->brk - FK_DATA) / 4) * 4, value);
	}
}

/* Made once; each input starts from the same data. */
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
