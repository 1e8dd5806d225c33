/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/print_fmt/siphash.h"

static uint64_t rotate(uint64_t x, unsigned nr)
{
	return x << nr | x >> (64 - nr);
}

static void half_round(uint64_t *a, uint64_t *b, unsigned nr)
{
	*a += *b;
	*b = rotate(*b, nr) ^ *a;
}

static void rounds(uint64_t v[4], unsigned nr)
{
	while (nr--) {
		half_round(&v[0], &v[1], 13);
		v[0] = rotate(v[0], 32);
		half_round(&v[2], &v[3], 16);
		half_round(&v[0], &v[3], 21);
		half_round(&v[2], &v[1], 17);
		v[2] = rotate(v[2], 32);
	}
}

static void absorb(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	rounds(v, 2);
	v[0] ^= word;
}

uint64_t hv_print_hash(uint64_t pointer, const uint64_t *key)
{
	/* "somepseudorandomlygeneratedbytes" */
	uint64_t v[4] = {
		key[0] ^ 0x736f6d6570736575,
		key[1] ^ 0x646f72616e646f6d,
		key[0] ^ 0x6c7967656e657261,
		key[1] ^ 0x7465646279746573,
	};

	absorb(v, pointer);
	absorb(v, (uint64_t)sizeof(pointer) << 56);
	v[2] ^= 0xff;
	rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
