/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The arm64 tables: registers, page-table entries of each format, sites, returns, context. The
 * register texts and entries are from Debian's kernels under QEMU 7.2. */
#include <check.h>
#include <string.h>

#include "arch/arm64/arm64.h"
#include "tests/lib/run_suite.h"

static const char vcpu[] =
	" PC=ffffa5b1383dabc8 X00=00000000000187cc X01=fff000001fdc3550\n"
	"X02=fff05a4ee6da4000 X03=fff05a4ee6da4000 X04=fff05a4ee6da4000\n"
	"X05=4000000000000000 X06=7fffffffffffffff X07=7fffffffffffffff\n"
	"X08=ffffa5b1390da6e8 X09=ffffa5b1377a4ebc X10=40deb07ce590d508\n"
	"X11=00000000000000c0 X12=0000000000000000 X13=00000000000000be\n"
	"X14=00000000000004e2 X15=0000000000000800 X16=0000000000000000\n"
	"X17=fff00000026e9700 X18=0000000000000000 X19=0000000000000000\n"
	"X20=0000000000000000 X21=ffffa5b1390ceaf8 X22=ffffa5b1390d94c0\n"
	"X23=ffffa5b1390cec30 X24=0000000000000000 X25=ffffa5b1390d94c0\n"
	"X26=0000000000000000 X27=0000000000000000 X28=0000000000000000\n"
	"X29=ffffa5b1390c3d80 X30=ffffa5b1383dabe0  SP=ffffa5b1390c3d81\n"
	"PSTATE=414000c5 -Z-- EL1h  SVCR=00000000 --  BTYPE=0     FPCR=00000000 FPSR=00000000\n"
	"P00=0000000000000000 P01=0000000000000000 P02=0000000000000000\n";

START_TEST(registers_of_a_linux_vcpu)
{
	struct hv_vcpu_regs regs;

	ck_assert(hv_arch_arm64.parse_registers(vcpu, &regs));
	ck_assert_uint_eq(regs.ip.v, 0xffffa5b1383dabc8);
	ck_assert_uint_eq(regs.sp.v, 0xffffa5b1390c3d81);
	ck_assert_uint_eq(regs.general[0], 0x187cc);
	ck_assert_uint_eq(regs.general[30], 0xffffa5b1383dabe0);
	ck_assert_uint_eq(regs.general[31], 0xffffa5b1390c3d81);
	ck_assert_uint_eq(regs.levels, 0);
	ck_assert_uint_eq(regs.root, 0);
	ck_assert_uint_eq(regs.ip_gpa.v, 0);
	ck_assert_int_eq(regs.hidden, HV_HIDDEN_NO);
}
END_TEST

START_TEST(registers_of_firmware)
{
	char text[sizeof(vcpu)];
	struct hv_vcpu_regs regs;

	memcpy(text, vcpu, sizeof(vcpu));
	memcpy(strstr(text, "PSTATE=") + 7, "414003cd", 8);
	ck_assert(hv_arch_arm64.parse_registers(text, &regs));
	ck_assert_int_eq(regs.hidden, HV_HIDDEN_YES);
	ck_assert(!regs.is_hypervisor);
	memcpy(strstr(text, "PSTATE=") + 7, "414003c9", 8); /* EL2 */
	ck_assert(hv_arch_arm64.parse_registers(text, &regs));
	ck_assert_int_eq(regs.hidden, HV_HIDDEN_NO);
	ck_assert(regs.is_hypervisor);
}
END_TEST

/* For a vCPU in a 32-bit task, QEMU prints other registers. */
START_TEST(registers_of_a_32_bit_task)
{
	static const char text[] = "R00=00000001 R01=bebe0000 R02=00000040 R03=00000003\n"
				   "R04=00000004 R05=00000005 R06=00000006 R07=00000007\n"
				   "R08=00000008 R09=00000009 R10=0000000a R11=0000000b\n"
				   "R12=0000000c R13=bebefc30 R14=0001043c R15=f7e01234\n"
				   "PSR=60000010 -ZC- A NS usr32\n";
	struct hv_vcpu_regs regs;

	ck_assert(hv_arch_arm64.parse_registers(text, &regs));
	ck_assert_uint_eq(regs.ip.v, 0xf7e01234);
	ck_assert_uint_eq(regs.sp.v, 0xbebefc30);
	ck_assert_uint_eq(regs.general[1], 0xbebe0000);
	ck_assert_uint_eq(regs.general[14], 0x1043c);
	ck_assert_uint_eq(regs.general[15], 0);
	ck_assert_int_eq(regs.hidden, HV_HIDDEN_NO);
	ck_assert(!hv_arch_arm64.parse_registers(strstr(text, "R04="), &regs));
}
END_TEST

