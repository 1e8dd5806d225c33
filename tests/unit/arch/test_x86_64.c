/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The x86-64 table: registers, page-table entries, sites, returns. */
#include <check.h>
#include <string.h>

#include "arch/x86_64/x86_64.h"
#include "tests/lib/run_suite.h"

static const struct hv_arch *arch;

static void find_arch(void)
{
	arch = hv_arch_find("x86_64");
	ck_assert_ptr_nonnull(arch);
}

static const char linux_vcpu[] =
	"CPU#0\n"
	"RAX=0000000000000000 RBX=0000000000000000 RCX=ffffffffb4c0a4c0 RDX=000000000000f3d4\n"
	"RSI=0000000000000083 RDI=0000000000000000 RBP=0000000000000000 RSP=ffffffffb5e03e90\n"
	"R8 =0000000000000000 R9 =0000000000000000 R10=0000000000000000 R11=0000000000000000\n"
	"RIP=ffffffffb4c0a6bb RFL=00000246 [---Z-P-] CPL=0 II=0 A20=1 SMM=0 HLT=1\n"
	"TR =0040 fffffe4d3be5f000 00004087 00008b00 DPL=0 TSS64-busy\n"
	"GDT=     fffffe4d3be5d000 0000007f\n"
	"IDT=     fffffe0000000000 00000fff\n"
	"CR0=80050033 CR2=00000000004f2d58 CR3=0000000004e12000 CR4=00751ef0\n"
	"DR0=0000000000000000 DR1=0000000000000000 DR2=0000000000000000 DR3=0000000000000000\n"
	"EFER=0000000000000d01\n";

/* struct kvm_regs and kvm_sregs by their own offsets: rsp 48, rip 128; idt 208, cr0 224, cr3 240,
 * cr4 248, efer 264. */
START_TEST(kvm_registers)
{
	uint64_t regs[18] = {[0] = 0xa, [6] = 0x5000, [15] = 0xf, [16] = 0x1000};
	uint64_t sregs[39] = {[26] = 0xfffffe0000000000,
			      [28] = 0x80050033,
			      [30] = 0x2000,
			      [31] = 0x1000,
			      [33] = 0xd01};
	struct hv_span r = {(const uint8_t *)regs, sizeof(regs)};
	struct hv_span s = {(const uint8_t *)sregs, sizeof(sregs)};
	struct hv_vcpu_regs got;

	ck_assert(hv_arch_x86_64.decode_kvm_registers(r, s, &got));
	ck_assert_uint_eq(got.ip.v, 0x1000);
	ck_assert_uint_eq(got.sp.v, 0x5000);
	ck_assert_uint_eq(got.root, 0x2000);
	ck_assert_uint_eq(got.levels, 5);
	ck_assert_uint_eq(got.trap_table.v, 0xfffffe0000000000);
	ck_assert_uint_eq(got.general[0], 0xa);
	ck_assert_uint_eq(got.general[15], 0xf);
	ck_assert_uint_eq(got.general[16], 0);
	s.len_bytes = 100;
	ck_assert(!hv_arch_x86_64.decode_kvm_registers(r, s, &got));
}
END_TEST

START_TEST(registers_of_a_linux_vcpu)
{
	struct hv_vcpu_regs regs;

	ck_assert(arch->parse_registers(linux_vcpu, &regs));
	ck_assert_uint_eq(regs.ip.v, 0xffffffffb4c0a6bb);
	ck_assert_uint_eq(regs.sp.v, 0xffffffffb5e03e90);
	ck_assert_uint_eq(regs.root, 0x4e12000);
	ck_assert_uint_eq(regs.levels, 5);
	ck_assert_uint_eq(regs.trap_table.v, 0xfffffe0000000000);
	ck_assert_uint_eq(regs.general[4], 0x83);		/* RSI */
	ck_assert_uint_eq(regs.general[7], 0xffffffffb5e03e90); /* RSP */
}
END_TEST

