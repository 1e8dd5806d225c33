/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions and build ids in ELF files that are whole, incomplete, and wrong. */
#include <check.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "kernel/programs/elf_symbols.h"
#include "tests/lib/run_suite.h"

#define PAGE	  4096
#define NR_PAGES  8
#define CODE_OFF  0x1000
#define VADDR	  0x401000
#define NOTES_OFF 0x200
#define SYM_OFF	  0x3000
#define STR_OFF	  0x4000
#define DYN_OFF	  0x5000
#define SHDR_OFF  0x6000

static uint8_t bytes[NR_PAGES * PAGE];
static bool is_missing[NR_PAGES];
static Elf64_Ehdr *head;
static Elf64_Phdr *phdrs;
static Elf64_Shdr *sections;
static Elf64_Sym *symbols;

static bool read_page(void *ctx hv_unused, uint64_t off, void *buf, size_t len)
{
	ck_assert(off <= sizeof(bytes) && len <= sizeof(bytes) - off);
	for (uint64_t at = off; at < off + len; at++)
		if (is_missing[at / PAGE])
			return false;
	memcpy(buf, bytes + off, len);
	return true;
}

static const struct hv_elf_file file = {.read = read_page, .len_bytes = sizeof(bytes)};

static void set_symbol(unsigned i, const char *name, uint64_t value, uint64_t size, unsigned type)
{
	static size_t end = 1;

	if (i == 1)
		end = 1;
	symbols[i] = (Elf64_Sym){.st_name = (Elf64_Word)end,
				 .st_value = value,
				 .st_size = size,
				 .st_shndx = 1,
				 .st_info = ELF64_ST_INFO(STB_GLOBAL, type)};
	strcpy((char *)bytes + STR_OFF + end, name);
	end += strlen(name) + 1;
}

static void set_up(void)
{
	static const uint8_t note[] = {4, 0, 0,	  0,   4,   0, 0,    0,	   3, 0,
				       0, 0, 'G', 'N', 'U', 0, 0xab, 0xcd, 1, 2};
	Elf64_Dyn *dynamic = (Elf64_Dyn *)(bytes + DYN_OFF);

	memset(bytes, 0, sizeof(bytes));
	memset(is_missing, 0, sizeof(is_missing));
	head = (Elf64_Ehdr *)bytes;
	phdrs = (Elf64_Phdr *)(bytes + sizeof(*head));
	sections = (Elf64_Shdr *)(bytes + SHDR_OFF);
	symbols = (Elf64_Sym *)(bytes + SYM_OFF);
	memcpy(head->e_ident, ELFMAG, SELFMAG);
	head->e_ident[EI_CLASS] = ELFCLASS64;
	head->e_ident[EI_DATA] = ELFDATA2LSB;
	head->e_phoff = sizeof(*head);
	head->e_phentsize = sizeof(*phdrs);
	head->e_phnum = 3;
	head->e_shoff = SHDR_OFF;
	head->e_shentsize = sizeof(*sections);
	head->e_shnum = 3;
	phdrs[0] = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_offset = CODE_OFF, .p_vaddr = VADDR, .p_filesz = 0x5000};
	phdrs[1] = (Elf64_Phdr){.p_type = PT_NOTE, .p_offset = NOTES_OFF, .p_filesz = sizeof(note)};
	phdrs[2] = (Elf64_Phdr){
		.p_type = PT_DYNAMIC, .p_offset = DYN_OFF, .p_filesz = 4 * sizeof(*dynamic)};
	memcpy(bytes + NOTES_OFF, note, sizeof(note));
	set_symbol(1, "outer", VADDR, 0x100, STT_FUNC);
	set_symbol(2, "inner", VADDR + 0x20, 0x10, STT_FUNC);
	set_symbol(3, "data", VADDR + 0x200, 0x10, STT_OBJECT);
	set_symbol(4, "sizeless", VADDR + 0x300, 0, STT_FUNC);
	set_symbol(5, "chosen", VADDR + 0x400, 8, STT_GNU_IFUNC);
	sections[1] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
				   .sh_link = 2,
				   .sh_offset = SYM_OFF,
				   .sh_size = 6 * sizeof(*symbols)};
	sections[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = STR_OFF, .sh_size = 200};
	dynamic[0] = (Elf64_Dyn){DT_SYMTAB, {VADDR + SYM_OFF - CODE_OFF}};
	dynamic[1] = (Elf64_Dyn){DT_STRTAB, {VADDR + STR_OFF - CODE_OFF}};
	dynamic[2] = (Elf64_Dyn){DT_STRSZ, {200}};
}

/* Expects the function NAME at OFF of the code. NULL: no function is known. */
static void check_function(uint64_t off, const char *name)
{
	struct hv_elf_place place = {.off = CODE_OFF + off};
	HV_AUTO_FREE char *found = NULL;

	hv_elf_find_functions(&file, &place, 1);
	found = place.name;
	ck_assert_ptr_eq(found == NULL ? NULL : "", name ? "" : NULL);
	if (name)
		ck_assert_str_eq(found, name);
}

static void check_all(void)
{
	check_function(0, "outer");
	check_function(0x1f, "outer");
	check_function(0x20, "inner");
	check_function(0x2f, "inner");
	check_function(0x30, "outer");
	check_function(0xff, "outer");
	check_function(0x100, NULL);
	check_function(0x208, NULL);
	check_function(0x300, NULL);
	check_function(0x407, "chosen");
}