START_TEST(registers_refused)
{
	char text[sizeof(vcpu)];
	struct hv_vcpu_regs regs;

	ck_assert(!hv_arch_arm64.parse_registers("", &regs));
	ck_assert(!hv_arch_arm64.parse_registers("RIP=1 RSP=2 CR0=80050033", &regs));
	memcpy(text, vcpu, sizeof(vcpu));
	memcpy(strstr(text, "X17="), "Y17=", 4);
	ck_assert(!hv_arch_arm64.parse_registers(text, &regs));
}
END_TEST

START_TEST(gdb_registers)
{
	uint8_t g[33 * 8 + 4] = {0};
	struct hv_vcpu_regs regs;

	g[0] = 0xa;
	g[30 * 8] = 0x1e;
	g[31 * 8] = 0x5;
	g[32 * 8] = 0x10;
	g[33 * 8] = 0xcd;
	ck_assert(hv_arch_arm64.decode_gdb_registers((struct hv_span){g, sizeof(g)}, &regs));
	ck_assert_uint_eq(regs.general[0], 0xa);
	ck_assert_uint_eq(regs.general[30], 0x1e);
	ck_assert_uint_eq(regs.sp.v, 0x5);
	ck_assert_uint_eq(regs.ip.v, 0x10);
	ck_assert_int_eq(regs.hidden, HV_HIDDEN_YES);
	ck_assert(!hv_arch_arm64.decode_gdb_registers((struct hv_span){g, sizeof(g) - 1}, &regs));
}
END_TEST

/* Whether a vCPU at an exception level executes the guest's kernel or its tasks, and its page
 * tables. HCR_EL2 as Linux 6.12 sets it. */
#define EL1_ROOT 0x41a92000
#define EL2_ROOT 0x3a000041a92001
#define OF_HOST	 0x0000000488000000 /* E2H, RW, TGE */
#define OF_GUEST 0x0000000480000001 /* E2H, RW, VM */
#define OF_NVHE	 0x0000000080000000 /* RW */
static const struct {
	unsigned pstate; /* EL0 0, EL1h 5, EL2h 9, EL3h 0xd; 32-bit 0x10 */
	uint64_t values[3];
	uint64_t root;
	bool is_kernels;
	uint64_t ip;
} of_levels[] = {
	/* no EL2 */
	{0, {EL1_ROOT}, EL1_ROOT, true},
	{5, {EL1_ROOT}, EL1_ROOT, true},
	{0x10, {EL1_ROOT}, EL1_ROOT, true},
	{0xd, {EL1_ROOT}, EL1_ROOT, false},
	/* a kernel in EL2: itself, its tasks, and while it switches to a guest */
	{9, {1 << 20, EL2_ROOT, OF_HOST}, EL2_ROOT, true},
	{0, {1 << 20, EL2_ROOT, OF_HOST}, EL2_ROOT, true},
	{0x10, {1 << 20, EL2_ROOT, OF_HOST}, EL2_ROOT, true},
	{9, {1 << 20, EL2_ROOT, OF_GUEST}, EL2_ROOT, true},
	{0xd, {1 << 20, EL2_ROOT, OF_HOST}, EL2_ROOT, false},
	/* the kernel of its guest, and tasks of that kernel */
	{5, {1 << 20, EL2_ROOT, OF_GUEST}, EL2_ROOT, false},
	{0, {1 << 20, EL2_ROOT, OF_GUEST}, EL2_ROOT, false},
	{0x10, {1 << 20, EL2_ROOT, OF_GUEST}, EL2_ROOT, false},
	/* a kernel in EL1 with a hypervisor in EL2, its guest, and the code in EL2 */
	{5, {EL1_ROOT, 0, OF_NVHE}, EL1_ROOT, true},
	{0, {EL1_ROOT, 0, OF_NVHE}, EL1_ROOT, true},
	{5, {1 << 20, 0, OF_NVHE | 1}, 1 << 20, false},
	{0, {1 << 20, 0, OF_NVHE | 1}, 1 << 20, false},
	{9, {EL1_ROOT, 0, OF_NVHE}, EL1_ROOT, false},
	/* hVHE */
	{5, {EL1_ROOT, 0, OF_NVHE | 1ull << 34}, 0, false},
	{9, {EL1_ROOT, 0, OF_NVHE | 1ull << 34}, 0, false},
	/* a vCPU that was not started, and one in EL2 with unknown tables */
	{9, {0}, 0, true},
	{9, {0}, 0, true, 0x40000000},
	{9, {0}, 0, false, 0xffff800080010000},
	{9, {0, 0, OF_HOST}, 0, false, 0xffff800080010000},
};

