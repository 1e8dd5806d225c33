/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lengths of x86-64 instructions, compared with capstone: all instructions of the programs and
 * libraries mapped into this process, and forms that may be missing there. */
#include <capstone/capstone.h>
#include <check.h>
#include <link.h>
#include <string.h>

#include "arch/x86_64/x86_64.h"
#include "tests/lib/run_suite.h"

#define BYTES_MAX (1u << 20) /* of each object; more takes long with sanitizers */

struct compared {
	csh capstone;
	cs_insn *insn;
	size_t nr, nr_unknown;
};

static void begin(struct compared *c)
{
	*c = (struct compared){0};
	ck_assert_int_eq(cs_open(CS_ARCH_X86, CS_MODE_64, &c->capstone), CS_ERR_OK);
	c->insn = cs_malloc(c->capstone);
	ck_assert_ptr_nonnull(c->insn);
}

static void end(struct compared *c)
{
	cs_free(c->insn, 1);
	cs_close(&c->capstone);
}

/* Every instruction is either unknown or has capstone's length. */
static void compare(struct compared *c, struct hv_span code)
{
	const uint8_t *at = code.data;
	size_t left = code.len_bytes;
	uint64_t address = 0;

	while (left) {
		struct hv_span rest = {at, left};
		uint8_t opcode;
		size_t len;

		if (!cs_disasm_iter(c->capstone, &at, &left, &address, c->insn)) {
			at++;
			left--;
			continue;
		}
		if (c->insn->id == X86_INS_UD2B) /* capstone does not know ud1's operands */
			continue;
		len = x86_64_insn_length(rest, &opcode);
		c->nr++;
		c->nr_unknown += !len;
		ck_assert_msg(!len || len == c->insn->size,
			      "%s %s (%02x %02x %02x %02x ..): %zu bytes and not %u",
			      c->insn->mnemonic, c->insn->op_str, rest.data[0], rest.data[1],
			      rest.data[2], rest.data[3], len, c->insn->size);
	}
}

static int compare_object(struct dl_phdr_info *info, size_t size hv_unused, void *ctx)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		size_t len = p->p_filesz < BYTES_MAX ? p->p_filesz : BYTES_MAX;

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && info->dlpi_name[0])
			compare(ctx, (struct hv_span){(const uint8_t *)info->dlpi_addr + p->p_vaddr,
						      len});
	}
	return 0;
}

START_TEST(lengths_in_c_libraries)
{
#ifdef __x86_64__
	struct compared c;

	begin(&c);
	dl_iterate_phdr(compare_object, &c);
	ck_assert_uint_gt(c.nr, 100000);
	ck_assert_uint_lt(c.nr_unknown, c.nr / 4); /* C libraries use much VEX and EVEX */
	end(&c);
#else
	(void)compare_object;
#endif
}
END_TEST

#define CODE(...)                                                                                  \
	(struct hv_span)                                                                           \
	{                                                                                          \
		(const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__})                   \
	}

START_TEST(lengths_in_kernels)
{
	const struct hv_span code[] = {
		CODE(0xfa),
		CODE(0xfb),
		CODE(0x9d),
		CODE(0x66, 0x9d),
		CODE(0xf4),
		CODE(0x65, 0xff, 0x0d, 1, 2, 3, 4),
		CODE(0x65, 0x81, 0x05, 1, 2, 3, 4, 5, 6, 7, 8),
		CODE(0x65, 0xff, 0x04, 0x25, 1, 2, 3, 4),
		CODE(0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8),
		CODE(0x66, 0xc7, 0x40, 0x10, 1, 2),
		CODE(0xf6, 0x40, 0x10, 1),
		CODE(0xf7, 0xd8),
		CODE(0x66, 0xf7, 0x40, 0x10, 1, 2),
		CODE(0x48, 0xf7, 0x84, 0x24, 1, 2, 3, 4, 5, 6, 7, 8),
		CODE(0xf3, 0x0f, 0x1e, 0xfa),
		CODE(0x0f, 0x01, 0xca),
		CODE(0x0f, 0x0b),
		CODE(0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0),
		CODE(0xc8, 1, 2, 3),
		CODE(0xf0, 0x48, 0x0f, 0xba, 0x2f, 1),
		CODE(0x0f, 0x38, 0xf0, 0x07),
		CODE(0x66, 0x0f, 0x3a, 0x0f, 0xc1, 8),
		CODE(0x48, 0xa1, 1, 2, 3, 4, 5, 6, 7, 8),
		CODE(0x0f, 0xae, 0xe8),
		CODE(0xf3, 0x48, 0x0f, 0xae, 0xd8),
		CODE(0x0f, 0x32),
		CODE(0x69, 0x04, 0xad, 1, 2, 3, 4, 5, 6, 7, 8),
		CODE(0x8b, 0x04, 0x65, 1, 2, 3, 4),
	};

	for (size_t i = 0; i < sizeof(code) / sizeof(code[0]); i++) {
		uint8_t opcode;
		struct compared c;

		begin(&c);
		compare(&c, code[i]);
		ck_assert_msg(c.nr == 1 && !c.nr_unknown, "number %zu", i);
		end(&c);
		ck_assert_uint_eq(
			x86_64_insn_length((struct hv_span){code[i].data, code[i].len_bytes - 1},
					   &opcode),
			0);
	}
}
END_TEST

