/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the DWARF of dwarf_sample.c, which is compiled with each version of DWARF, and compares it
 * with the compiler's own layout. DWARF_SAMPLES: the files, separated by colons. */
#include "kernel/types/dwarf.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/text.h"
#include "kernel/types/btf.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/types/dwarf_sample.h"

static struct hv_btf *btf;

static struct hv_err *read_types(int fd)
{
	uint8_t *bytes = NULL;
	size_t len_bytes = 0;
	struct hv_err *err = hv_dwarf_to_btf(fd, HV_DWARF_TYPES_MAX, &bytes, &len_bytes);

	return err ? err : hv_btf_new_take(bytes, len_bytes, &btf);
}

static void close_types(void)
{
	hv_btf_free(btf);
	btf = NULL;
}

/* Calls CHECK with the types of each sample. */
static void for_each_sample(void (*check)(void))
{
	HV_AUTO_FREE char *paths = hv_strdup(getenv("DWARF_SAMPLES"));
	unsigned nr = 0;

	for (char *rest = paths, *path; (path = strsep(&rest, ":")); nr++) {
		HV_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
		struct hv_err *err = read_types(fd);

		ck_assert_msg(!err, "%s: %s", path, err ? err->message : "");
		check();
		close_types();
	}
	ck_assert_uint_ge(nr, 5);
}