START_TEST(registers_of_each_exception_level)
{
	uint64_t g[33 + 1] = {0};
	struct hv_vcpu_regs regs;

	g[32] = of_levels[_i].ip;
	g[33] = of_levels[_i].pstate;
	ck_assert(hv_arch_arm64.decode_gdb_registers((struct hv_span){(uint8_t *)g, sizeof(g)},
						     &regs));
	hv_arch_arm64.take_gdb_named(of_levels[_i].values, &regs);
	ck_assert_uint_eq(regs.root, of_levels[_i].root);
	ck_assert_int_eq(regs.hidden, of_levels[_i].is_kernels ? HV_HIDDEN_NO : HV_HIDDEN_YES);
}
END_TEST

/* KVM_REG_ARM64, 8 bytes, core or system (Documentation/virt/kvm/api.rst). */
START_TEST(ids_for_kvm)
{
	const uint64_t *ids = hv_arch_arm64.kvm_ids;

	for (unsigned i = 0; i < 35; i++)
		ck_assert_uint_eq(ids[i], 0x6030000000100000 + 2 * i);
	ck_assert_uint_eq(ids[35], 0x603000000013c101); /* op0 3, op1 0, CRn 2, CRm 0, op2 1 */
	ck_assert_uint_eq(ids[36], 0);
}
END_TEST

static const struct {
	unsigned pstate;
	uint64_t sp;
	enum hv_hidden hidden;
} of_kvm[] = {
	{0x3c5, 0x2222, HV_HIDDEN_NO}, /* EL1h */
	{0x3c4, 0x1111, HV_HIDDEN_NO}, /* EL1t */
	{0, 0x1111, HV_HIDDEN_NO},     /* EL0 */
	{0x10, 13, HV_HIDDEN_NO},      /* EL0, 32 bits */
};

START_TEST(registers_of_kvm)
{
	uint64_t values[36];
	struct hv_span span = {(const uint8_t *)values, sizeof(values)};
	struct hv_vcpu_regs regs;

	for (unsigned i = 0; i < 31; i++)
		values[i] = i;
	values[31] = 0x1111;
	values[32] = 0xffff800080012344;
	values[33] = of_kvm[_i].pstate;
	values[34] = 0x2222;
	values[35] = EL1_ROOT;
	ck_assert(hv_arch_arm64.decode_kvm_registers(span, (struct hv_span){0}, &regs));
	ck_assert_uint_eq(regs.ip.v, 0xffff800080012344);
	ck_assert_uint_eq(regs.sp.v, of_kvm[_i].sp);
	ck_assert_uint_eq(regs.root, EL1_ROOT);
	ck_assert_int_eq(regs.hidden, of_kvm[_i].hidden);
	for (unsigned i = 0; i < 31; i++)
		ck_assert_uint_eq(regs.general[i], i);
	ck_assert_uint_eq(regs.general[31], of_kvm[_i].sp);
	span.len_bytes--;
	ck_assert(!hv_arch_arm64.decode_kvm_registers(span, (struct hv_span){0}, &regs));
}
END_TEST

