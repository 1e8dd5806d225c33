/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call frame information: of this program and its libraries, compared with libdw; of files with missing
 * pages; and rules that are wrong. */
#include <check.h>
#include <elfutils/libdw.h>
#include <dwarf.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/guard.h"
#include "kernel/programs/cfi.h"
#include "tests/lib/run_suite.h"

#define PAGE 4096u
#define STEP 13 /* bytes of code between two places that are compared */

#define RSP 7
#define RIP 16

/* -- files of this machine ---------------------------------------------------------------------- */

struct mapped {
	int fd;
	const uint8_t *bytes;
	uint64_t len_bytes;
	uint64_t missing; /* a page that cannot be read; 0: none */
};

static bool read_mapped(void *ctx, uint64_t off, void *buf, size_t len)
{
	const struct mapped *m = ctx;

	ck_assert(off <= m->len_bytes && len <= m->len_bytes - off);
	if (m->missing && len && off / PAGE <= m->missing && (off + len - 1) / PAGE >= m->missing)
		return false;
	memcpy(buf, m->bytes + off, len);
	return true;
}

static struct mapped map_file(const char *path)
{
	struct mapped m = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
	struct stat st;

	ck_assert_msg(m.fd >= 0 && fstat(m.fd, &st) == 0, "%s", path);
	m.len_bytes = (uint64_t)st.st_size;
	m.bytes = mmap(NULL, m.len_bytes, PROT_READ, MAP_PRIVATE, m.fd, 0);
	ck_assert(m.bytes != MAP_FAILED);
	return m;
}

static void unmap_file(struct mapped *m)
{
	munmap((void *)(uintptr_t)m->bytes, m->len_bytes);
	close(m->fd);
}

static struct hv_elf_file elf_of(struct mapped *m)
{
	return (struct hv_elf_file){.read = read_mapped, .ctx = m, .len_bytes = m->len_bytes};
}

static bool is_expression(const Dwarf_Op *ops, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (ops[i].atom != DW_OP_call_frame_cfa && ops[i].atom != DW_OP_plus_uconst &&
		    ops[i].atom != DW_OP_bregx && ops[i].atom != DW_OP_stack_value)
			return true;
	return false;
}

static void compare_cfa(Dwarf_Frame *frame, const struct hv_cfi_row *row, uint64_t at)
{
	Dwarf_Op *ops;
	size_t nr;

	ck_assert_int_eq(dwarf_frame_cfa(frame, &ops, &nr), 0);
	if (nr != 1 || ops[0].atom != DW_OP_bregx) {
		ck_assert_msg(row->cfa.kind == HV_CFI_EXPRESSION, "0x%lx", at);
		return;
	}
	ck_assert_msg(row->cfa.kind == HV_CFI_REGISTER && row->cfa.reg == ops[0].number &&
			      row->cfa.number == (int64_t)ops[0].number2,
		      "0x%lx: CFA is r%u + %ld, not r%lu + %ld", at, row->cfa.reg,
		      (long)row->cfa.number, (unsigned long)ops[0].number, (long)ops[0].number2);
}

static void compare_register(Dwarf_Frame *frame, const struct hv_cfi_row *row, int reg, uint64_t at)
{
	const struct hv_cfi_rule *rule = &row->regs[reg];
	Dwarf_Op mem[3], *ops;
	size_t nr;

	ck_assert_int_eq(dwarf_frame_register(frame, reg, mem, &ops, &nr), 0);
	if (!nr && !ops)
		ck_assert_msg(rule->kind == HV_CFI_SAME, "0x%lx: r%d", at, reg);
	else if (!nr) /* libdw does not know the ABI's rule for registers without a rule */
		ck_assert_msg(rule->kind == HV_CFI_UNDEFINED ||
				      (rule->kind == HV_CFI_SAME && reg != RIP),
			      "0x%lx: r%d", at, reg);
	else if (ops[0].atom == DW_OP_regx)
		ck_assert_msg(rule->kind == HV_CFI_REGISTER && rule->reg == ops[0].number,
			      "0x%lx: r%d", at, reg);
	else if (is_expression(ops, nr))
		ck_assert_msg(rule->kind == HV_CFI_AT_EXPRESSION, "0x%lx: r%d", at, reg);
	else
		ck_assert_msg(
			rule->kind == HV_CFI_AT_CFA &&
				rule->number == (nr > 1 ? (int64_t)ops[1].number : 0),
			"0x%lx: r%d: rule %d with %ld; libdw has %zu operations, the first 0x%x",
			at, reg, rule->kind, (long)rule->number, nr, ops[0].atom);
}

