/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The block cipher QARMA-64, which CPUs use to sign addresses (pauth.c). Source: R. Avanzi, "The
 * QARMA Block Cipher Family" (eprint.iacr.org/2016/444); names follow the paper. The reflection's
 * key is k0, as for encryption.
 *
 * A state is a four by four matrix of four-bit cells; the first cell is the highest. */
#include "arch/arm64/arm64.h"

#define NR_CELLS   16u
#define ROUNDS_MAX 7u

static const uint8_t tau[NR_CELLS] = {0, 11, 6, 13, 10, 1, 12, 7, 5, 14, 3, 8, 15, 4, 9, 2};
static const uint8_t h[NR_CELLS] = {6, 5, 14, 15, 0, 1, 2, 3, 7, 12, 13, 4, 8, 9, 10, 11};

#define ALPHA 0xc0ac29b7c97c50ddull
static const uint64_t round_constants[ROUNDS_MAX] = {
	0,
	0x13198a2e03707344,
	0xa4093822299f31d0,
	0x082efa98ec4e6c89,
	0x452821e638d01377,
	0xbe5466cf34e90c6c,
	0x3f84d5b5b5470917,
};

static unsigned cell_at(uint64_t state, unsigned i)
{
	return state >> (60 - 4 * i) & 15;
}

static uint64_t as_cell(unsigned cell, unsigned i)
{
	return (uint64_t)cell << (60 - 4 * i);
}

static uint64_t shuffle(uint64_t state, const uint8_t from[NR_CELLS])
{
	uint64_t ret = 0;

	for (unsigned i = 0; i < NR_CELLS; i++)
		ret |= as_cell(cell_at(state, from[i]), i);
	return ret;
}

static uint64_t shuffle_back(uint64_t state, const uint8_t from[NR_CELLS])
{
	uint64_t ret = 0;

	for (unsigned i = 0; i < NR_CELLS; i++)
		ret |= as_cell(cell_at(state, i), from[i]);
	return ret;
}

static uint64_t substitute(uint64_t state, const uint8_t box[NR_CELLS])
{
	uint64_t ret = 0;

	for (unsigned i = 0; i < NR_CELLS; i++)
		ret |= as_cell(box[cell_at(state, i)], i);
	return ret;
}

static unsigned rotate_cell(unsigned cell, unsigned by)
{
	return (cell << by | cell >> (4 - by)) & 15;
}

/* Multiplies by the matrix M, whose rows are (0, rho, rho^2, rho) rotated. M is its own inverse. */
static uint64_t multiply(uint64_t state)
{
	uint64_t ret = 0;

	for (unsigned i = 0; i < NR_CELLS; i++) {
		unsigned row = i / 4, column = i % 4, sum = 0;

		for (unsigned n = 1; n < 4; n++)
			sum ^= rotate_cell(cell_at(state, (row + n) % 4 * 4 + column),
					   n == 2 ? 2 : 1);
		ret |= as_cell(sum, i);
	}
	return ret;
}

/* Returns whether the feedback shift register updates cell I of a tweak. */
static bool is_stepped(unsigned i)
{
	return i == 0 || i == 1 || i == 3 || i == 4 || i == 8 || i == 11 || i == 13;
}

static uint64_t next_tweak(uint64_t tweak)
{
	uint64_t ret = 0;

	tweak = shuffle(tweak, h);
	for (unsigned i = 0; i < NR_CELLS; i++) {
		unsigned cell = cell_at(tweak, i);

		if (is_stepped(i))
			cell = cell >> 1 | ((cell ^ cell >> 1) & 1) << 3;
		ret |= as_cell(cell, i);
	}
	return ret;
}

static uint64_t last_tweak(uint64_t tweak)
{
	uint64_t ret = 0;

	for (unsigned i = 0; i < NR_CELLS; i++) {
		unsigned cell = cell_at(tweak, i);

		if (is_stepped(i))
			cell = (cell << 1 & 14) | ((cell ^ cell >> 3) & 1);
		ret |= as_cell(cell, i);
	}
	return shuffle_back(ret, h);
}

uint64_t arm64_qarma(const struct arm64_qarma *q, uint64_t text, uint64_t tweak, uint64_t w0,
		     uint64_t k0)
{
	uint64_t w1 = (w0 >> 1 | w0 << 63) ^ w0 >> 63, state = text ^ w0;
	uint8_t back[NR_CELLS];

	for (unsigned i = 0; i < NR_CELLS; i++)
		back[q->box[i]] = (uint8_t)i;
	for (unsigned i = 0; i < q->rounds; i++) {
		state ^= k0 ^ tweak ^ round_constants[i];
		if (i)
			state = multiply(shuffle(state, tau));
		state = substitute(state, q->box);
		tweak = next_tweak(tweak);
	}
	state = multiply(shuffle(state ^ w1 ^ tweak, tau));
	state = shuffle(substitute(state, q->box), tau);
	state = shuffle_back(multiply(state) ^ k0, tau);
	state = multiply(substitute(state, back));
	state = shuffle_back(state, tau) ^ w0 ^ tweak;
	for (unsigned i = q->rounds; i-- > 0;) {
		state = substitute(state, back);
		if (i)
			state = shuffle_back(multiply(state), tau);
		tweak = last_tweak(tweak);
		state ^= k0 ^ tweak ^ round_constants[i] ^ ALPHA;
	}
	return state ^ w1;
}