/* add x16, x16, #8; mrs x17, tpidr_el1 or tpidr_el2; ldr x16, [x16, x17] */
START_TEST(the_register_of_per_cpu_offsets)
{
	uint32_t code[] = {0x91002210, 0xd538d091, 0xf8716a10, 0xd503201f};
	struct hv_span span = {(const uint8_t *)code, sizeof(code)};
	bool is_hypervisor = true;

	ck_assert(hv_arch_arm64.classify_percpu(span, &is_hypervisor));
	ck_assert(!is_hypervisor);
	code[3] = 0xd53cd051; /* one of each */
	ck_assert(!hv_arch_arm64.classify_percpu(span, &is_hypervisor));
	code[1] = 0xd53cd040;
	ck_assert(hv_arch_arm64.classify_percpu(span, &is_hypervisor));
	ck_assert(is_hypervisor);
	code[1] = code[3] = 0xd53bd040; /* tpidr_el0 */
	ck_assert(!hv_arch_arm64.classify_percpu(span, &is_hypervisor));
}
END_TEST

/* Page size, VA bits and levels as in arch/arm64/Kconfig (PGTABLE_LEVELS); entries of the root,
 * 2^(bits - bits translated by the lower levels); and VA_BITS_MIN of its asm/memory.h. */
static const struct {
	uint64_t page_bytes;
	unsigned va_bits, levels, root_entries, va_bits_min;
} kinds[] = {
	{4096, 52, 5, 16, 48},	  {4096, 48, 4, 512, 48},   {4096, 39, 3, 512, 39},
	{16384, 52, 4, 32, 47},	  {16384, 48, 4, 2, 48},    {16384, 47, 3, 2048, 47},
	{16384, 36, 2, 2048, 36}, {65536, 52, 3, 1024, 48}, {65536, 48, 3, 64, 48},
	{65536, 42, 2, 8192, 42},
};

START_TEST(formats)
{
	const struct hv_arch *f = hv_arch_arm64.formats[_i];
	struct hv_gva last = {0 - (uint64_t)1}, first = {0 - (1ull << kinds[_i].va_bits)};
	unsigned levels = kinds[_i].levels;

	ck_assert(hv_arch_is(f, &hv_arch_arm64));
	ck_assert_uint_eq(f->format_levels, levels);
	ck_assert_uint_eq(f->entry_span(1), kinds[_i].page_bytes);
	ck_assert_uint_eq(f->kernel_start(levels).v, first.v);
	ck_assert_uint_eq(f->entry_at(hv_gpa(0x10000), levels, first).v, 0x10000);
	ck_assert_uint_eq(f->entry_at(hv_gpa(0x10000), levels, last).v,
			  0x10000 + (kinds[_i].root_entries - 1) * 8);
	ck_assert_uint_eq(f->entry_at(hv_gpa(0x10000), 1, last).v,
			  0x10000 + kinds[_i].page_bytes - 8);
	ck_assert_uint_eq(f->image_range.start.v, 0 - (1ull << (kinds[_i].va_bits_min - 1)));
}
END_TEST

START_TEST(number_of_formats)
{
	ck_assert_ptr_null(hv_arch_arm64.formats[HV_ARRAY_LEN(kinds)]);
	ck_assert_uint_eq(hv_arch_arm64.entry_span(1), 4096);
	ck_assert_uint_eq(hv_arch_arm64.format_levels, 4);
}
END_TEST

static const struct hv_arch *format_of(uint64_t page_bytes, unsigned va_bits)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(kinds); i++)
		if (kinds[i].page_bytes == page_bytes && kinds[i].va_bits == va_bits)
			return hv_arch_arm64.formats[i];
	ck_abort();
}