/* Compares the rules at VADDR, which is at OFF of the file. Returns whether there are any. */
static bool compare(Dwarf_CFI *theirs, struct hv_cfi *ours, uint64_t off, uint64_t vaddr)
{
	static const int regs[] = {3, 6, 12, 13, 14, 15, RIP};
	struct hv_cfi_row row;
	Dwarf_Frame *frame;
	Dwarf_Addr start, end;
	bool is_signal;

	if (dwarf_cfi_addrframe(theirs, vaddr, &frame) != 0) {
		ck_assert_msg(!hv_cfi_find(ours, off, &row), "0x%lx: libdw has no rules", vaddr);
		return false;
	}
	ck_assert_msg(hv_cfi_find(ours, off, &row), "0x%lx: only libdw has rules", vaddr);
	ck_assert_int_eq(dwarf_frame_info(frame, &start, &end, &is_signal), row.return_reg);
	ck_assert_int_eq(row.is_signal, is_signal);
	compare_cfa(frame, &row, vaddr);
	for (size_t i = 0; i < HV_ARRAY_LEN(regs); i++)
		compare_register(frame, &row, regs[i], vaddr);
	free(frame);
	return true;
}

static unsigned compare_segment(struct mapped *m, struct hv_cfi *ours, const Elf64_Phdr *p)
{
	Elf *elf = elf_begin(m->fd, ELF_C_READ_MMAP, NULL);
	Dwarf_CFI *theirs = dwarf_getcfi_elf(elf);
	unsigned nr = 0;

	ck_assert_ptr_nonnull(theirs);
	for (uint64_t at = 1; at < p->p_filesz; at += STEP)
		nr += compare(theirs, ours, p->p_offset + at, p->p_vaddr + at);
	dwarf_cfi_end(theirs);
	elf_end(elf);
	return nr;
}

static const char *libraries[4] = {"/proc/self/exe"};
static int nr_libraries = 1;

static int note_library(struct dl_phdr_info *info, size_t size hv_unused, void *ctx hv_unused)
{
	if (nr_libraries < (int)HV_ARRAY_LEN(libraries) &&
	    (strstr(info->dlpi_name, "/libc.so") || strstr(info->dlpi_name, "/ld-linux") ||
	     strstr(info->dlpi_name, "/libdw")))
		libraries[nr_libraries++] = info->dlpi_name;
	return 0;
}

START_TEST(rules_as_libdw_finds_them)
{
	struct mapped m;
	struct hv_elf_file file;
	struct hv_cfi *ours;
	const Elf64_Ehdr *head;
	unsigned nr = 0;

	if (_i >= nr_libraries)
		return;
	elf_version(EV_CURRENT);
	m = map_file(libraries[_i]);
	file = elf_of(&m);
	ours = hv_cfi_new(&file);
	ck_assert_ptr_nonnull(ours);
	head = (const Elf64_Ehdr *)m.bytes;
	for (unsigned i = 0; i < head->e_phnum; i++) {
		const Elf64_Phdr *p = (const Elf64_Phdr *)(m.bytes + head->e_phoff) + i;

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X))
			nr += compare_segment(&m, ours, p);
	}
	ck_assert_uint_ge(nr, 500);
	hv_cfi_free(ours);
	unmap_file(&m);
}
END_TEST

