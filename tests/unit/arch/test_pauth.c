/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arm64 pointer signatures: the cipher, tested with the vectors of its paper, and the position of
 * the signature. */
#include <check.h>
#include <string.h>

#include "arch/arm64/arm64.h"
#include "tests/lib/run_suite.h"

#define ADDRESS 0xfffffffe8012345cull
#define RETP	0xffff800083a3bd50ull

static const uint64_t key[2] = {0xec2802d4e0a488e9, 0x84be85ce9804e94b};

/* eprint.iacr.org/2016/444, appendix: rounds 5, 6, 7. */
START_TEST(cipher_matches_the_paper)
{
	static const uint8_t sigma_0[16] = {0, 14, 2, 10, 9, 15, 8, 11, 6, 4, 3, 7, 13, 12, 1, 5};
	static const uint64_t wanted[3][3] = {
		{0x3ee99a6c82af0c38, 0x9f5c41ec525603c9, 0xbcaf6c89de930765},
		{0x544b0ab95bda7c3a, 0xa512dd1e4e3ec582, 0xedf67ff370a483f2},
		{0xc003b93999b33765, 0x270a787275c48d10, 0x5c06a7501b63b2fd},
	};

	for (unsigned sigma = 0; sigma < 3; sigma++)
		for (unsigned i = 0; i < 3; i++) {
			struct arm64_qarma q = sigma == 2 ? arm64_qarma5 : arm64_qarma3;

			if (!sigma)
				memcpy(q.box, sigma_0, sizeof(q.box));
			q.rounds = 5 + i;
			ck_assert_uint_eq(arm64_qarma(&q, 0xfb623599da6e8127, 0x477d469dec0b8762,
						      key[1], key[0]),
					  wanted[sigma][i]);
		}
	ck_assert_uint_eq(arm64_qarma5.rounds, 5);
	ck_assert_uint_eq(arm64_qarma3.rounds, 3);
}
END_TEST

START_TEST(signatures_use_unused_address_bits)
{
	for (unsigned i = 0; hv_arch_arm64.formats[i]; i++) {
		const struct hv_arch *f = hv_arch_arm64.formats[i];

		for (unsigned way = 0; way < f->nr_signings; way++) {
			uint64_t word = f->sign(way, ADDRESS, RETP, key);
			uint64_t top = way / 3 & 1 ? 0xff00000000000000 : 0;

			ck_assert_uint_eq(f->strip_signature(word), ADDRESS);
			ck_assert_uint_eq((word ^ ADDRESS) & (top | 1ull << 55), 0);
			ck_assert_uint_ne(word, f->sign(way, ADDRESS, RETP + 16, key));
		}
	}
	ck_assert_uint_eq(hv_arch_arm64.signature_bits(0), 15);
	ck_assert_uint_eq(hv_arch_arm64.signature_bits(3), 7);
	ck_assert_uint_eq(hv_arch_arm64.formats[0]->signature_bits(0), 11);
}
END_TEST

/* The ways of one algorithm differ only in how they put the signature into the address. */
START_TEST(signing_variants_match_the_manual)
{
	for (unsigned algorithm = 0; algorithm < 3; algorithm++) {
		uint64_t word = hv_arch_arm64.sign(algorithm, ADDRESS, RETP, key);
		uint64_t combined = hv_arch_arm64.sign(algorithm + 6, ADDRESS, RETP, key);

		ck_assert_uint_eq(word ^ combined, 0xff7f000000000000);
		ck_assert_uint_eq(hv_arch_arm64.sign(algorithm + 3, ADDRESS, RETP, key) ^ word,
				  ~word & 0xff00000000000000);
	}
}
END_TEST

static void add_tests(TCase *c)
{
	tcase_add_test(c, cipher_matches_the_paper);
	tcase_add_test(c, signatures_use_unused_address_bits);
	tcase_add_test(c, signing_variants_match_the_manual);
}

int main(void)
{
	return run_suite("pauth", add_tests);
}