START_TEST(entries_of_4k_pages)
{
	const struct hv_arch *f = format_of(4096, 48);
	struct hv_pt_entry e = f->decode_entry(2, 0x0050000041200f81); /* text: block, read-only */

	ck_assert(e.present && e.leaf && e.executable && !e.writable);
	ck_assert_uint_eq(e.to.v, 0x41200000);
	e = f->decode_entry(1, 0x0068000041cc0f13); /* data */
	ck_assert(e.present && e.leaf && !e.executable && e.writable);
	ck_assert_uint_eq(e.to.v, 0x41cc0000);
	e = f->decode_entry(1, 0x0068000041cc0f93); /* clean: the CPU makes it writable */
	ck_assert(e.writable);
	e = f->decode_entry(1, 0x0060000041cc0f93);
	ck_assert(!e.writable);
	e = f->decode_entry(3, 0x1000000041a93003); /* a table; its user bit has no meaning here */
	ck_assert(e.present && !e.leaf && e.executable && e.writable);
	ck_assert_uint_eq(e.to.v, 0x41a93000);
	ck_assert(!f->decode_entry(3, 0x0800000041a93003).executable);
	ck_assert(!f->decode_entry(3, 0x4000000041a93003).writable);
	ck_assert(!f->decode_entry(1, 0).present);
	ck_assert(!f->decode_entry(1, 0x0050000041200f81).leaf); /* no blocks at the last level */
}
END_TEST

START_TEST(wide_addresses)
{
	uint64_t entry = 0x0050000041200c83 | 3ull << 8 | 3ull << 48;
	const struct hv_arch *f = format_of(4096, 52);

	ck_assert_uint_eq(f->decode_entry(1, entry).to.v, 0xf000041200000);
	ck_assert_uint_eq(format_of(4096, 48)->decode_entry(1, entry).to.v, 0x41200000);
	entry = 0x0050000041200f83 | 0xaull << 12;
	ck_assert_uint_eq(format_of(65536, 52)->decode_entry(1, entry).to.v, 0xa000041200000);
	ck_assert_uint_eq(format_of(16384, 47)->decode_entry(1, 0x50000041207f83).to.v, 0x41204000);
}
END_TEST

/* _i: index of the format */
START_TEST(leaves_are_read_back)
{
	const struct hv_arch *f = hv_arch_arm64.formats[_i];
	uint64_t neighbour = 0x0150000041200f81, to = 7 * f->entry_span(2);
	struct hv_pt_entry x, w, r;

	if (kinds[_i].va_bits == 52)
		to |= 5ull << 49; /* addresses are 52 bits wide */
	x = f->decode_entry(2, f->make_leaf(2, neighbour, hv_gpa(to), HV_ACCESS_READ_EXECUTE));
	w = f->decode_entry(2, f->make_leaf(2, neighbour, hv_gpa(to), HV_ACCESS_READ_WRITE));
	r = f->decode_entry(2, f->make_leaf(2, neighbour, hv_gpa(to), HV_ACCESS_READ));
	ck_assert(x.present && x.leaf && x.executable && !x.writable);
	ck_assert(w.present && w.leaf && !w.executable && w.writable);
	ck_assert(r.present && r.leaf && !r.executable && !r.writable);
	ck_assert_uint_eq(x.to.v, to);
	ck_assert_uint_eq(w.to.v, to);
	ck_assert_uint_eq(f->make_leaf(2, neighbour, hv_gpa(to), HV_ACCESS_READ) >> 55 & 0xf, 0);
}
END_TEST

/* Formats whose leaves would be too large need tables that hvtrace makes. The leaves in such a
 * table decide what the guest may execute and write. _i: index of the format */
START_TEST(tables_are_read_back)
{
	const struct hv_arch *f = hv_arch_arm64.formats[_i];
	uint64_t neighbour = 0x6800000041200403; /* AP and PXN of tables, AF */
	uint64_t entry;
	struct hv_pt_entry e;

	ck_assert(!f->make_table == (f->entry_span(1) != 16384));
	if (!f->make_table)
		return;
	entry = f->make_table(neighbour, hv_gpa(0x2103c4000));
	e = f->decode_entry(2, entry);
	ck_assert(e.present && !e.leaf && e.writable && e.executable);
	ck_assert_uint_eq(e.to.v, 0x2103c4000);
	ck_assert_uint_eq(entry & 0xffff000000000fff, 0x3000000000000403);
}
END_TEST

/* A page's entry has a bit that a larger leaf must not have. _i: index of the format */
START_TEST(page_and_block_leaves_differ)
{
	const struct hv_arch *f = hv_arch_arm64.formats[_i];
	uint64_t page = 0x0050000041200f83, block = 0x0050000041200f81;

	ck_assert(f->decode_entry(2, f->make_leaf(2, page, hv_gpa(0), HV_ACCESS_READ)).leaf);
	ck_assert(f->decode_entry(1, f->make_leaf(1, block, hv_gpa(0), HV_ACCESS_READ)).leaf);
}
END_TEST