#define CHECK_MEMBER(type, member)                                                                 \
	do {                                                                                       \
		uint32_t off_, size_;                                                              \
		ck_assert_msg(hv_btf_member(btf, #type, #member, &off_, &size_), #member);         \
		ck_assert_uint_eq(off_, offsetof(struct type, member));                            \
		ck_assert_uint_eq(size_, sizeof(((struct type *)0)->member));                      \
	} while (0)

static void check_members(void)
{
	uint32_t size, off, nr;

	CHECK_MEMBER(sample, comm);
	CHECK_MEMBER(sample, count);
	CHECK_MEMBER(sample, count.counter);
	CHECK_MEMBER(sample, flags);
	CHECK_MEMBER(sample, later);
	CHECK_MEMBER(sample, next);
	CHECK_MEMBER(sample, fn);
	CHECK_MEMBER(sample, low);
	CHECK_MEMBER(sample, first);
	CHECK_MEMBER(sample, second);
	CHECK_MEMBER(sample, table);
	CHECK_MEMBER(sample, state);
	CHECK_MEMBER(sample, value);
	CHECK_MEMBER(sample, value.word);
	CHECK_MEMBER(sample, ratio);
	CHECK_MEMBER(sample_later, of);
	CHECK_MEMBER(sample_later, number);
	ck_assert(hv_btf_size(btf, "sample", &size));
	ck_assert_uint_eq(size, sizeof(struct sample));
	ck_assert(hv_btf_member(btf, "sample", "tail", &off, &size));
	ck_assert_uint_eq(off, offsetof(struct sample, tail));
	ck_assert_uint_eq(size, 0);
	ck_assert(!hv_btf_member(btf, "sample", "no_such", &off, &size));
	ck_assert(hv_btf_bits(btf, "sample", "state", &off, &nr));
	ck_assert_uint_eq(off, 8 * offsetof(struct sample, state));
}

START_TEST(member_offsets_match_the_compiler)
{
	for_each_sample(check_members);
}
END_TEST

/* Writes all ones to a bit-field and looks where they are. */
#define CHECK_BITS(member)                                                                         \
	do {                                                                                       \
		struct sample s_;                                                                  \
		uint32_t off_, nr_;                                                                \
		memset(&s_, 0, sizeof(s_));                                                        \
		s_.member = -1;                                                                    \
		ck_assert_msg(hv_btf_bits(btf, "sample", #member, &off_, &nr_), #member);          \
		for (uint32_t i_ = 0; i_ < 8 * sizeof(s_); i_++)                                   \
			ck_assert_msg((((uint8_t *)&s_)[i_ / 8] >> i_ % 8 & 1) ==                  \
					      (i_ >= off_ && i_ < off_ + nr_),                     \
				      #member ": bit %u, %u bits from %u", i_, nr_, off_);         \
	} while (0)

static void check_bit_fields(void)
{
	CHECK_BITS(a);
	CHECK_BITS(b);
	CHECK_BITS(c);
	CHECK_BITS(is_on);
}

START_TEST(bit_fields_match_the_compiler)
{
	for_each_sample(check_bit_fields);
}
END_TEST

static void check_numbers(void)
{
	int64_t value;

	ck_assert(hv_btf_enumerator(btf, "SAMPLE_LOW", &value));
	ck_assert_int_eq(value, SAMPLE_LOW);
	ck_assert(hv_btf_enumerator(btf, "SAMPLE_HIGH", &value));
	ck_assert_int_eq(value, SAMPLE_HIGH);
	ck_assert(hv_btf_enumerator(btf, "SAMPLE_UNNAMED", &value));
	ck_assert_int_eq(value, SAMPLE_UNNAMED);
	ck_assert(hv_btf_enumerator(btf, "SAMPLE_LARGEST", &value));
	ck_assert_int_eq(value, SAMPLE_LARGEST);
}

START_TEST(enumerators_have_their_values)
{
	for_each_sample(check_numbers);
}
END_TEST

/* The first unit only declares what the second one defines. */
static void check_functions(void)
{
	struct hv_btf_value value, of;
	struct hv_btf_field field;
	struct hv_btf_func func;
	uint32_t type;

	ck_assert(hv_btf_func_find(btf, "sample_use", &func));
	ck_assert_uint_eq(func.nr_params, 2);
	ck_assert_str_eq(hv_btf_param(btf, &func, 1, &type), "nr");
	ck_assert(hv_btf_value(btf, type, &value));
	ck_assert_int_eq(value.form, HV_BTF_INT);
	ck_assert_uint_eq(value.bits, 64);
	ck_assert_str_eq(hv_btf_param(btf, &func, 0, &type), "s");
	ck_assert(hv_btf_value(btf, type, &value) && value.form == HV_BTF_POINTER);
	ck_assert(hv_btf_value(btf, value.to, &of) && of.form == HV_BTF_COMPOUND);
	ck_assert(hv_btf_field(btf, &of, "later", 5, &field));
	ck_assert(hv_btf_value(btf, field.id, &value) && value.form == HV_BTF_POINTER);
	ck_assert(hv_btf_value(btf, value.to, &of) && of.form == HV_BTF_COMPOUND);
	ck_assert(hv_btf_field(btf, &of, "number", 6, &field));
	ck_assert_uint_eq(field.bit_off, 8 * offsetof(struct sample_later, number));
	ck_assert(hv_btf_func_find(btf, "sample_use_later", &func));
	ck_assert_uint_eq(func.nr_params, 1);
}

START_TEST(functions_have_the_types_of_all_units)
{
	for_each_sample(check_functions);
}
END_TEST

static void check_sizes(void)
{
	ck_assert_uint_lt(hv_btf_nr_types(btf), 60);
}

START_TEST(a_type_of_two_units_appears_once)
{
	for_each_sample(check_sizes);
}
END_TEST

static GElf_Shdr section(int fd, const char *name)
{
	Elf *elf = elf_version(EV_CURRENT) ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	size_t names;

	ck_assert_int_eq(elf_getshdrstrndx(elf, &names), 0);
	do {
		scn = elf_nextscn(elf, scn);
		gelf_getshdr(scn, &shdr);
	} while (strcmp(elf_strptr(elf, names, shdr.sh_name), name) != 0);
	elf_end(elf);
	return shdr;
}

static struct hv_err *convert(size_t types_max, bool is_damaged)
{
	HV_AUTO_FREE char *paths = hv_strdup(getenv("DWARF_SAMPLES"));
	HV_AUTO_FREE uint8_t *bytes = NULL;
	HV_AUTO_FREE uint8_t *file = NULL;
	char *rest = paths;
	HV_AUTO_FD int in = open(strsep(&rest, ":"), O_RDONLY | O_CLOEXEC);
	HV_AUTO_FD int fd = memfd_create("sample", MFD_CLOEXEC);
	off_t len = lseek(in, 0, SEEK_END);
	size_t len_bytes;
	GElf_Shdr shdr = section(in, ".debug_info");

	file = hv_alloc((size_t)len);
	ck_assert_int_eq(pread(in, file, (size_t)len, 0), len);
	if (is_damaged)
		memset(file + shdr.sh_offset + 4, 0x63, 2); /* the version */
	ck_assert_int_eq(pwrite(fd, file, (size_t)len, 0), len);
	return hv_dwarf_to_btf(fd, types_max, &bytes, &len_bytes);
}

static void expect(struct hv_err *err, const char *text)
{
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, ENOEXEC);
	ck_assert_msg(strstr(err->message, text) != NULL, "%s", err->message);
	hv_err_free(err);
}

START_TEST(too_many_types_and_damage_are_refused)
{
	ck_assert_ptr_null(convert(HV_DWARF_TYPES_MAX, false));
	expect(convert(3, false), "its DWARF has too many types");
	expect(convert(HV_DWARF_TYPES_MAX, true), "its DWARF is damaged: ");
}
END_TEST

/* Each damage ends with types or with an error. */
START_TEST(damaged_files_are_read_or_refused)
{
	HV_AUTO_FREE char *paths = hv_strdup(getenv("DWARF_SAMPLES"));
	HV_AUTO_FREE uint8_t *bytes = NULL;
	char *rest = paths;
	int in = open(strsep(&rest, ":"), O_RDONLY | O_CLOEXEC);
	int fd = memfd_create("damaged", MFD_CLOEXEC);
	off_t len = lseek(in, 0, SEEK_END);
	unsigned nr_read = 0;
	uint32_t random = 1;

	bytes = hv_alloc((size_t)len);
	ck_assert_int_eq(pread(in, bytes, (size_t)len, 0), len);
	for (unsigned run = 0; run < 400; run++) {
		struct hv_err *err;

		ck_assert_int_eq(pwrite(fd, bytes, (size_t)len, 0), len);
		for (unsigned i = 0; i < 4; i++) {
			random = random * 1103515245u + 12345u;
			ck_assert_int_eq(pwrite(fd, &random, 1, (off_t)(random >> 1) % len), 1);
		}
		err = read_types(fd);
		nr_read += !err;
		hv_err_free(err);
		close_types();
	}
	ck_assert_uint_gt(nr_read, 0);
	ck_assert_int_eq(ftruncate(fd, len / 2), 0);
	hv_err_free(read_types(fd));
	close_types();
	close(in);
	close(fd);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, member_offsets_match_the_compiler);
	tcase_add_test(tc, bit_fields_match_the_compiler);
	tcase_add_test(tc, enumerators_have_their_values);
	tcase_add_test(tc, functions_have_the_types_of_all_units);
	tcase_add_test(tc, a_type_of_two_units_appears_once);
	tcase_add_test(tc, too_many_types_and_damage_are_refused);
	tcase_add_test(tc, damaged_files_are_read_or_refused);
}

int main(void)
{
	return run_suite("dwarf", add_tests);
}
