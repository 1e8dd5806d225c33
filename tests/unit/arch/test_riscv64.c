/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The riscv64 table: registers, page-table entries, sites, returns. The register texts and entries
 * are from Debian's kernels under QEMU 7.2. */
#include <check.h>
#include <string.h>

#include "arch/riscv64/riscv64.h"
#include "tests/lib/run_suite.h"

static const struct hv_arch *const arch = &hv_arch_riscv64;

static const char vcpu[] =
	" V      =   0\n"
	" pc       ffffffff80dbde58\n"
	" mhartid  0000000000000000\n"
	" mstatus  0000000a000000a0\n"
	" vsstatus 0000000a00000000\n"
	" mepc     ffffffff80023c98\n"
	" sepc     ffffffff80dc29d0\n"
	" satp     90001000000832e8\n"
	" x0/zero  0000000000000000 x1/ra    ffffffff80dc29c0 x2/sp    ffffffff82003d50 x3/gp    "
	"ffffffff822d0010\n"
	" x4/tp    ffffffff82012b40 x5/t0    ffffffff80022bc0 x6/t1    000000000000003f x7/t2    "
	"ffffffffffffffff\n"
	" x8/s0    ffffffff82003d60 x9/s1    0000000000000000 x10/a0   0000000000000005 x11/a1   "
	"0000000000000000\n"
	" x12/a2   0000000000000100 x13/a3   ffffaf809ef12000 x14/a4   0000000000009904 x15/a5   "
	"0000000000000000\n"
	" x16/a6   ffffffff82012b40 x17/a7   0000000000000005 x18/s2   0000000000000001 x19/s3   "
	"ffffffff82391ec8\n"
	" x20/s4   0000000000000100 x21/s5   ffffffff822f5018 x22/s6   0000000000000000 x23/s7   "
	"ffffffff82011da0\n"
	" x24/s8   ffffffff810a9600 x25/s9   0000000000000000 x26/s10  0000000000000000 x27/s11  "
	"0000000000000000\n"
	" x28/t3   ffffaf801ffaf380 x29/t4   ffffffff82003c80 x30/t5   0000000000000001 x31/t6   "
	"000000000000001f\n"
	" f0/ft0   0000000000000000 f1/ft1   0000000000000000 f2/ft2   0000000000000000 f3/ft3   "
	"0000000000000000\n";

START_TEST(registers_of_a_linux_vcpu)
{
	struct hv_vcpu_regs regs;

	ck_assert(arch->parse_registers(vcpu, &regs));
	ck_assert_uint_eq(regs.ip.v, 0xffffffff80dbde58);
	ck_assert_uint_eq(regs.sp.v, 0xffffffff82003d50);
	ck_assert_uint_eq(regs.root, 0x90001000000832e8);
	ck_assert_uint_eq(regs.levels, 4);
	ck_assert_uint_eq(regs.general[1], 0xffffffff80dc29c0);
	ck_assert_uint_eq(regs.general[10], 5);
	ck_assert_uint_eq(regs.general[31], 0x1f);
}
END_TEST

static unsigned levels_with(const char *satp)
{
	char text[sizeof(vcpu)];
	struct hv_vcpu_regs regs;

	memcpy(text, vcpu, sizeof(vcpu));
	memcpy(strstr(text, "90001000000832e8"), satp, 16);
	ck_assert(arch->parse_registers(text, &regs));
	return regs.levels;
}

START_TEST(levels_of_satp)
{
	ck_assert_uint_eq(levels_with("80001000000832e8"), 3);
	ck_assert_uint_eq(levels_with("90001000000832e8"), 4);
	ck_assert_uint_eq(levels_with("a0001000000832e8"), 5);
	ck_assert_uint_eq(levels_with("b0001000000832e8"), 0);
	ck_assert_uint_eq(levels_with("0000000000000000"), 0); /* no translation */
}
END_TEST

/* In a nested guest, satp is the nested guest's. */
START_TEST(registers_of_a_nested_guest)
{
	char text[sizeof(vcpu)];
	struct hv_vcpu_regs regs;

	memcpy(text, vcpu, sizeof(vcpu));
	text[strlen(" V      =   ")] = '1';
	ck_assert(arch->parse_registers(text, &regs));
	ck_assert_uint_eq(regs.levels, 0);
	ck_assert_uint_eq(regs.root, 0);
}
END_TEST