/* _i: index of the format */
START_TEST(signatures_are_stripped)
{
	const struct hv_arch *f = hv_arch_arm64.formats[_i];
	uint64_t address = 0xffffffffc3c10000, field = ~0ull << kinds[_i].va_bits & ~(1ull << 55);

	ck_assert_uint_eq(f->strip_signature(address), address);
	ck_assert_uint_eq(f->strip_signature(address & ~field), address);
	ck_assert_uint_eq(f->strip_signature(address ^ (field & 0x1234567812345678)), address);
	ck_assert_uint_eq(f->strip_signature(0x7fff12345678), 0x7fff12345678); /* user mode */
}
END_TEST

START_TEST(roots)
{
	const struct hv_vcpu_regs regs = {.root = 0x12340000410a3001}, none = {0};
	const struct hv_vcpu_regs part = {.root = 0x12340000410a1e01};
	struct hv_gpa to[2];

	ck_assert_uint_eq(hv_arch_arm64.roots(&none, to), 0);
	ck_assert_uint_eq(hv_arch_arm64.roots(&regs, to), 2);
	ck_assert_uint_eq(to[0].v, 0x410a3000);
	ck_assert_uint_eq(to[1].v, 0x410a5000); /* KPTI: swapper_pg_dir, 2 pages further */
	for (unsigned i = 0; hv_arch_arm64.formats[i]; i++) {
		const struct hv_arch *f = hv_arch_arm64.formats[i];
		const struct hv_vcpu_regs aligned = {.root = 0x12340000410a0001};

		ck_assert_uint_eq(f->roots(&aligned, to), 2);
		ck_assert_uint_eq(to[0].v, 0x410a0000);
		ck_assert_uint_eq(to[1].v, 0x410a0000 + 2 * f->entry_span(1));
	}
	/* 1024 entries for 52 bits; a CPU with 48 bits uses the last 64 */
	ck_assert_uint_eq(hv_arch_arm64.formats[7]->roots(&part, to), 2);
	ck_assert_uint_eq(to[0].v, 0x410a0000);
	ck_assert_uint_eq(hv_arch_levels(hv_arch_arm64.formats[0], &regs), 5);
	ck_assert_uint_eq(hv_arch_levels(hv_arch_arm64.formats[0], &none), 0);
	ck_assert_uint_eq(hv_arch_levels(&hv_arch_x86_64, &regs), 0);
}
END_TEST

static enum hv_site_kind classify(uint32_t insn, uint64_t at, struct hv_gva *ret)
{
	*ret = hv_gva(0);
	return hv_arch_arm64.classify_site((const uint8_t *)&insn, hv_gva(at), ret);
}

/* Instructions as GNU as 2.40 assembles the text in the comments. */
START_TEST(sites)
{
	struct hv_gva to;

	ck_assert_int_eq(classify(0xd503201f, 0x1000, &to), HV_SITE_NOP);
	ck_assert_int_eq(classify(0x94000002, 0x1000, &to), HV_SITE_CALL); /* bl .+8 */
	ck_assert_uint_eq(to.v, 0x1008);
	ck_assert_int_eq(classify(0x97ffffff, 0x1000, &to), HV_SITE_CALL); /* bl .-4 */
	ck_assert_uint_eq(to.v, 0xffc);
	ck_assert_int_eq(classify(0x16000000, 0x10000000, &to), HV_SITE_JUMP); /* b .-128M */
	ck_assert_uint_eq(to.v, 0x8000000);
	ck_assert_int_eq(classify(0xd4200080, 0x1000, &to), HV_SITE_BREAKPOINT); /* brk #4 */
	ck_assert_int_eq(classify(0xaa1e03e9, 0x1000, &to), HV_SITE_OTHER);	 /* mov x9, x30 */
	ck_assert_int_eq(classify(0xd503245f, 0x1000, &to), HV_SITE_OTHER);	 /* bti c */
}
END_TEST

