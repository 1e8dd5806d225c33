/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests the jump that replaces an instruction: a decoder that starts at the function finds the next
 * instruction where it was. tests/kvm runs the detours. */
#include <check.h>
#include <string.h>

#include "arch/arch.h"
#include "tests/lib/run_suite.h"

#define AT     UINT64_C(0xffffffff81000100)
#define TARGET UINT64_C(0xffffffff80412340)

static const struct hv_arch *const arch = &hv_arch_x86_64;

static bool note_last(void *ctx, const struct hv_insn *insn)
{
	*(struct hv_insn *)ctx = *insn;
	return true;
}

START_TEST(next_instruction_starts_after_the_patch)
{
	const size_t lengths[] = {5, 6, 7, 8, 9, 10, 11, 12};
	size_t len = lengths[_i];
	uint8_t code[16], patch[HV_DETOUR_PATCH_MAX];
	struct hv_insn last = {0};
	struct hv_gva target;

	for (unsigned byte = 0; byte < 256; byte++) {
		size_t patch_len = arch->encode_detour_jump(len, hv_gva(AT), hv_gva(TARGET), patch);

		ck_assert_uint_ne(patch_len, 0);
		ck_assert_uint_le(patch_len, len);
		memset(code, (int)byte, len); /* the remaining bytes may have any value */
		memcpy(code, patch, patch_len);
		code[len] = 0xc3;
		ck_assert_int_eq(arch->classify_site(code, hv_gva(AT), &target), HV_SITE_JUMP);
		ck_assert_uint_eq(target.v, TARGET);
		ck_assert_uint_eq(arch->walk_code((struct hv_span){code, len + 1}, hv_gva(AT),
						  note_last, &last),
				  len + 1);
		ck_assert_uint_eq(last.at.v, AT + len);
		ck_assert_uint_eq(last.len_bytes, 1);
	}
}
END_TEST

/* Returns true for instructions that the kernel does not replace by a jump when it optimizes a
 * kprobe (can_boost): hlt, jmp, prefetch. */
static bool stays_breakpoint(const uint8_t *insn)
{
	return insn[0] == 0xf4 || insn[0] == 0xeb || (insn[0] == 0x0f && insn[1] == 0x18);
}

struct walk {
	const uint8_t *code;
	size_t len; /* of the replaced instruction */
	unsigned nr;
};

static bool look_behind(void *ctx, const struct hv_insn *insn)
{
	struct walk *w = ctx;
	size_t off = insn->at.v - AT;

	w->nr++;
	if (off && off < w->len && !stays_breakpoint(w->code + off))
		ck_assert_uint_ge(insn->len_bytes, 5);
	return true;
}

/* The guest must not optimize a kprobe inside the replaced bytes into a jump, which would overwrite
 * the following instructions. */
START_TEST(bytes_after_the_jump_form_no_other_jump)
{
	const size_t lengths[] = {6, 7, 8, 9, 10, 11, 12};
	uint8_t code[16] = {0};
	struct walk w = {.code = code, .len = lengths[_i]};

	ck_assert_uint_ne(arch->encode_detour_jump(w.len, hv_gva(AT), hv_gva(TARGET), code), 0);
	arch->walk_code((struct hv_span){code, w.len}, hv_gva(AT), look_behind, &w);
	ck_assert_uint_ge(w.nr, 2);
}
END_TEST

START_TEST(unusable_lengths_and_distances_are_refused)
{
	uint8_t patch[HV_DETOUR_PATCH_MAX];

	for (size_t len = 0; len < 5; len++)
		ck_assert_uint_eq(arch->encode_detour_jump(len, hv_gva(AT), hv_gva(TARGET), patch),
				  0);
	ck_assert_uint_eq(arch->encode_detour_jump(13, hv_gva(AT), hv_gva(TARGET), patch), 0);
	ck_assert_uint_eq(
		arch->encode_detour_jump(7, hv_gva(AT), hv_gva(AT + (UINT64_C(1) << 32)), patch),
		0);
}
END_TEST