START_TEST(registers_refused)
{
	char text[sizeof(vcpu)];
	struct hv_vcpu_regs regs;

	ck_assert(!arch->parse_registers("", &regs));
	ck_assert(!arch->parse_registers(" PC=ffffa5b1383dabc8 X00=00000000000187cc", &regs));
	memcpy(text, vcpu, sizeof(vcpu));
	memcpy(strstr(text, "x17/a7"), "y17/a7", 6);
	ck_assert(!arch->parse_registers(text, &regs));
	memcpy(text, vcpu, sizeof(vcpu));
	memcpy(strstr(text, " satp "), " sbtp ", 6);
	ck_assert(!arch->parse_registers(text, &regs));
}
END_TEST

START_TEST(gdb_registers)
{
	uint8_t g[33 * 8] = {0};
	struct hv_vcpu_regs regs;

	g[1 * 8] = 0xa;
	g[2 * 8] = 0x5;
	g[31 * 8] = 0x1f;
	g[32 * 8] = 0x10;
	ck_assert(arch->decode_gdb_registers((struct hv_span){g, sizeof(g)}, &regs));
	ck_assert_uint_eq(regs.general[1], 0xa);
	ck_assert_uint_eq(regs.general[31], 0x1f);
	ck_assert_uint_eq(regs.sp.v, 0x5);
	ck_assert_uint_eq(regs.ip.v, 0x10);
	ck_assert(!arch->decode_gdb_registers((struct hv_span){g, sizeof(g) - 1}, &regs));
}
END_TEST

START_TEST(roots)
{
	struct hv_vcpu_regs regs = {.root = 0x90001000000832e8, .levels = 4};
	struct hv_gpa to[2];

	ck_assert_uint_eq(arch->roots(&regs, to), 1);
	ck_assert_uint_eq(to[0].v, 0x832e8000); /* without the ASID */
	ck_assert_uint_eq(hv_arch_levels(arch, &regs), 4);
	regs.root = 0;
	ck_assert_uint_eq(arch->roots(&regs, to), 0);
}
END_TEST

/* Sv39, Sv48, Sv57 */
START_TEST(spans)
{
	struct hv_gva last = {UINT64_MAX};

	ck_assert_uint_eq(arch->kernel_start(3).v, 0xffffffc000000000);
	ck_assert_uint_eq(arch->kernel_start(4).v, 0xffff800000000000);
	ck_assert_uint_eq(arch->kernel_start(5).v, 0xff00000000000000);
	ck_assert_uint_eq(arch->entry_span(1), 4096);
	ck_assert_uint_eq(arch->entry_span(2), 2u << 20);
	ck_assert_uint_eq(arch->entry_span(5), 1ull << 48);
	for (unsigned level = 1; level <= 5; level++)
		ck_assert_uint_eq(arch->entry_at(hv_gpa(0x1000), level, last).v, 0x1000 + 511 * 8);
	ck_assert_uint_eq(arch->entry_at(hv_gpa(0x1000), 4, arch->kernel_start(4)).v,
			  0x1000 + 256 * 8);
}
END_TEST

START_TEST(entries)
{
	struct hv_pt_entry e = arch->decode_entry(2, 0x200800eb); /* text: 2 MiB at 0x80200000 */

	ck_assert(e.present && e.leaf && e.executable && !e.writable);
	ck_assert_uint_eq(e.to.v, 0x80200000);
	e = arch->decode_entry(1, 0x208004e7); /* data */
	ck_assert(e.present && e.leaf && !e.executable && e.writable);
	ck_assert_uint_eq(e.to.v, 0x82001000);
	e = arch->decode_entry(3, 0x27ffec01); /* a table */
	ck_assert(e.present && !e.leaf && e.executable && e.writable);
	ck_assert_uint_eq(e.to.v, 0x9fffb000);
	ck_assert(!arch->decode_entry(2, 0x27ffec01).leaf);
	e = arch->decode_entry(3, 0x300000e7); /* 1 GiB */
	ck_assert(e.present && e.leaf);
	ck_assert_uint_eq(e.to.v, 0xc0000000);
	ck_assert(!arch->decode_entry(1, 0x208004e6).present);
	ck_assert(!arch->decode_entry(1, 0).present);
	ck_assert(!arch->decode_entry(2, 0x200800fb).executable); /* user-mode page */
	/* uncached memory (Svpbmt) has an ordinary address; 64 KiB pages (Svnapot) are not
	 * supported */
	ck_assert_uint_eq(arch->decode_entry(2, 0x200800eb | 2ull << 61).to.v, 0x80200000);
	ck_assert(!arch->decode_entry(1, 0x208020e7 | 1ull << 63).present);
}
END_TEST

