/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small ELF files written with libelf and read as a vmlinux. */
#include "kernel/image/vmlinux.h"

#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/image/vmlinux_file.h"

static char type_of(const struct hv_vmlinux *v, const char *name)
{
	for (size_t i = 0; i < v->symbols.nr; i++)
		if (strcmp(v->symbols.by_addr[i].name, name) == 0)
			return v->symbols.by_addr[i].type;
	return 0;
}

static void open_good(struct elf_file f, struct hv_vmlinux *v)
{
	struct hv_err *err;

	write_file(f);
	err = hv_vmlinux_open(&(struct hv_vmlinux_file){elf_path, -1}, v);
	ck_assert_msg(!err, "%s", err ? err->message : "");
}

START_TEST(reads_everything)
{
	struct hv_vmlinux v;
	struct hv_gva addr;

	open_good(good, &v);
	ck_assert_str_eq(v.arch, "x86_64");
	ck_assert_uint_eq(v.build_id_len_bytes, 4);
	ck_assert_mem_eq(v.build_id, "\x11\x22\x33\x44", 4);
	ck_assert_uint_eq(v.btf_len_bytes, 4);
	ck_assert_mem_eq(v.btf, "btf!", 4);
	ck_assert_uint_eq(v.symbols.nr, 6);
	ck_assert_int_eq(type_of(&v, "static_fn"), 't');
	ck_assert_int_eq(type_of(&v, "global_fn"), 'T');
	ck_assert_int_eq(type_of(&v, "weak_fn"), 'W');
	ck_assert_int_eq(type_of(&v, "table"), 'R');
	ck_assert_int_eq(type_of(&v, "absolute"), 'A');
	ck_assert_int_eq(type_of(&v, "cpu_number"), 'A');
	ck_assert(hv_symbols_find(&v.symbols, "static_fn", &addr));
	ck_assert_uint_eq(addr.v, TEXT + 32);
	ck_assert_str_eq(hv_symbols_at(&v.symbols, hv_gva(TEXT + 20))->name, "global_fn");
	hv_vmlinux_deinit(&v);
}
END_TEST

static void check_locs(struct elf_file f)
{
	struct hv_vmlinux v;

	open_good(f, &v);
	ck_assert_uint_eq(v.nr_mcount_locs, 2);
	ck_assert_uint_eq(v.mcount_locs[0], TEXT + 16);
	ck_assert_uint_eq(v.mcount_locs[1], TEXT + 32);
	hv_vmlinux_deinit(&v);
}

START_TEST(mcount_locs_from_the_section)
{
	check_locs(good);
}
END_TEST

START_TEST(mcount_locs_from_relocations)
{
	struct elf_file f = good;

	f.relocated = true;
	f.type = ET_DYN;
	check_locs(f);
}
END_TEST

static void check_refused(struct elf_file f, int code, const char *what)
{
	struct hv_vmlinux v;
	struct hv_err *err;

	if (f.type)
		write_file(f);
	err = hv_vmlinux_open(&(struct hv_vmlinux_file){elf_path, -1}, &v);
	ck_assert_msg(err != NULL, "%s", what);
	ck_assert_int_eq(err->code, code);
	ck_assert_msg(strstr(err->message, what) != NULL, "%s", err->message);
	hv_err_free(err);
}

START_TEST(refuses_other_files)
{
	struct elf_file f = good;
	struct hv_vmlinux v;
	struct hv_err *err;

	f.machine = EM_386;
	check_refused(f, ENOEXEC, ": an ELF file for machine 3, 64 bit, which is not supported");
	f = good;
	f.type = ET_REL;
	check_refused(f, ENOEXEC, "no linked kernel");
	f = good;
	f.with_symbols = false;
	check_refused(f, ENOENT, "no .symtab");
	ck_assert_int_eq(truncate(elf_path, 40), 0);
	check_refused((struct elf_file){0}, ENOEXEC, "not an ELF file");
	ck_assert_int_eq(truncate(elf_path, 0), 0);
	check_refused((struct elf_file){0}, ENOEXEC, "not an ELF file");
	err = hv_vmlinux_open(&(struct hv_vmlinux_file){"/nonexistent/vmlinux", -1}, &v);
	ck_assert_int_eq(err->code, ENOENT);
	hv_err_free(err);
}
END_TEST

START_TEST(tables_of_a_size_that_no_kernel_has)
{
	static const struct elf_symbol sites[] = {{"__start_mcount_loc", MCOUNT},
						  {"__stop_mcount_loc", MCOUNT + 8 * 1000001}};
	struct elf_file f = good;

	f.without_entries = true;
	check_refused(f, ENOEXEC, ": .symtab has 0 symbols, none or too many");
	f = good;
	f.more = sites;
	f.nr_more = HV_ARRAY_LEN(sites);
	check_refused(f, ENOEXEC,
		      ": __mcount_loc has 1000001 entries; at most 1000000 are possible");
}
END_TEST

/* The section count and the index of the section names are in section 0, which is missing. */
START_TEST(a_file_without_sections)
{
	HV_AUTO_FD int fd = -1;
	const uint16_t in_table = SHN_XINDEX;

	write_file(good);
	fd = open(elf_path, O_RDWR);
	ck_assert_int_eq(pwrite(fd, (const uint64_t[]){0}, 8, offsetof(Elf64_Ehdr, e_shoff)), 8);
	ck_assert_int_eq(pwrite(fd, &in_table, 2, offsetof(Elf64_Ehdr, e_shstrndx)), 2);
	ck_assert_int_eq(ftruncate(fd, sizeof(Elf64_Ehdr)), 0);
	check_refused((struct elf_file){0}, ENOENT, ": no .symtab (stripped)");
}
END_TEST

/* A file truncated anywhere gives an error or less information, and never a crash. */
START_TEST(survives_truncation)
{
	off_t len;

	write_file(good);
	{
		HV_AUTO_FD int fd = open(elf_path, O_RDONLY);

		len = lseek(fd, 0, SEEK_END);
	}
	for (off_t cut = len - 1; cut > 0; cut -= 7) {
		struct hv_vmlinux v;
		struct hv_err *err;

		ck_assert_int_eq(truncate(elf_path, cut), 0);
		err = hv_vmlinux_open(&(struct hv_vmlinux_file){elf_path, -1}, &v);
		if (!err)
			hv_vmlinux_deinit(&v);
		hv_err_free(err);
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, reads_everything);
	tcase_add_test(tc, mcount_locs_from_the_section);
	tcase_add_test(tc, mcount_locs_from_relocations);
	tcase_add_test(tc, refuses_other_files);
	tcase_add_test(tc, tables_of_a_size_that_no_kernel_has);
	tcase_add_test(tc, a_file_without_sections);
	tcase_add_test(tc, survives_truncation);
}

int main(void)
{
	int status;

	close(mkstemp(elf_path));
	status = run_suite("vmlinux", add_tests);
	unlink(elf_path);
	return status;
}