START_TEST(calls_are_read_back)
{
	static const int64_t far[] = {4, -4, 0x7fffffc, -0x8000000, 0x123454};
	uint8_t site[HV_SITE_LEN_MAX];
	struct hv_gva at = {0xffffa5b137600000}, to;

	for (size_t i = 0; i < HV_ARRAY_LEN(far); i++) {
		struct hv_gva target = {at.v + (uint64_t)far[i]};

		ck_assert(hv_arch_arm64.encode_call(at, target, site));
		ck_assert_int_eq(hv_arch_arm64.classify_site(site, at, &to), HV_SITE_CALL);
		ck_assert_uint_eq(to.v, target.v);
		ck_assert(hv_arch_arm64.encode_jump(at, target, site));
		ck_assert_int_eq(hv_arch_arm64.classify_site(site, at, &to), HV_SITE_JUMP);
		ck_assert_uint_eq(to.v, target.v);
	}
	ck_assert(!hv_arch_arm64.encode_call(at, hv_gva(at.v + 0x8000000), site));
	ck_assert(!hv_arch_arm64.encode_call(at, hv_gva(at.v - 0x8000004), site));
	ck_assert(!hv_arch_arm64.encode_call(at, hv_gva(at.v + 2), site));
	ck_assert(!hv_arch_arm64.encode_call(at, hv_gva(0x1000), site));
}
END_TEST

/* Compares a veneer with the assembler's output and checks its target. */
START_TEST(veneers_reach_distant_targets)
{
	static const int64_t far[] = {0x1040, -0x1040, 0x7ffff000, -0x80000000, 0xfffff000};
	struct hv_gva at = {0xffffa5b137600010};
	uint32_t code[HV_VENEER_LEN / 4];
	uint8_t *bytes = (uint8_t *)code;

	ck_assert(hv_arch_arm64.encode_veneer(hv_gva(0x1010), hv_gva(0x6abc), bytes));
	ck_assert_uint_eq(code[0], 0xb0000030); /* adrp x16, 0x6000 */
	ck_assert_uint_eq(code[1], 0x912af210); /* add x16, x16, #0xabc */
	ck_assert_uint_eq(code[2], 0xd61f0200); /* br x16 */
	for (size_t i = 0; i < HV_ARRAY_LEN(far); i++) {
		struct hv_gva target = {at.v + (uint64_t)far[i]};
		uint32_t pages;

		ck_assert(hv_arch_arm64.encode_veneer(at, target, bytes));
		pages = (code[0] >> 5 & 0x7ffff) << 2 | (code[0] >> 29 & 3);
		ck_assert_uint_eq(
			(at.v & ~0xfffull) +
				((uint64_t)((int64_t)((uint64_t)pages << 43) >> 43) << 12) +
				(code[1] >> 10 & 0xfff),
			target.v);
	}
	ck_assert(!hv_arch_arm64.encode_veneer(at, hv_gva(at.v + 0x100000000), bytes));
	ck_assert(!hv_arch_arm64.encode_veneer(at, hv_gva(at.v - 0x100001000), bytes));
	ck_assert_ptr_null(hv_arch_x86_64.encode_veneer);
}
END_TEST

START_TEST(jump_sites)
{
	uint8_t code[HV_SITE_LEN_MAX] = {0x1f, 0x20, 0x03, 0xd5};
	struct hv_gva at = {0x1000}, to = {0x2000};
	bool jumps = true;

	ck_assert_uint_eq(hv_arch_arm64.classify_jump_site(code, at, to, &jumps), 4);
	ck_assert(!jumps);
	ck_assert(hv_arch_arm64.encode_jump_site(at, to, 4, code));
	ck_assert(!hv_arch_arm64.encode_jump_site(at, to, 5, code));
	ck_assert_uint_eq(hv_arch_arm64.classify_jump_site(code, at, to, &jumps), 4);
	ck_assert(jumps);
	ck_assert_uint_eq(hv_arch_arm64.classify_jump_site(code, at, at, &jumps), 0);
}
END_TEST

static bool returns(uint32_t first, uint32_t second)
{
	uint32_t code[] = {first, second};
	struct hv_gva thunk = {1};
	bool is = hv_arch_arm64.classify_return((struct hv_span){(uint8_t *)code, sizeof(code)},
						hv_gva(0x1000), &thunk);

	ck_assert(!is || !thunk.v);
	return is;
}