START_TEST(registers_in_real_mode)
{
	struct hv_vcpu_regs regs;

	ck_assert(arch->parse_registers("EAX=00000000 EBX=0 ESP=00006ef0\n"
					"EIP=000f0a5f EFL=00000246\n"
					"IDT=     00000000 000003ff\n"
					"CR0=00000010 CR2=00000000 CR3=00000000 CR4=00000000\n"
					"EFER=0000000000000000\n",
					&regs));
	ck_assert_uint_eq(regs.levels, 0);
}
END_TEST

START_TEST(registers_refused)
{
	struct hv_vcpu_regs regs;

	ck_assert(!arch->parse_registers("", &regs));
	ck_assert(!arch->parse_registers("RIP=1 RSP=2 CR0=80050033 CR3=zz", &regs));
}
END_TEST

START_TEST(gdb_registers)
{
	uint8_t g[236] = {0};
	struct hv_vcpu_regs regs;
	uint64_t value;

	value = 0x1122;
	memcpy(g + 7 * 8, &value, 8); /* rsp */
	value = 0xffffffff81000000;
	memcpy(g + 128, &value, 8); /* rip */
	value = 0x80050033;
	memcpy(g + 188, &value, 8); /* cr0 */
	value = 0x4e12000;
	memcpy(g + 204, &value, 8); /* cr3 */
	value = 0x1000;
	memcpy(g + 212, &value, 8); /* cr4 */
	value = 0xd01;
	memcpy(g + 228, &value, 8); /* efer */
	ck_assert(arch->decode_gdb_registers((struct hv_span){g, sizeof(g)}, &regs));
	ck_assert_uint_eq(regs.ip.v, 0xffffffff81000000);
	ck_assert_uint_eq(regs.sp.v, 0x1122);
	ck_assert_uint_eq(regs.general[7], 0x1122);
	ck_assert_uint_eq(regs.root, 0x4e12000);
	ck_assert_uint_eq(regs.levels, 5);
	ck_assert_int_eq(regs.hidden, HV_HIDDEN_NO);
	ck_assert(!arch->decode_gdb_registers((struct hv_span){g, sizeof(g) - 1}, &regs));
}
END_TEST

/* On a CPU without NX, EFER.NXE is 0 in each format of registers. */
START_TEST(cpu_without_nx)
{
	char text[sizeof(linux_vcpu)];
	uint8_t g[236] = {0};
	uint64_t general[18] = {0}, special[39] = {[28] = 0x80050033, [33] = 0x501};
	struct hv_span r = {(const uint8_t *)general, sizeof(general)};
	struct hv_span s = {(const uint8_t *)special, sizeof(special)};
	struct hv_vcpu_regs regs;

	memcpy(text, linux_vcpu, sizeof(text));
	ck_assert(arch->parse_registers(text, &regs));
	ck_assert(!regs.executes_all);
	memcpy(strstr(text, "0d01"), "0501", 4);
	ck_assert(arch->parse_registers(text, &regs));
	ck_assert(regs.executes_all);
	ck_assert(arch->decode_kvm_registers(r, s, &regs));
	ck_assert(regs.executes_all);
	special[33] |= 1 << 11;
	ck_assert(arch->decode_kvm_registers(r, s, &regs));
	ck_assert(!regs.executes_all);
	g[229] = 5; /* efer */
	ck_assert(arch->decode_gdb_registers((struct hv_span){g, sizeof(g)}, &regs));
	ck_assert(regs.executes_all);
	g[229] |= 8;
	ck_assert(arch->decode_gdb_registers((struct hv_span){g, sizeof(g)}, &regs));
	ck_assert(!regs.executes_all);
}
END_TEST