START_TEST(functions)
{
	struct hv_elf_place places[] = {
		{.off = CODE_OFF + 0x405}, {.off = 0x100}, {.off = CODE_OFF + 1}};

	check_all();
	hv_elf_find_functions(&file, places, 3);
	ck_assert_str_eq(places[0].name, "chosen");
	ck_assert_uint_eq(places[0].vaddr, VADDR + 0x405);
	ck_assert_ptr_null(places[1].name);
	ck_assert_uint_eq(places[1].vaddr, 0);
	ck_assert_str_eq(places[2].name, "outer");
	ck_assert_uint_eq(places[2].start, VADDR);
	free(places[0].name);
	free(places[2].name);
}
END_TEST

/* The headers of sections are not resident, or there are none. */
START_TEST(functions_of_the_dynamic_linker)
{
	if (_i)
		head->e_shnum = 0;
	else
		is_missing[SHDR_OFF / PAGE] = true;
	check_all();
	((Elf64_Dyn *)(bytes + DYN_OFF))[1].d_un.d_ptr = VADDR; /* strings before the symbols */
	check_function(0, NULL);
}
END_TEST

START_TEST(pages_that_are_not_there)
{
	is_missing[STR_OFF / PAGE] = true;
	check_function(0, NULL);
	is_missing[STR_OFF / PAGE] = false;
	is_missing[SYM_OFF / PAGE] = true;
	check_function(0, NULL);
	is_missing[0] = true;
	check_function(0, NULL);
}
END_TEST

START_TEST(a_file_that_is_wrong)
{
	static const uint8_t wrong[] = {0, 4, 5};

	for (unsigned i = 0; i < HV_ARRAY_LEN(wrong); i++) {
		set_up();
		head->e_ident[wrong[i]]++;
		check_function(0, NULL);
	}
	set_up();
	symbols[1].st_name = symbols[2].st_name = 10000;
	check_function(0, NULL);
	set_up();
	symbols[1].st_size = UINT64_MAX;
	check_function(0x50, NULL);
	set_up();
	memset(bytes + STR_OFF, 'x', PAGE); /* a name without an end */
	sections[2].sh_size = 20;
	check_function(0, NULL);
	set_up();
	sections[1].sh_size = UINT64_MAX;
	sections[1].sh_link = 5;
	head->e_phnum = UINT16_MAX;
	check_function(0, NULL);
}
END_TEST

#define NR_TABLES  4096
#define TABLES_OFF (1u << 20)
#define READS_MAX  2000000

/* Returns headers of tables in one part, and everywhere else symbols that contain all addresses and
 * have no readable name. */
static bool read_endless(void *ctx, uint64_t off, void *buf, size_t len)
{
	const Elf64_Shdr section = {.sh_type = SHT_SYMTAB, .sh_size = UINT64_MAX};
	const Elf64_Sym symbol = {
		.st_size = UINT64_MAX / 2, .st_shndx = 1, .st_info = STT_FUNC, .st_name = 1};
	size_t *nr_reads = ctx, size = sizeof(symbol);
	const void *from = &symbol;

	ck_assert_uint_lt(++*nr_reads, READS_MAX);
	if (off < PAGE)
		return read_page(NULL, off, buf, len);
	if (off - TABLES_OFF < NR_TABLES * sizeof(section)) {
		from = &section;
		size = sizeof(section);
	}
	for (size_t at = 0; at < len; at++)
		((uint8_t *)buf)[at] = ((const uint8_t *)from)[(off - TABLES_OFF + at) % size];
	return len % size == 0;
}

START_TEST(tables_without_end)
{
	size_t nr_reads = 0;
	const struct hv_elf_file endless = {
		.read = read_endless, .ctx = &nr_reads, .len_bytes = UINT64_MAX};
	struct hv_elf_place places[500] = {{0}};

	head->e_shnum = NR_TABLES;
	head->e_shoff = TABLES_OFF;
	for (size_t i = 0; i < HV_ARRAY_LEN(places); i++)
		places[i].off = CODE_OFF + i;
	hv_elf_find_functions(&endless, places, HV_ARRAY_LEN(places));
	for (size_t i = 0; i < HV_ARRAY_LEN(places); i++)
		ck_assert_ptr_null(places[i].name);
}
END_TEST

/* A file with debug information has the symbols, at the addresses of the program. */
START_TEST(functions_of_another_file)
{
	struct hv_elf_place places[] = {{.off = 7, .vaddr = VADDR + 0x21}, {.off = 8}};

	head->e_phnum = 0;
	hv_elf_find_functions_at(&file, places, 2);
	ck_assert_str_eq(places[0].name, "inner");
	ck_assert_ptr_null(places[1].name);
	free(places[0].name);
}
END_TEST

START_TEST(build_ids)
{
	static const uint8_t wanted[] = {0xab, 0xcd, 1, 2};
	uint8_t id[HV_ELF_BUILD_ID_MAX];

	ck_assert_uint_eq(hv_elf_build_id(&file, id), 4);
	ck_assert(memcmp(id, wanted, 4) == 0);
	bytes[NOTES_OFF + 4] = 0xff; /* longer than the notes */
	ck_assert_uint_eq(hv_elf_build_id(&file, id), 0);
	bytes[NOTES_OFF + 7] = 0xff;
	ck_assert_uint_eq(hv_elf_build_id(&file, id), 0);
	phdrs[1].p_filesz = 3;
	ck_assert_uint_eq(hv_elf_build_id(&file, id), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, NULL);
	tcase_add_test(tc, functions);
	tcase_add_loop_test(tc, functions_of_the_dynamic_linker, 0, 2);
	tcase_add_test(tc, pages_that_are_not_there);
	tcase_add_test(tc, a_file_that_is_wrong);
	tcase_add_test(tc, tables_without_end);
	tcase_add_test(tc, functions_of_another_file);
	tcase_add_test(tc, build_ids);
}

int main(void)
{
	return run_suite("elf_symbols", add_tests);
}