/* A missing page never changes rules: they are the same, or cannot be found. */
START_TEST(a_missing_page)
{
	struct mapped m = map_file(libraries[_i]);
	struct hv_elf_file file = elf_of(&m);
	struct hv_cfi *cfi = hv_cfi_new(&file);
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)m.bytes;
	uint64_t hdr = 0, nr = 0, missing = 0;

	for (unsigned i = 0; i < head->e_phnum; i++) {
		const Elf64_Phdr *p = (const Elf64_Phdr *)(m.bytes + head->e_phoff) + i;

		if (p->p_type == PT_GNU_EH_FRAME)
			hdr = p->p_offset;
	}
	ck_assert(cfi && hdr);
	for (uint64_t page = hdr / PAGE; page < hdr / PAGE + 24; page++)
		for (uint64_t off = PAGE; off < m.len_bytes; off += m.len_bytes / 200) {
			struct hv_cfi_row whole, part;
			bool has_whole, has_part;

			m.missing = 0;
			has_whole = hv_cfi_find(cfi, off, &whole);
			m.missing = page;
			has_part = hv_cfi_find(cfi, off, &part);
			ck_assert(has_whole || !has_part);
			missing += has_whole && !has_part;
			nr += has_part;
			if (has_part && whole.cfa.kind == HV_CFI_REGISTER)
				ck_assert(memcmp(&whole.cfa, &part.cfa, sizeof(whole.cfa)) == 0);
		}
	ck_assert_uint_gt(nr, 100);
	ck_assert_uint_gt(missing, 0);
	m.missing = 0;
	hv_cfi_free(cfi);
	unmap_file(&m);
}
END_TEST

/* -- made files --------------------------------------------------------------------------------- */

#define CODE_OFF  0x100u
#define CODE_LEN  0x100u
#define HDR_OFF	  0x300u
#define FRAME_OFF 0x400u
#define VADDR	  0x400000u
#define FILE_LEN  0x2000u

static uint8_t bytes[FILE_LEN];
static struct mapped made = {.bytes = bytes, .len_bytes = FILE_LEN};
static size_t end; /* of .eh_frame */

static void put(const void *from, size_t len)
{
	memcpy(bytes + end, from, len);
	end += len;
}
#define PUT(...)                                                                                   \
	do {                                                                                       \
		const uint8_t put_[] = {__VA_ARGS__};                                              \
		put(put_, sizeof(put_));                                                           \
	} while (0)

static void put32(uint32_t value)
{
	put(&value, sizeof(value));
}

static void set32(size_t off, uint32_t value)
{
	memcpy(bytes + off, &value, sizeof(value));
}

/* The CIE: CFA is rsp + 8, and the return address is before it. */
static void put_cie(void)
{
	end = FRAME_OFF;
	put32(16);
	put32(0);
	PUT(1, 'z', 'R', 0, 1, 0x78, RIP, 1, 0x1b, 0x0c, RSP, 8);
}

/* An FDE for the code with instructions INS. */
static void put_fde(const uint8_t *ins, size_t len)
{
	size_t begin = end;

	put32(0);
	put32((uint32_t)(end - FRAME_OFF));
	put32((uint32_t)CODE_OFF - (uint32_t)end);
	put32(CODE_LEN);
	PUT(0);
	put(ins, len);
	set32(begin, (uint32_t)(end - begin - 4));
	set32(HDR_OFF + 16, (uint32_t)(begin - HDR_OFF));
	put32(0);
}
#define PUT_FDE(...)                                                                               \
	do {                                                                                       \
		const uint8_t ins_[] = {__VA_ARGS__};                                              \
		put_cie();                                                                         \
		put_fde(ins_, sizeof(ins_));                                                       \
	} while (0)

static void make_file(void)
{
	static const Elf64_Phdr phdrs[] = {
		{.p_type = PT_LOAD, .p_flags = PF_X, .p_vaddr = VADDR, .p_filesz = FILE_LEN},
		{.p_type = PT_GNU_EH_FRAME,
		 .p_offset = HDR_OFF,
		 .p_vaddr = VADDR + HDR_OFF,
		 .p_filesz = 20}};
	Elf64_Ehdr head = {.e_phoff = sizeof(head),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = HV_ARRAY_LEN(phdrs)};

	memset(bytes, 0, sizeof(bytes));
	memcpy(head.e_ident, ELFMAG, SELFMAG);
	head.e_ident[EI_CLASS] = ELFCLASS64;
	head.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), phdrs, sizeof(phdrs));
	memcpy(bytes + HDR_OFF, "\1\x1b\3\x3b", 4);
	set32(HDR_OFF + 4, FRAME_OFF - HDR_OFF - 4);
	set32(HDR_OFF + 8, 1);
	set32(HDR_OFF + 12, CODE_OFF - HDR_OFF);
}

