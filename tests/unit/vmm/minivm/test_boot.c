/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads a kernel, an initrd and a command line into memory, and checks the kernel's boot
 * parameters. */
#include <check.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/lib/run_suite.h"
#include "tests/unit/vmm/minivm/boot_files.h"
#include "vmm/minivm/memory.h"

#define MIB (UINT64_C(1) << 20)

static struct hv_minivm_memory m;
static char kernel[64], initrd[64];
static struct hv_minivm_boot boot;
static struct hv_gpa entry;

static void make_file(char path[64], const char *name, const void *bytes, size_t len)
{
	FILE *f;

	snprintf(path, 64, "/tmp/hvtrace-test-%d-%s", (int)getpid(), name);
	f = fopen(path, "we");
	ck_assert(f && (!len || fwrite(bytes, len, 1, f) == 1) && fclose(f) == 0);
}

static void memory(uint64_t len_bytes)
{
	struct hv_err *err;

	hv_minivm_memory_deinit(&m);
	err = hv_minivm_memory_init(&m, len_bytes);
	ck_assert_msg(!err, "%s", err ? err->message : "");
}

static void setup(void)
{
	uint8_t *file = of_bzimage();

	make_file(kernel, "kernel", file, OF_LEN);
	make_file(initrd, "initrd", "an initrd", 9);
	free(file);
	boot = (struct hv_minivm_boot){kernel, initrd, "quiet", 2};
	memory(64 * MIB);
}

static void teardown(void)
{
	unlink(kernel);
	unlink(initrd);
	hv_minivm_memory_deinit(&m);
}

static void *at(uint64_t gpa)
{
	void *host = hv_minivm_memory_at(&m, hv_gpa(gpa), 1);

	ck_assert_ptr_nonnull(host);
	return host;
}

static void loaded(void)
{
	struct hv_err *err = hv_minivm_boot_load(&m, &boot, &entry);

	ck_assert_msg(!err, "%s", err ? err->message : "");
}

static void refused(int code, const char *why)
{
	struct hv_err *err = hv_minivm_boot_load(&m, &boot, &entry);

	ck_assert_msg(err && strstr(err->message, why), "'%s'", err ? err->message : "");
	ck_assert_int_eq(err->code, code);
	hv_err_free(err);
}

START_TEST(boot_parameters_of_a_bzimage)
{
	const struct boot_params *p = at(HV_MINIVM_BOOT_PARAMS);

	loaded();
	ck_assert_uint_eq(entry.v, 0x1000200);
	ck_assert_uint_eq(*(uint8_t *)at(0x1000000), 0xc5);
	ck_assert_uint_eq(*(uint8_t *)at(0x1000fff), 0xc5);
	ck_assert_uint_eq(p->hdr.init_size, 0x200000); /* from the file */
	ck_assert_uint_eq(p->hdr.type_of_loader, 0xff);
	ck_assert_str_eq(at(p->hdr.cmd_line_ptr), "quiet");
	ck_assert_uint_eq(p->hdr.ramdisk_size, 9);
	ck_assert_uint_eq(p->hdr.ramdisk_image, 64 * MIB - 4096);
	ck_assert_int_eq(memcmp(at(p->hdr.ramdisk_image), "an initrd", 9), 0);
	ck_assert_int_eq(memcmp(at(p->acpi_rsdp_addr), "RSD PTR ", 8), 0);
	ck_assert_uint_eq(p->e820_entries, 3);
	ck_assert_uint_eq(p->e820_table[2].addr + p->e820_table[2].size, 64 * MIB);
}
END_TEST