/* As in kernel warnings, and after switch statements. */
START_TEST(traps_with_operands)
{
	const struct hv_span code[] = {
		CODE(0x67, 0x48, 0x0f, 0xb9, 0x3a),
		CODE(0x0f, 0xb9, 0xc1),
		CODE(0x67, 0x0f, 0xb9, 0x40, 2),
		CODE(0x0f, 0xb9, 0x04, 0x25, 1, 2, 3, 4),
	};
	uint8_t opcode;

	for (size_t i = 0; i < sizeof(code) / sizeof(code[0]); i++)
		ck_assert_uint_eq(x86_64_insn_length(code[i], &opcode), code[i].len_bytes);
}
END_TEST

START_TEST(not_known)
{
	const struct hv_span code[] = {
		CODE(0xc5, 0xf8, 0x77),
		CODE(0x62, 0xf1, 0x7c, 0x48, 0x10, 0x00),
		CODE(0x06),
		CODE(0x66, 0xe8, 1, 2, 3, 4),
		CODE(0x48, 0x66, 0x90),
		CODE(0x0f, 0xff, 0xc0),
		CODE(0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
		     0x66, 0x66, 0x66, 0x90),
	};
	uint8_t opcode;

	for (size_t i = 0; i < sizeof(code) / sizeof(code[0]); i++)
		ck_assert_uint_eq(x86_64_insn_length(code[i], &opcode), 0);
}
END_TEST

START_TEST(switches_of_interrupts)
{
	ck_assert(hv_arch_x86_64.may_switch_irqs(CODE(0x90, 0xfa)));
	ck_assert(hv_arch_x86_64.may_switch_irqs(CODE(0x66, 0x9d, 0xc3)));
	ck_assert(hv_arch_x86_64.may_switch_irqs(CODE(0x55, 0xfb, 0xf4)));
	/* Bytes inside other instructions do not count, as in endbr64. */
	ck_assert(!hv_arch_x86_64.may_switch_irqs(CODE(0xf3, 0x0f, 0x1e, 0xfa, 0xc3)));
	ck_assert(!hv_arch_x86_64.may_switch_irqs(CODE(0xb8, 0xfa, 0xfb, 0x9d, 0xfa, 0xc3)));
	/* Bytes after an unknown instruction, or in a truncated one, count. */
	ck_assert(hv_arch_x86_64.may_switch_irqs(CODE(0xc5, 0xf8, 0x77, 0xb0, 0xfa)));
	ck_assert(hv_arch_x86_64.may_switch_irqs(CODE(0xb8, 0xfa)));
	ck_assert(!hv_arch_x86_64.may_switch_irqs(CODE(0xc5, 0xf8, 0x77)));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, lengths_in_c_libraries);
	tcase_add_test(tc, lengths_in_kernels);
	tcase_add_test(tc, traps_with_operands);
	tcase_add_test(tc, not_known);
	tcase_add_test(tc, switches_of_interrupts);
	tcase_set_timeout(tc, 60);
}

int main(void)
{
	return run_suite("insn_length", add_tests);
}