static bool find(uint64_t off, struct hv_cfi_row *ret)
{
	struct hv_elf_file file = elf_of(&made);
	struct hv_cfi *cfi = hv_cfi_new(&file);
	bool is_found = cfi && hv_cfi_find(cfi, off, ret);

	hv_cfi_free(cfi);
	return is_found;
}

static void check_cfa(uint64_t off, uint8_t reg, int64_t number)
{
	struct hv_cfi_row row;

	ck_assert(find(off, &row));
	ck_assert_int_eq(row.cfa.kind, HV_CFI_REGISTER);
	ck_assert_uint_eq(row.cfa.reg, reg);
	ck_assert_int_eq(row.cfa.number, number);
}

START_TEST(rows_of_a_function)
{
	struct hv_cfi_row row;

	/* push %rbx; sub; a part that returns early; the rest */
	PUT_FDE(0x41, 0x0e, 16, 0x83, 2, 0x44, 0x0e, 0x30, 0x0a, 0x48, 0x0e, 8, 0xc3, 0x41, 0x0b,
		0x48, 0x0d, 6, 0x07, RIP);
	check_cfa(CODE_OFF, RSP, 8);
	check_cfa(CODE_OFF + 1, RSP, 16);
	check_cfa(CODE_OFF + 4, RSP, 16);
	check_cfa(CODE_OFF + 5, RSP, 0x30);
	ck_assert(find(CODE_OFF + 5, &row));
	ck_assert_int_eq(row.regs[3].kind, HV_CFI_AT_CFA);
	ck_assert_int_eq(row.regs[3].number, -16);
	check_cfa(CODE_OFF + 13, RSP, 8);
	ck_assert(find(CODE_OFF + 13, &row));
	ck_assert_int_eq(row.regs[3].kind, HV_CFI_SAME);
	check_cfa(CODE_OFF + 14, RSP, 0x30);
	check_cfa(CODE_OFF + CODE_LEN - 1, 6, 0x30);
	ck_assert(find(CODE_OFF + CODE_LEN - 1, &row));
	ck_assert_int_eq(row.regs[RIP].kind, HV_CFI_UNDEFINED);
	ck_assert(!find(CODE_OFF + CODE_LEN, &row));
	ck_assert(!find(CODE_OFF - 1, &row));
	ck_assert(!find(FILE_LEN, &row));
}
END_TEST

/* Instructions that cannot be right. */
START_TEST(wrong_rules)
{
	struct hv_cfi_row row;
	static const struct {
		uint8_t bytes[12];
		size_t len;
	} wrong[] = {
		{{0x3f}, 1}, /* unknown */
		{{0x2d}, 1}, /* of another architecture */
		{{0x0b}, 1}, /* nothing is remembered */
		{{0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a}, 9}, /* too much is */
		{{0x0c, 17, 8}, 3},			      /* a register that is not followed */
		{{0x09, 3, 17}, 3},			      /* the same */
		{{0x0c, 0xff, 0xff, 0xff, 0xff, 0x0f, 8}, 7}, /* another one */
		{{0x0f, 100, 0x77, 8}, 4},		      /* an expression without an end */
		{{0x0e}, 1},				      /* no operand */
		{{0x0e, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1}, 12},
		{{0x0f, 1, 0x30, 0x0e, 8}, 5}, /* an offset of an expression */
	};

	put_cie();
	put_fde(wrong[_i].bytes, wrong[_i].len);
	ck_assert(!find(CODE_OFF, &row));
}
END_TEST