START_TEST(leaves_are_read_back)
{
	uint64_t neighbour = 0x2008032b | 1ull << 61, to = 0x400200000;
	uint64_t entry = arch->make_leaf(2, neighbour, hv_gpa(to), HV_ACCESS_READ_EXECUTE);
	struct hv_pt_entry x = arch->decode_entry(2, entry), w, r;

	w = arch->decode_entry(2, arch->make_leaf(2, neighbour, hv_gpa(to), HV_ACCESS_READ_WRITE));
	r = arch->decode_entry(2, arch->make_leaf(2, neighbour, hv_gpa(to), HV_ACCESS_READ));
	ck_assert(x.present && x.leaf && x.executable && !x.writable);
	ck_assert(w.present && w.leaf && !w.executable && w.writable);
	ck_assert(r.present && r.leaf && !r.executable && !r.writable);
	ck_assert_uint_eq(x.to.v, to);
	ck_assert_uint_eq(w.to.v, to);
	ck_assert_uint_eq(entry & 0xff, 0xeb);	 /* D A G X R V */
	ck_assert_uint_eq(entry >> 61, 1);	 /* the neighbour's memory type */
	ck_assert_uint_eq(entry & 3ull << 8, 0); /* without the kernel's software bits */
}
END_TEST

static enum hv_site_kind classify(uint32_t first, uint32_t second, uint64_t at, struct hv_gva *ret)
{
	uint32_t pair[] = {first, second};

	*ret = hv_gva(0);
	return arch->classify_site((const uint8_t *)pair, hv_gva(at), ret);
}

/* Instructions as GNU as 2.40 assembles the text in the comments. */
START_TEST(sites)
{
	struct hv_gva to;

	ck_assert_int_eq(classify(0x13, 0x13, 0x1000, &to), HV_SITE_NOP);
	ck_assert_int_eq(classify(0x00010001, 0x00010001, 0x1000, &to), HV_SITE_NOP);
	/* vfs_read of Debian's 7.2 after boot: auipc t0,0xffba0; nop */
	ck_assert_int_eq(classify(0xffba0297, 0x13, 0x1000, &to), HV_SITE_NOP);
	/* auipc t0,0x1; jalr t0,-8(t0) */
	ck_assert_int_eq(classify(0x00001297, 0xff8282e7, 0x10000, &to), HV_SITE_CALL);
	ck_assert_uint_eq(to.v, 0x10ff8);
	/* auipc t0,0xfffff; jr 16(t0) */
	ck_assert_int_eq(classify(0xfffff297, 0x01028067, 0x10000, &to), HV_SITE_JUMP);
	ck_assert_uint_eq(to.v, 0xf010);
	/* auipc ra,0x1; jalr ra,0(ra) */
	ck_assert_int_eq(classify(0x00001097, 0x000080e7, 0x1000, &to), HV_SITE_OTHER);
	ck_assert_int_eq(classify(0x00001297, 0x000080e7, 0x1000, &to), HV_SITE_OTHER);
	ck_assert_int_eq(classify(0x13, 0x000282e7, 0x1000, &to), HV_SITE_OTHER);
	ck_assert_int_eq(classify(0x00100073, 0x13, 0x1000, &to), HV_SITE_BREAKPOINT);
	ck_assert_int_eq(classify(0x00019002, 0x13, 0x1000, &to), HV_SITE_BREAKPOINT);
	ck_assert_int_eq(classify(0x00001297, 0x00100073, 0x1000, &to), HV_SITE_BREAKPOINT);
}
END_TEST