START_TEST(system_management_mode)
{
	uint8_t g[236] = {0}, task_cs = 0x33;
	struct hv_vcpu_regs regs;
	char text[sizeof(linux_vcpu)];

	memcpy(text, linux_vcpu, sizeof(text));
	ck_assert(arch->parse_registers(text, &regs));
	ck_assert_int_eq(regs.hidden, HV_HIDDEN_NO);
	memcpy(strstr(text, "SMM=0"), "SMM=1", 5);
	ck_assert(arch->parse_registers(text, &regs));
	ck_assert_int_eq(regs.hidden, HV_HIDDEN_YES);
	/* The gdb stub does not report SMM, so a vCPU in the lower half that is not in a task may
	 * be hidden. */
	ck_assert(arch->decode_gdb_registers((struct hv_span){g, sizeof(g)}, &regs));
	ck_assert_int_eq(regs.hidden, HV_HIDDEN_MAYBE);
	memcpy(g + 140, &task_cs, 1); /* cs */
	ck_assert(arch->decode_gdb_registers((struct hv_span){g, sizeof(g)}, &regs));
	ck_assert_int_eq(regs.hidden, HV_HIDDEN_NO);
}
END_TEST

START_TEST(kernel_address_ranges)
{
	ck_assert_uint_eq(arch->kernel_start(4).v, 0xffff800000000000);
	ck_assert_uint_eq(arch->kernel_start(5).v, 0xff00000000000000);
	/* 32-bit offsets with bit 31 set reach the image and all modules. */
	ck_assert_uint_eq(arch->text_base.v + 0x80000000, arch->image_range.start.v);
	ck_assert_uint_eq(arch->text_base.v & UINT32_MAX, 0);
}
END_TEST

/* The kernel computes a struct page for any address in the image range. */
START_TEST(the_region_is_outside_the_image_range)
{
	ck_assert_uint_ge(arch->chosen_range.start.v, arch->image_range.end.v);
	ck_assert_uint_ge(arch->chosen_range.start.v, arch->free_range.start.v);
	ck_assert_uint_le(arch->chosen_range.end.v, arch->free_range.end.v);
}
END_TEST

START_TEST(roots_with_and_without_the_user_half)
{
	struct hv_vcpu_regs regs = {.root = 0x4e12000 | 7 /* pcid */};
	struct hv_gpa roots[2];

	ck_assert_uint_eq(arch->roots(&regs, roots), 1);
	ck_assert_uint_eq(roots[0].v, 0x4e12000);
	regs.root = 0x8000000004e13807;
	ck_assert_uint_eq(arch->roots(&regs, roots), 2);
	ck_assert_uint_eq(roots[0].v, 0x4e13000);
	ck_assert_uint_eq(roots[1].v, 0x4e12000);
}
END_TEST

START_TEST(entries)
{
	struct hv_pt_entry e = arch->decode_entry(2, 0x80000000126000e3);

	ck_assert(e.present && e.leaf && e.writable && !e.executable);
	ck_assert_uint_eq(e.to.v, 0x12600000);
	e = arch->decode_entry(2, 0x12600061);
	ck_assert(e.present && !e.leaf && !e.writable && e.executable);
	ck_assert_uint_eq(e.to.v, 0x12600000);
	ck_assert(arch->decode_entry(1, 0x12601101).leaf);
	ck_assert(!arch->decode_entry(4, 0x126000e3).leaf);
	ck_assert(!arch->decode_entry(1, 0).present);
	ck_assert_uint_eq(arch->entry_span(1), 4096);
	ck_assert_uint_eq(arch->entry_span(2), 2 << 20);
	ck_assert_uint_eq(arch->entry_at(hv_gpa(0x5000), 2, hv_gva(0xffffffff81200000)).v, 0x5048);
}
END_TEST

START_TEST(a_made_leaf_is_never_writable_and_executable)
{
	/* global, accessed, dirty, writable, software bits, PAT bit of a large page */
	uint64_t neighbour = 0x0f500000126013e3;
	uint64_t rx = arch->make_leaf(2, neighbour, hv_gpa(0xfc400000), HV_ACCESS_READ_EXECUTE);
	uint64_t rw = arch->make_leaf(2, neighbour, hv_gpa(0xfc600000), HV_ACCESS_READ_WRITE);
	uint64_t ro = arch->make_leaf(2, neighbour, hv_gpa(0xfc800000), HV_ACCESS_READ);

	ck_assert_uint_eq(rx, 0x00000000fc4011a1);
	ck_assert_uint_eq(rw, 0x80000000fc6011e3);
	ck_assert_uint_eq(ro, 0x80000000fc8011a1);
}
END_TEST