/* Heads, CIEs and FDEs that are wrong. */
START_TEST(wrong_entries)
{
	static const struct {
		size_t off;
		uint8_t value;
	} wrong[] = {
		{HDR_OFF, 2},				  /* version */
		{HDR_OFF + 1, 0x0b},			  /* encodings */
		{HDR_OFF + 3, 0x1b},	{HDR_OFF + 8, 0}, /* an empty table */
		{HDR_OFF + 11, 1},			  /* a long one */
		{HDR_OFF + 19, 0x40},			  /* an FDE outside of the file */
		{FRAME_OFF, 0xff},	/* a CIE that is longer than the file has bytes */
		{FRAME_OFF + 4, 1},	/* not a CIE */
		{FRAME_OFF + 8, 2},	/* version */
		{FRAME_OFF + 9, 'e'},	/* augmentation */
		{FRAME_OFF + 14, 17},	/* the column of the return address */
		{FRAME_OFF + 15, 0x7f}, /* augmentation data */
		{FRAME_OFF + 16, 0x2b}, /* encoding of addresses */
		{FRAME_OFF + 24, 1},	/* the CIE is elsewhere */
		{FRAME_OFF + 23, 0xff}, /* an FDE with a long length */
	};
	struct hv_cfi_row row;

	PUT_FDE(0x41, 0x0e, 16);
	ck_assert(find(CODE_OFF, &row));
	bytes[wrong[_i].off] = wrong[_i].value;
	ck_assert(!find(CODE_OFF, &row));
}
END_TEST

START_TEST(a_long_function)
{
	static uint8_t many[0x1800];
	struct hv_cfi_row row;

	make_file();
	put_cie();
	put_fde(many, sizeof(many)); /* nops */
	ck_assert(find(CODE_OFF, &row));
}
END_TEST

/* A rule for a register that is not followed needs no memory. libdw allocates 512 MiB for this one. */
START_TEST(a_large_register)
{
	PUT_FDE(0x07, 0x80, 0x80, 0x80, 0x20, 0x41, 0x0e, 16);
	check_cfa(CODE_OFF, RSP, 8);
	check_cfa(CODE_OFF + 1, RSP, 16);
}
END_TEST

/* A file without .eh_frame_hdr has sections. */
START_TEST(a_section)
{
	static const char names[] = "\0.eh_frame\0.text";
	Elf64_Shdr *sections = (Elf64_Shdr *)(bytes + 0x1800);
	Elf64_Ehdr *head = (Elf64_Ehdr *)bytes;
	Elf64_Phdr *phdrs = (Elf64_Phdr *)(bytes + sizeof(*head));
	struct hv_cfi_row row;

	PUT_FDE(0x41, 0x0e, 16);
	phdrs[1].p_type = PT_NULL;
	ck_assert(!find(CODE_OFF, &row));
	memcpy(bytes + 0x1700, names, sizeof(names));
	head->e_shoff = 0x1800;
	head->e_shentsize = sizeof(*sections);
	head->e_shnum = 3;
	head->e_shstrndx = 2;
	sections[1] = (Elf64_Shdr){.sh_name = 1,
				   .sh_type = SHT_PROGBITS,
				   .sh_offset = FRAME_OFF,
				   .sh_size = end - FRAME_OFF};
	sections[2] =
		(Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = 0x1700, .sh_size = sizeof(names)};
	check_cfa(CODE_OFF + 1, RSP, 16);
	ck_assert(!find(CODE_OFF + CODE_LEN, &row));
	sections[1].sh_type = SHT_NOBITS; /* debug information only */
	ck_assert(!find(CODE_OFF, &row));
	sections[1].sh_type = SHT_PROGBITS;
	sections[1].sh_size = UINT64_MAX;
	ck_assert(!find(CODE_OFF, &row));
	sections[1].sh_size = end - FRAME_OFF;
	sections[1].sh_name = 11;
	ck_assert(!find(CODE_OFF, &row));
}
END_TEST

static void add_tests(TCase *tc)
{
	dl_iterate_phdr(note_library, NULL);
	tcase_add_checked_fixture(tc, make_file, NULL);
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, rules_as_libdw_finds_them, 0, HV_ARRAY_LEN(libraries));
	tcase_add_loop_test(tc, a_missing_page, 0, 1);
	tcase_add_test(tc, rows_of_a_function);
	tcase_add_loop_test(tc, wrong_rules, 0, 11);
	tcase_add_loop_test(tc, wrong_entries, 0, 15);
	tcase_add_test(tc, a_long_function);
	tcase_add_test(tc, a_large_register);
	tcase_add_test(tc, a_section);
}

int main(void)
{
	return run_suite("cfi", add_tests);
}