START_TEST(a_detour_out_of_reach_is_refused)
{
	static const uint8_t insn[] = {0x65, 0xff, 0x05, 0, 0, 0, 0};
	struct hv_detour d = {
		.kind = HV_DETOUR_BEGINS,
		.at = hv_gva(TARGET),
		.next = hv_gva(AT + 7),
		.trampoline = hv_gva(TARGET - 0x1000),
		.insn = insn,
		.count = {.len_bytes = 7, .amount = 1},
		.percpu = 0x1fb88,
	};
	uint8_t code[HV_DETOUR_LEN];

	ck_assert(arch->make_detour(&d, code));
	d.percpu = UINT64_C(0xffffffff83a10004); /* since 6.15 */
	ck_assert(arch->make_detour(&d, code));
	d.percpu = UINT64_C(0x80000000);
	ck_assert(!arch->make_detour(&d, code));
	d.percpu = 0x1fb88;
	d.next = hv_gva(AT + (UINT64_C(1) << 32));
	ck_assert(!arch->make_detour(&d, code));
	d.next = hv_gva(AT);
	d.trampoline = hv_gva(TARGET - (UINT64_C(1) << 33));
	ck_assert(!arch->make_detour(&d, code));
}
END_TEST

/* pushq %rax; clc; popq %rax; cmc; call */
static const uint8_t five[] = {0x50, 0xf8, 0x58, 0xf5, 0xe8, 0x00, 0x01, 0x00, 0x00};

static struct hv_detour detour_of_five(unsigned probes)
{
	struct hv_detour d = {
		.kind = HV_DETOUR_PROBE_SITE,
		.at = hv_gva(TARGET),
		.probe_site = hv_gva(AT),
		.next = hv_gva(AT + sizeof(five)),
		.trampoline = hv_gva(TARGET - 0x1000),
		.insn = five,
		.len_bytes = sizeof(five),
	};

	for (unsigned i = 0; i < 5; i++)
		if (probes >> i & 1)
			d.probes[d.nr_probes++] = (struct hv_detour_probe){i, 17 * i};
	return d;
}

/* Any of five instructions may have probes. A detour has as many blocks as it needs, and is
 * recognized as a detour of these instructions with any probes and action groups. */
START_TEST(a_detour_of_several_probes)
{
	const unsigned nr_probes = (unsigned)__builtin_popcount((unsigned)_i);
	static const size_t nr_blocks[] = {1, 1, 1, 2, 2, 3};
	struct hv_detour d = detour_of_five((unsigned)_i), any = detour_of_five(0);
	uint8_t code[HV_DETOUR_LEN_MAX + 1], other[sizeof(five)];
	size_t len;

	memset(code, 0x11, sizeof(code));
	ck_assert_uint_eq(arch->make_detour(&d, code), nr_blocks[nr_probes]);
	len = nr_blocks[nr_probes] * HV_DETOUR_LEN;
	ck_assert_uint_eq(code[len], 0x11);
	ck_assert(arch->is_probe_detour(&any, code) == (nr_probes != 0));
	for (size_t i = 0; i < len; i += len - 1) {
		code[i] ^= 0x40;
		ck_assert(!arch->is_probe_detour(&any, code));
		code[i] ^= 0x40;
	}
	memcpy(other, five, sizeof(five));
	other[1] = 0xf9; /* stc */
	any.insn = other;
	ck_assert(!arch->is_probe_detour(&any, code));
}
END_TEST

START_TEST(a_probe_in_the_middle_of_an_instruction_is_refused)
{
	struct hv_detour d = detour_of_five(3);
	uint8_t code[HV_DETOUR_LEN_MAX];

	ck_assert(arch->make_detour(&d, code));
	d.probes[1].off = 5;
	ck_assert(!arch->make_detour(&d, code));
	d.probes[1].off = sizeof(five);
	ck_assert(!arch->make_detour(&d, code));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_loop_test(tc, a_detour_of_several_probes, 0, 32);
	tcase_add_test(tc, a_probe_in_the_middle_of_an_instruction_is_refused);
	tcase_add_loop_test(tc, next_instruction_starts_after_the_patch, 0, 8);
	tcase_add_loop_test(tc, bytes_after_the_jump_form_no_other_jump, 0, 7);
	tcase_add_test(tc, unusable_lengths_and_distances_are_refused);
	tcase_add_test(tc, a_detour_out_of_reach_is_refused);
}

int main(void)
{
	return run_suite("detour", add_tests);
}