START_TEST(trap_target)
{
	uint8_t idt[4096] = {0};
	struct hv_gva target;
	struct hv_span table = {idt, sizeof(idt)};

	ck_assert(!arch->trap_target(table, &target));
	memcpy(idt + 14 * 16, "\x80\x0b\x10\x00\x00\x8e\xc0\xb4\xff\xff\xff\xff", 12);
	ck_assert(arch->trap_target(table, &target));
	ck_assert_uint_eq(target.v, 0xffffffffb4c00b80);
	table.len_bytes = 14 * 16;
	ck_assert(!arch->trap_target(table, &target));
}
END_TEST

static const struct {
	const char *bytes;
	enum hv_site_kind kind;
	uint64_t target;
} sites[] = {
	{"\x0f\x1f\x44\x00\x00", HV_SITE_NOP, 0},
	{"\x66\x66\x66\x66\x90", HV_SITE_NOP, 0},
	{"\x3e\x8d\x74\x26\x00", HV_SITE_NOP, 0},
	{"\xe8\x00\x00\x00\x00", HV_SITE_CALL, 0xffffffff81000005},
	{"\xe8\xfb\xff\xff\xff", HV_SITE_CALL, 0xffffffff81000000},
	{"\xe9\xfb\x0f\x00\x00", HV_SITE_JUMP, 0xffffffff81001000},
	{"\xcc\x1f\x44\x00\x00", HV_SITE_BREAKPOINT, 0},
	{"\x55\x48\x89\xe5\x41", HV_SITE_OTHER, 0},
	{"\x0f\x1f\x44\x00\x08", HV_SITE_OTHER, 0},
};

START_TEST(site_kinds)
{
	struct hv_gva target = {0};

	ck_assert_int_eq(arch->classify_site((const uint8_t *)sites[_i].bytes,
					     hv_gva(0xffffffff81000000), &target),
			 sites[_i].kind);
	ck_assert_uint_eq(target.v, sites[_i].target);
}
END_TEST

START_TEST(sites_across_two_pages)
{
	ck_assert(!hv_site_crosses_pages(arch, 0xffffffff81000ffb));
	ck_assert(hv_site_crosses_pages(arch, 0xffffffff81000ffc));
	ck_assert(hv_site_crosses_pages(arch, 0xffffffff81000fff));
	ck_assert(!hv_site_crosses_pages(arch, 0xffffffff81001000));
}
END_TEST

static bool one_word(void *ctx, uint32_t at, uint64_t *ret)
{
	*ret = 0xffffffff81234567;
	return at == *(uint32_t *)ctx;
}

/* The call stored its return address at sp. */
START_TEST(the_caller_of_a_functions_first_instruction)
{
	struct hv_unwind_frame frame = {.sp = 0x7000, .bp = 0x8000, .exact = true};
	uint32_t at = 0x7000;

	ck_assert_int_eq(arch->unwind(&arch->entry_rule, one_word, &at, &frame), HV_UNWOUND_CALLER);
	ck_assert_uint_eq(frame.ip.v, 0xffffffff81234567);
	ck_assert_uint_eq(frame.sp, 0x7008);
	ck_assert_uint_eq(frame.bp, 0x8000);
	ck_assert(!frame.exact && !frame.has_regs);
	ck_assert_int_eq(arch->unwind(&arch->entry_rule, one_word, &at, &frame), HV_UNWOUND_EARLY);
}
END_TEST

/* Effect of a function's first instructions on the unwind rule. Registers as in struct
 * hv_unwind_rule, after the last instruction that is understood. */