START_TEST(classify_return)
{
	struct hv_gva thunk;

	ck_assert(returns(0xd65f03c0, 0));
	ck_assert(returns(0xd503245f, 0xd65f03c0)); /* bti c; ret */
	ck_assert(returns(0xd50324df, 0xd65f03c0)); /* bti jc; ret */
	ck_assert(!returns(0xd503245f, 0xd503201f));
	ck_assert(!returns(0xd503201f, 0xd65f03c0));
	ck_assert(!returns(0xd65f0bff, 0)); /* retaa */
	ck_assert(!hv_arch_arm64.classify_return((struct hv_span){(const uint8_t *)"", 0},
						 hv_gva(0), &thunk));
}
END_TEST

START_TEST(context)
{
	static const struct {
		uint32_t count;
		uint16_t daif;
		uint16_t flags;
		struct hv_context expect;
	} rows[] = {
		{0x80000000, 0, 0, {0}},
		{0x80000000, 0x80, 0, {.flags = HV_CONTEXT_IRQS_OFF}},
		{0x80000000, 0x340, 0, {0}}, /* D, A, F */
		{0x00000000, 0, 0, {.flags = HV_CONTEXT_PREEMPT_RESCHED}},
		{0x80000000, 0, 2, {.flags = HV_CONTEXT_NEED_RESCHED}},
		{0x80000000, 0, 4, {.flags = HV_CONTEXT_NEED_RESCHED_LAZY}},
		{0x80000003, 0, 0, {.preempt_depth = 3}},
		{0x80000100, 0, 0, {.flags = HV_CONTEXT_SOFTIRQ}},
		{0x80000200, 0, 0, {.flags = HV_CONTEXT_BH_OFF}},
		{0x80010000, 0, 0, {.flags = HV_CONTEXT_HARDIRQ}},
		{0x80100000, 0, 0, {.flags = HV_CONTEXT_NMI}},
	};
	const struct hv_context_bits masks = {2, 4};

	for (size_t i = 0; i < HV_ARRAY_LEN(rows); i++) {
		struct hv_context got = hv_arch_arm64.decode_context(rows[i].count, rows[i].daif,
								     rows[i].flags, masks);

		ck_assert_msg(!memcmp(&got, &rows[i].expect, sizeof(got)), "row %zu", i);
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, registers_of_a_linux_vcpu);
	tcase_add_test(tc, registers_of_firmware);
	tcase_add_test(tc, registers_of_a_32_bit_task);
	tcase_add_test(tc, registers_refused);
	tcase_add_test(tc, gdb_registers);
	tcase_add_test(tc, ids_for_kvm);
	tcase_add_loop_test(tc, registers_of_kvm, 0, HV_ARRAY_LEN(of_kvm));
	tcase_add_loop_test(tc, registers_of_each_exception_level, 0, HV_ARRAY_LEN(of_levels));
	tcase_add_test(tc, the_register_of_per_cpu_offsets);
	tcase_add_loop_test(tc, formats, 0, HV_ARRAY_LEN(kinds));
	tcase_add_test(tc, number_of_formats);
	tcase_add_test(tc, entries_of_4k_pages);
	tcase_add_test(tc, wide_addresses);
	tcase_add_loop_test(tc, leaves_are_read_back, 0, HV_ARRAY_LEN(kinds));
	tcase_add_loop_test(tc, page_and_block_leaves_differ, 0, HV_ARRAY_LEN(kinds));
	tcase_add_loop_test(tc, tables_are_read_back, 0, HV_ARRAY_LEN(kinds));
	tcase_add_loop_test(tc, signatures_are_stripped, 0, HV_ARRAY_LEN(kinds));
	tcase_add_test(tc, roots);
	tcase_add_test(tc, sites);
	tcase_add_test(tc, calls_are_read_back);
	tcase_add_test(tc, veneers_reach_distant_targets);
	tcase_add_test(tc, jump_sites);
	tcase_add_test(tc, classify_return);
	tcase_add_test(tc, context);
}

int main(void)
{
	return run_suite("arm64", add_tests);
}
