/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pointer authentication: signs addresses like a CPU with an instruction key (Arm Architecture
 * Reference Manual, AddPAC() and ComputePAC()). CPUs differ, and their ID registers are not visible
 * from outside, so each combination has a number:
 *
 *   - the algorithm: QARMA with five or three rounds, as defined by Arm, or QEMU's own hash
 *     ("pauth-impdef"), which is xxHash's for four words;
 *   - whether the top byte is signed: not if the CPU ignores it in code addresses (TBI1 of TCR_EL1,
 *     without TBID1);
 *   - whether the signature replaces the bits, or is xored into them (FEAT_PAuth2). */
#include "arch/arm64/arm64.h"

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