static const struct {
	const char *code;
	size_t len, nr;
	uint32_t off;
	const char *sp_reg;
	int sp_off;
	const char *bp_reg;
	int bp_off;
} starts[] = {
	{"", 0, 0, 0, "", 0, "", 0},
	/* endbr64; nop; push %r15; push %rbx; sub $0x28,%rsp; ret */
	{"\xf3\x0f\x1e\xfa\x0f\x1f\x44\x00\x00\x41\x57\x53\x48\x83\xec\x28\xc3", 17, 3, 16, "sp",
	 64, "", 0},
	/* push %rbp; mov %rsp,%rbp; push %rbx; sub $0x408,%rsp */
	{"\x55\x48\x89\xe5\x53\x48\x81\xec\x08\x04\x00\x00", 12, 2, 4, "bp", 16, "prev", -16},
	/* push %rbx; push %rbp: the frame pointer is not in its usual word */
	{"\x53\x55\x48\x89\xfd", 5, 2, 2, "sp", 24, "prev", -24},
	/* push %rbp; xor %ebp,%ebp: rbp no longer holds the frame pointer */
	{"\x55\x31\xed\x53\x90", 5, 1, 1, "sp", 16, "prev", -16},
	/* lea 0x8(%rsp),%r10; and $~0x3f,%rsp; push -0x8(%r10); push %rbp; mov %rsp,%rbp; push
	 * %r10; nop */
	{"\x4c\x8d\x54\x24\x08\x48\x83\xe4\xc0\x41\xff\x72\xf8\x55\x48\x89\xe5\x41\x52\x90", 20, 3,
	 19, "*bp", -8, "bp", 0},
	/* mov %rsp,(%rax); mov %rax,%rsp; and with two different registers */
	{"\x48\x89\x20\x48\x89\xc4", 6, 1, 6, "*sp", 8, "", 0},
	{"\x48\x89\x20\x48\x89\xcc", 6, 0, 0, "", 0, "", 0},
	/* push %rbx; pop %rbx; push %rbx: pop is not understood */
	{"\x53\x5b\x53\x90\x90", 5, 1, 1, "sp", 16, "", 0},
	/* truncated */
	{"\x53\x48\x83\xec", 4, 1, 1, "sp", 16, "", 0},
};

static unsigned number_of(const char *reg)
{
	static const char *const regs[HV_UNWIND_NR_REGS] = {"",	   "prev", "sp",  "bp",
							    "r10", "r13",  "*sp", "*bp"};
	unsigned number = 0;

	while (strcmp(regs[number], reg) != 0)
		number++;
	return number;
}

START_TEST(how_functions_start)
{
	struct hv_unwind_step steps[8];
	HV_AUTO_FREE uint8_t *exact = malloc(starts[_i].len); /* ASAN detects reads beyond it */
	struct hv_span code = {exact, starts[_i].len};
	size_t nr;

	memcpy(exact, starts[_i].code, starts[_i].len);
	nr = arch->follow_code(code, &arch->entry_rule, steps, HV_ARRAY_LEN(steps));
	ck_assert_uint_eq(nr, starts[_i].nr);
	if (!nr)
		return;
	ck_assert_uint_eq(steps[nr - 1].off, starts[_i].off);
	ck_assert_uint_eq(steps[nr - 1].rule.sp_reg, number_of(starts[_i].sp_reg));
	ck_assert_int_eq(steps[nr - 1].rule.sp_off, starts[_i].sp_off);
	ck_assert_uint_eq(steps[nr - 1].rule.bp_reg, number_of(starts[_i].bp_reg));
	ck_assert_int_eq(steps[nr - 1].rule.bp_off, starts[_i].bp_off);
	ck_assert_uint_eq(arch->follow_code(code, &arch->entry_rule, steps, 1), 1);
}
END_TEST