START_TEST(calls_are_read_back)
{
	static const int64_t far[] = {2,      -2,	  0x7fe,      0x800,	     -0x800,
				      -0x802, 0x12345678, 0x7ffff7fe, -0x80000000ll, -0x80000800ll};
	uint8_t site[HV_SITE_LEN_MAX];
	struct hv_gva at = {0xffffffff80202000}, to;

	for (size_t i = 0; i < HV_ARRAY_LEN(far); i++) {
		struct hv_gva target = {at.v + (uint64_t)far[i]};

		ck_assert(arch->encode_call(at, target, site));
		ck_assert_int_eq(arch->classify_site(site, at, &to), HV_SITE_CALL);
		ck_assert_uint_eq(to.v, target.v);
		ck_assert(arch->encode_jump(at, target, site));
		ck_assert_int_eq(arch->classify_site(site, at, &to), HV_SITE_JUMP);
		ck_assert_uint_eq(to.v, target.v);
	}
	ck_assert(!arch->encode_call(at, hv_gva(at.v + 0x7ffff800), site));
	ck_assert(!arch->encode_call(at, hv_gva(at.v - 0x80000802), site));
	ck_assert(!arch->encode_call(at, hv_gva(at.v + 1), site));
	ck_assert(!arch->encode_call(at, hv_gva(0x20000000), site));
}
END_TEST

/* `j .+2048`, `j .-4` as GNU as assembles them */
START_TEST(jump_sites)
{
	uint8_t code[HV_SITE_LEN_MAX] = {0x13};
	struct hv_gva at = {0x10000};
	uint32_t insn;
	bool jumps = true;

	ck_assert_uint_eq(arch->classify_jump_site(code, at, hv_gva(0x10800), &jumps), 4);
	ck_assert(!jumps);
	ck_assert(arch->encode_jump_site(at, hv_gva(0x10800), 4, code));
	memcpy(&insn, code, sizeof(insn));
	ck_assert_uint_eq(insn, 0x0010006f);
	ck_assert_uint_eq(arch->classify_jump_site(code, at, hv_gva(0x10800), &jumps), 4);
	ck_assert(jumps);
	ck_assert_uint_eq(arch->classify_jump_site(code, at, at, &jumps), 0);
	ck_assert(arch->encode_jump_site(at, hv_gva(at.v - 4), 4, code));
	memcpy(&insn, code, sizeof(insn));
	ck_assert_uint_eq(insn, 0xffdff06f);
	ck_assert(!arch->encode_jump_site(at, hv_gva(at.v - 4), 8, code));
	ck_assert(!arch->encode_jump_site(at, hv_gva(at.v + (1 << 20)), 4, code));
	ck_assert(!arch->encode_jump_site(at, hv_gva(at.v + 3), 4, code));
}
END_TEST

static bool returns(uint32_t first, uint32_t second)
{
	uint32_t code[] = {first, second};
	struct hv_gva thunk = {1};
	bool is = arch->classify_return((struct hv_span){(uint8_t *)code, sizeof(code)},
					hv_gva(0x1000), &thunk);

	ck_assert(!is || !thunk.v);
	return is;
}

START_TEST(classify_return)
{
	struct hv_gva thunk;

	ck_assert(returns(0x00018082, 0)); /* compressed */
	ck_assert(returns(0x00008067, 0));
	ck_assert(returns(0x00000017, 0x00018082)); /* lpad 0; ret */
	ck_assert(!returns(0x13, 0x00018082));
	ck_assert(!returns(0x00028067, 0)); /* jr t0 */
	ck_assert(!arch->classify_return((struct hv_span){(const uint8_t *)"", 0}, hv_gva(0),
					 &thunk));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, registers_of_a_linux_vcpu);
	tcase_add_test(tc, levels_of_satp);
	tcase_add_test(tc, registers_of_a_nested_guest);
	tcase_add_test(tc, registers_refused);
	tcase_add_test(tc, gdb_registers);
	tcase_add_test(tc, roots);
	tcase_add_test(tc, spans);
	tcase_add_test(tc, entries);
	tcase_add_test(tc, leaves_are_read_back);
	tcase_add_test(tc, sites);
	tcase_add_test(tc, calls_are_read_back);
	tcase_add_test(tc, jump_sites);
	tcase_add_test(tc, classify_return);
}

int main(void)
{
	return run_suite("riscv64", add_tests);
}
