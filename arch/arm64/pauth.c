/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pointer authentication: signs addresses like a CPU with an instruction key. The algorithm is
 * QARMA-64, or the hash of QEMU. */
#include "arch/arm64/arm64.h"

/* -- QARMA-64 ---------------------------------------------------------------------------------- */

/* The block cipher QARMA-64, which CPUs use to sign addresses. Source: R. Avanzi, "The QARMA Block
 * Cipher Family" (eprint.iacr.org/2016/444); names follow the paper. The reflection's key is k0, as
 * for encryption.
 *
 * A state is a four by four matrix of four-bit cells; the first cell is the highest. */

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

/* -- signatures -------------------------------------------------------------------------------- */

/* Source: Arm Architecture Reference Manual, AddPAC() and ComputePAC(). CPUs differ, and their ID
 * registers are not visible from outside, so each combination has a number:
 *
 *   - the algorithm: QARMA with five or three rounds, as defined by Arm, or QEMU's own hash
 *     ("pauth-impdef"), which is xxHash's for four words;
 *   - whether the top byte is signed: not if the CPU ignores it in code addresses (TBI1 of TCR_EL1,
 *     without TBID1);
 *   - whether the signature replaces the bits, or is xored into them (FEAT_PAuth2). */

enum algorithm { QARMA5, QARMA3, QEMU_HASH, NR_ALGORITHMS };

#define IGNORES_TOP 1u /* bits of way / NR_ALGORITHMS */
#define COMBINES    2u
_Static_assert(ARM64_NR_SIGNINGS == NR_ALGORITHMS * 4, "each way has a number");

#define HALF_BIT 55 /* selects the kernel's half, and is not signed */

const struct arm64_qarma arm64_qarma5 = {
	.rounds = 5, .box = {11, 6, 8, 15, 12, 0, 9, 14, 3, 7, 4, 5, 13, 2, 1, 10}, /* sigma 2 */
};
const struct arm64_qarma arm64_qarma3 = {
	.rounds = 3, .box = {10, 13, 14, 6, 15, 7, 3, 5, 9, 8, 0, 12, 11, 1, 2, 4}, /* sigma 1 */
};

#define PRIME_1 0x9e3779b185ebca87ull
#define PRIME_2 0xc2b2ae3d27d4eb4full
#define PRIME_3 0x165667b19e3779f9ull
#define PRIME_4 0x85ebca77c2b2ae63ull
#define SEED	1

static uint64_t rotate(uint64_t word, unsigned by)
{
	return word << by | word >> (64 - by);
}

static uint64_t hash_round(uint64_t sum, uint64_t word)
{
	return rotate(sum + word * PRIME_2, 31) * PRIME_1;
}

static uint64_t hash(const uint64_t words[4])
{
	static const uint64_t seeds[4] = {SEED + PRIME_1 + PRIME_2, SEED + PRIME_2, SEED,
					  SEED - PRIME_1};
	static const unsigned rotations[4] = {1, 7, 12, 18};
	uint64_t lanes[4], sum = 0;

	for (unsigned i = 0; i < 4; i++) {
		lanes[i] = hash_round(seeds[i], words[i]);
		sum += rotate(lanes[i], rotations[i]);
	}
	for (unsigned i = 0; i < 4; i++)
		sum = (sum ^ hash_round(0, lanes[i])) * PRIME_1 + PRIME_4;
	sum = (sum ^ sum >> 33) * PRIME_2;
	sum = (sum ^ sum >> 29) * PRIME_3;
	return sum ^ sum >> 32;
}

static uint64_t compute(enum algorithm algorithm, uint64_t address, uint64_t modifier,
			const uint64_t key[2])
{
	const uint64_t words[4] = {address, modifier, key[0], key[1]};

	if (algorithm == QEMU_HASH)
		return hash(words);
	return arm64_qarma(algorithm == QARMA5 ? &arm64_qarma5 : &arm64_qarma3, address, modifier,
			   key[1], key[0]);
}

static uint64_t signed_bits(const struct arm64_format *f, unsigned way)
{
	uint64_t below_half = (1ull << HALF_BIT) - (1ull << f->va_bits);
	uint64_t above_half = ~0ull << (HALF_BIT + 1);

	return way / NR_ALGORITHMS & IGNORES_TOP ? below_half : below_half | above_half;
}

uint64_t arm64_sign(const struct arm64_format *f, unsigned way, uint64_t address, uint64_t modifier,
		    const uint64_t key[2])
{
	uint64_t bits = signed_bits(f, way);
	uint64_t code = compute(way % NR_ALGORITHMS, address, modifier, key);

	if (way / NR_ALGORITHMS & COMBINES)
		code ^= address;
	return (address & ~bits) | (code & bits);
}

unsigned arm64_signature_bits(const struct arm64_format *f, unsigned way)
{
	return (unsigned)__builtin_popcountll(signed_bits(f, way));
}