START_TEST(calls_within_reach)
{
	uint8_t site[5];

	ck_assert(arch->encode_call(hv_gva(0xffffffffc0000000), hv_gva(0xffffffff80401000), site));
	ck_assert_mem_eq(site, "\xe8\xfb\x0f\x40\xc0", 5);
	ck_assert(!arch->encode_call(hv_gva(0xffffffff80000000), hv_gva(0xfffffe0000000000), site));
	ck_assert(!arch->encode_call(hv_gva(0x1000), hv_gva(0x80001005), site));
	ck_assert(arch->encode_call(hv_gva(0x1000), hv_gva(0x80001004), site));
	ck_assert(arch->encode_jump(hv_gva(0xffffffffc0000000), hv_gva(0xffffffff80401000), site));
	ck_assert_mem_eq(site, "\xe9\xfb\x0f\x40\xc0", 5);
	ck_assert(!arch->encode_jump(hv_gva(0x1000), hv_gva(0x80001005), site));
}
END_TEST

static const struct {
	const char *code;
	size_t len;
	bool jumps;
} key_sites[] = {
	{"\x66\x90\xe9\x00\x00", 2, false}, {"\xeb\x3e\x00\x00\x00", 2, true},
	{"\xeb\x3d\x00\x00\x00", 0, false}, {"\xe9\x3b\x00\x00\x00", 5, true},
	{"\xe9\x3c\x00\x00\x00", 0, false}, {"\x0f\x1f\x44\x00\x00", 5, false},
	{"\x66\x66\x66\x66\x90", 5, false}, {"\xcc\x90\x00\x00\x00", 0, false},
	{"\xcc\x1f\x44\x00\x00", 0, false}, {"\x90\x90\x90\x90\x90", 0, false},
};

/* A static key's site at 0x1000 with the target 0x1040. */
START_TEST(a_nop_or_a_jump)
{
	bool jumps;
	size_t len = arch->classify_jump_site((const uint8_t *)key_sites[_i].code, hv_gva(0x1000),
					      hv_gva(0x1040), &jumps);
	uint8_t jump[5];

	ck_assert_uint_eq(len, key_sites[_i].len);
	if (!len)
		return;
	ck_assert(jumps == key_sites[_i].jumps);
	ck_assert(arch->encode_jump_site(hv_gva(0x1000), hv_gva(0x1040), len, jump));
	if (jumps)
		ck_assert_mem_eq(jump, key_sites[_i].code, len);
	ck_assert(!arch->encode_jump_site(hv_gva(0x1000), hv_gva(0x1082), 2, jump));
	ck_assert(!arch->encode_jump_site(hv_gva(0x1000), hv_gva(0x1040), 3, jump));
}
END_TEST

static const struct {
	const char *code;
	size_t len;
	bool understood;
	uint64_t thunk;
} returns[] = {
	{"\xc3\xcc\xcc\xcc\xcc", 5, true, 0},
	{"\xc3", 1, false, 0},
	{"\xf3\xc3\x90\x90\x90\x90", 6, true, 0},
	{"\xf3\x0f\x1e\xfa\xc3\xcc\xcc\xcc\xcc", 9, true, 0},
	{"\x66\x0f\x1f\x00\xe9\x00\x10\x00\x00", 9, true, 0xffffffff81001009},
	{"\xe9\xfb\x0f\x00\x00", 5, true, 0xffffffff81001000},
	/* endbr64 sealed with the newer nop */
	{"\x0f\x1f\x40\xd6\xc3\xcc\xcc\xcc\xcc", 9, true, 0},
	/* 6.12: call-depth tracking would replace the nop of nine bytes */
	{"\xf3\x0f\x1e\xfa\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00\xc3\xcc\xcc\xcc\xcc", 18, true, 0},
	{"\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00\x66\x90\xe9\x00\x10\x00\x00", 17, true,
	 0xffffffff81001011},
	{"\x0f\x1f\x84\x00\x00\x00\x00", 7, false, 0},
	{"\x90\x90\x90\x90\x90\x90\x90\x90", 8, false, 0},
	{"\x65\x48\xc1\x3c\x25", 5, false, 0},
};