START_TEST(memory_around_the_hole)
{
	const struct boot_params *p;

	ck_assert_ptr_null(hv_minivm_memory_at(&m, hv_gpa(64 * MIB - 1), 2));
	ck_assert_ptr_null(hv_minivm_memory_at(&m, hv_gpa(64 * MIB), 1));
	ck_assert_ptr_null(hv_minivm_memory_at(&m, hv_gpa(0), ~0ull));
	ck_assert_ptr_null(hv_minivm_memory_at(&m, hv_gpa(HV_MINIVM_HOLE_END), 1));
	ck_assert_ptr_null(hv_minivm_memory_at(&m, hv_gpa(~0ull), 1));
	ck_assert_uint_eq(hv_minivm_memory_end(&m).v, 64 * MIB);
	memory(HV_MINIVM_HOLE + 2 * MIB);
	p = at(HV_MINIVM_BOOT_PARAMS);
	loaded();
	ck_assert_uint_eq(p->e820_entries, 4);
	ck_assert_uint_eq(p->e820_table[3].addr, HV_MINIVM_HOLE_END);
	ck_assert_uint_eq(p->e820_table[3].size, 2 * MIB);
	ck_assert_uint_eq(p->hdr.ramdisk_image, 0x80000000 - 4096); /* the kernel's limit */
	ck_assert_ptr_eq(at(HV_MINIVM_HOLE_END), m.host + HV_MINIVM_HOLE);
	ck_assert_ptr_null(hv_minivm_memory_at(&m, hv_gpa(HV_MINIVM_HOLE - 1), 2));
	ck_assert_uint_eq(hv_minivm_memory_end(&m).v, HV_MINIVM_HOLE_END + 2 * MIB);
}
END_TEST

START_TEST(boot_parameters_of_an_elf_kernel)
{
	const struct boot_params *p = at(HV_MINIVM_BOOT_PARAMS);
	uint8_t *file = of_elf();

	make_file(kernel, "kernel", file, OF_ELF_LEN);
	free(file);
	loaded();
	ck_assert_uint_eq(*(uint8_t *)at(0x12000ff), 0xc6);
	ck_assert_uint_eq(*(uint8_t *)at(0x1200100), 0);
	ck_assert_uint_eq(p->hdr.boot_flag, 0xaa55);
	ck_assert_int_eq(memcmp(&p->hdr.header, "HdrS", 4), 0);
}
END_TEST

START_TEST(output_that_does_not_fit)
{
	uint8_t *file = of_bzimage();
	char *big = hv_alloc(102);

	of_header(file)->init_size = 48 * MIB - 4096;
	make_file(kernel, "kernel", file, OF_LEN);
	loaded();
	of_header(file)->init_size = 48 * MIB;
	make_file(kernel, "kernel", file, OF_LEN);
	refused(ENOMEM,
		"an initrd of 1 MiB does not fit: the machine has 64 MiB of memory, and the "
		"kernel uses the first 64");
	of_header(file)->init_size = 49 * MIB;
	make_file(kernel, "kernel", file, OF_LEN);
	refused(ENOMEM, "needs 65 MiB of memory to start: the machine has 64 MiB");
	free(file);
	memset(big, 'a', 101);
	boot.append = big;
	memory(128 * MIB);
	refused(E2BIG, "the command line has 101 bytes: this kernel accepts 100");
	free(big);
}
END_TEST

START_TEST(unusable_files)
{
	boot.kernel_path = "/nonexistent/kernel";
	refused(ENOENT, "/nonexistent/kernel: No such file");
	boot.kernel_path = "/dev/null";
	refused(EINVAL, "/dev/null: not a regular file");
	boot.kernel_path = kernel;
	boot.initrd_path = "/";
	refused(EINVAL, "/: not a regular file");
	make_file(initrd, "initrd", "", 0);
	boot.initrd_path = initrd;
	refused(ENOEXEC, "initrd: the file is empty");
	ck_assert_int_eq(truncate(initrd, (2ll << 30) + 1), 0);
	refused(EFBIG, "initrd: more than 2 GiB");
}
END_TEST

START_TEST(unusable_memory_sizes)
{
	struct hv_minivm_memory other;
	static const struct {
		uint64_t len;
		const char *why;
	} cases[] = {{0, "at least 64 MiB"},
		     {64 * MIB - 4096, "at least 64 MiB"},
		     {1ull << 62, "this host has"},
		     {64 * MIB + 1, "4 KiB"}};

	for (size_t i = 0; i < HV_ARRAY_LEN(cases); i++) {
		struct hv_err *err = hv_minivm_memory_init(&other, cases[i].len);

		ck_assert_msg(err && strstr(err->message, cases[i].why), "%zu", i);
		hv_err_free(err);
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, boot_parameters_of_a_bzimage);
	tcase_add_test(tc, memory_around_the_hole);
	tcase_add_test(tc, boot_parameters_of_an_elf_kernel);
	tcase_add_test(tc, output_that_does_not_fit);
	tcase_add_test(tc, unusable_files);
	tcase_add_test(tc, unusable_memory_sizes);
}

int main(void)
{
	return run_suite("minivm_boot", add_tests);
}