START_TEST(how_the_kernel_returns)
{
	struct hv_gva thunk = {1};
	struct hv_span code = {(const uint8_t *)returns[_i].code, returns[_i].len};

	ck_assert(arch->classify_return(code, hv_gva(0xffffffff81000000), &thunk) ==
		  returns[_i].understood);
	if (returns[_i].understood)
		ck_assert_uint_eq(thunk.v, returns[_i].thunk);
}
END_TEST

START_TEST(bare_jumps)
{
	static const struct {
		const char *code;
		bool bare;
	} thunks[] = {
		{"\xff\xe1\xcc", true},	 /* jmp *%rcx */
		{"\xff\xe0\xcc", true},	 /* jmp *%rax */
		{"\xff\xd1\xcc", false}, /* call *%rcx */
		{"\xff\x21\xcc", false}, /* jmp *(%rcx) */
		{"\x0f\xae\xe8", false}, /* lfence */
		{"\xe8\x01\x00", false}, /* call, in a retpoline */
		{"\x41\xff\xe1", false}, /* jmp *%r9 */
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(thunks); i++)
		ck_assert(arch->is_bare_jump((struct hv_span){(const uint8_t *)thunks[i].code,
							      3}) == thunks[i].bare);
	ck_assert(!arch->is_bare_jump((struct hv_span){(const uint8_t *)thunks[0].code, 1}));
}
END_TEST

START_TEST(empty_functions)
{
	static const struct {
		const char *code;
		size_t len;
		bool is_empty;
	} functions[] = {
		{"\x0f\x1f\x44\x00\x00\xc3", 6, true},
		{"\x66\x66\x66\x66\x90\xc3", 6, true},
		{"\xe8\x44\x33\x22\x11\xc3", 6, true}, /* traced */
		{"\x0f\x1f\x44\x00\x00\x55\x48\x89\xe5\x5d\xc3", 11, true},
		{"\x0f\x1f\x44\x00\x00\x55\x48\x89\xe5\x5d", 10, false},
		{"\x0f\x1f\x44\x00\x00\x31\xc0\xc3", 8, false}, /* xor %eax,%eax */
		{"\x0f\x1f\x44\x00\x00", 5, false},
		{"\xe9\x44\x33\x22\x11\xc3", 6, false},
		{"\xc3", 1, false},
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(functions); i++)
		ck_assert(arch->is_empty_function((struct hv_span){
				  (const uint8_t *)functions[i].code, functions[i].len}) ==
			  functions[i].is_empty);
}
END_TEST

START_TEST(return_sites)
{
	struct hv_gva at = hv_gva(0xffffffff80401000);
	uint8_t site[X86_64_SITE_LEN];

	ck_assert(x86_64_fill_return_site(site, at, hv_gva(0)));
	ck_assert_mem_eq(site, "\xc3\xcc\xcc\xcc\xcc", 5);
	ck_assert(x86_64_fill_return_site(site, at, hv_gva(0xffffffff80402000)));
	ck_assert_mem_eq(site, "\xe9\xfb\x0f\x00\x00", 5);
	ck_assert(!x86_64_fill_return_site(site, at, hv_gva(0xfffffe0000000000)));
}
END_TEST

static const struct {
	const char *code;
	size_t len;
	uint16_t mask;
} resched[] = {
	/* or $0x8,%rcx; lock cmpxchg %rcx,(%rdx): 6.1 */
	{"\x48\x89\xc1\x48\x83\xc9\x08\xf0\x48\x0f\xb1\x0a", 12, 0x08},
	/* or $0x10,%eax: 7.2 */
	{"\x31\xc0\x83\xc8\x10\x48\x09\xc2\xf0\x48\x0f\xb1\x16", 13, 0x10},
	{"\x83\xc9\x20\x90\x83\x09\x08\x83\xc9", 9, 0},
	{"", 0, 0},
};

START_TEST(the_flag_that_asks_for_a_reschedule)
{
	struct hv_span code = {(const uint8_t *)resched[_i].code, resched[_i].len};

	ck_assert_uint_eq(arch->find_need_resched(code), resched[_i].mask);
}
END_TEST

static const struct {
	const char *code;
	size_t len;
	uint32_t flags_off;
	uint32_t mask;
} lazy_resched[] = {
	/* test $0x80000,%edx; jne; lock orb $0x8,0x2(%rax): 6.1-rt */
	{"\xf7\xc2\x00\x00\x08\x00\x75\x05\xf0\x80\x48\x02\x08", 13, 0, 0x80000},
	{"\x3e\x80\x48\x02\x08", 5, 0, 0x80000}, /* with one CPU */
	{"\xf0\x80\x0f\x20", 5, 0, 0x20},	 /* lock orb $0x20,(%rdi) */
	{"\xf0\x80\x4a\x0a\x02", 5, 8, 0x20000},
	{"\xf0\x80\x4a\x0a\x02", 5, 0, 0},     /* another field */
	{"\xf0\x80\x48\x02\x18", 5, 0, 0},     /* two bits */
	{"\xf0\x80\x60\x02\x08", 5, 0, 0},     /* and */
	{"\xf0\x80\x4c\x24\x02\x08", 6, 0, 0}, /* on the stack */
	{"\xf0\x80\x0d\x02\x00\x00\x00\x08", 8, 0, 0},
	{"\xf0\x80\x48\x02", 4, 0, 0},
	{"", 0, 0, 0},
};

START_TEST(the_flag_that_asks_for_a_lazy_reschedule)
{
	struct hv_span code = {(const uint8_t *)lazy_resched[_i].code, lazy_resched[_i].len};

	ck_assert_uint_eq(arch->find_lazy_resched(code, lazy_resched[_i].flags_off),
			  lazy_resched[_i].mask);
}
END_TEST

START_TEST(no_such_arch)
{
	ck_assert_ptr_null(hv_arch_find("pdp11"));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_unchecked_fixture(tc, find_arch, NULL);
	tcase_add_checked_fixture(tc, find_arch, NULL);
	tcase_add_test(tc, kvm_registers);
	tcase_add_test(tc, registers_of_a_linux_vcpu);
	tcase_add_test(tc, registers_in_real_mode);
	tcase_add_test(tc, registers_refused);
	tcase_add_test(tc, gdb_registers);
	tcase_add_test(tc, cpu_without_nx);
	tcase_add_test(tc, system_management_mode);
	tcase_add_test(tc, kernel_address_ranges);
	tcase_add_test(tc, the_region_is_outside_the_image_range);
	tcase_add_test(tc, roots_with_and_without_the_user_half);
	tcase_add_test(tc, entries);
	tcase_add_test(tc, a_made_leaf_is_never_writable_and_executable);
	tcase_add_test(tc, trap_target);
	tcase_add_loop_test(tc, site_kinds, 0, HV_ARRAY_LEN(sites));
	tcase_add_test(tc, sites_across_two_pages);
	tcase_add_test(tc, the_caller_of_a_functions_first_instruction);
	tcase_add_loop_test(tc, how_functions_start, 0, HV_ARRAY_LEN(starts));
	tcase_add_test(tc, calls_within_reach);
	tcase_add_loop_test(tc, a_nop_or_a_jump, 0, HV_ARRAY_LEN(key_sites));
	tcase_add_loop_test(tc, how_the_kernel_returns, 0, HV_ARRAY_LEN(returns));
	tcase_add_test(tc, bare_jumps);
	tcase_add_test(tc, empty_functions);
	tcase_add_test(tc, return_sites);
	tcase_add_loop_test(tc, the_flag_that_asks_for_a_reschedule, 0, HV_ARRAY_LEN(resched));
	tcase_add_loop_test(tc, the_flag_that_asks_for_a_lazy_reschedule, 0,
			    HV_ARRAY_LEN(lazy_resched));
	tcase_add_test(tc, no_such_arch);
}

int main(void)
{
	return run_suite("x86_64", add_tests);
}
