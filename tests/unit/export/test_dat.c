/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trace.dat file on a file system that limits its size, one that cannot be compressed, and one
 * whose gaps cannot be removed. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export/export.h"
#include "export/output.h"
#include "tests/lib/expect.h"
#include "tests/lib/failing_call.h"
#include "tests/lib/run_suite.h"
#include "tests/lib/zstd_without_memory.h"

#define PAGE_BYTES 4096
#define HEAD_BYTES 16 /* page header: a time and the length of the events */
#define MIB	   (UINT64_C(1) << 20)
#define EMPTY                                                                                      \
	{                                                                                          \
		"", 0                                                                              \
	}

static const struct hv_export_head head = {
	.nr_cpus = 2,
	.page_bytes = PAGE_BYTES,
	.program = "p",
	.kernel = "k",
	.clock = "global",
	.trace_clock = EMPTY,
	.header_page = EMPTY,
	.header_event = EMPTY,
	.kallsyms = EMPTY,
	.printk_formats = EMPTY,
};
static struct hv_export_config config;
static struct hv_export *file;

static void setup(void)
{
	signal(SIGXFSZ, SIG_IGN);
	config = (struct hv_export_config){.path = "t.dat", .fd = memfd_create("dat", MFD_CLOEXEC)};
	ck_assert_int_ge(config.fd, 0);
	file = NULL;
}

static void limit_files(uint64_t bytes)
{
	const struct rlimit limit = {bytes, RLIM_INFINITY};

	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void teardown(void)
{
	limit_files(RLIM_INFINITY);
	if (file)
		hv_export_free(file);
	close(config.fd);
}

/* Adds a full page, so that it cannot be joined with others. */
static struct hv_err *add_page(unsigned cpu)
{
	const uint64_t page_head[2] = {1, PAGE_BYTES - HEAD_BYTES};
	uint8_t page[PAGE_BYTES] = {0};

	memcpy(page, page_head, sizeof(page_head));
	return hv_export_add(file, cpu, (struct hv_span){page, sizeof(page)});
}

START_TEST(a_file_that_is_too_small)
{
	limit_files(2 * MIB);
	expect_error(hv_export_open(&hv_export_dat, &config, &head, &file), EFBIG,
		     "t.dat: files of 2097152 bytes are too small for 2 vCPUs");
	ck_assert_ptr_null(file);
}
END_TEST

START_TEST(a_vcpu_whose_area_is_full)
{
	static const char message[] =
		"t.dat: full: vCPU 1 has %u bytes, and a file has no room for more%n";
	struct hv_err *err = NULL;
	unsigned nr_bytes = 0;
	int len = 0;

	limit_files(4 * MIB);
	expect_success(hv_export_open(&hv_export_dat, &config, &head, &file));
	expect_success(add_page(0));
	while (!err)
		err = add_page(1);
	ck_assert_int_eq(err->code, EFBIG);
	ck_assert_msg(sscanf(err->message, message, &nr_bytes, &len) == 1 && !err->message[len],
		      "%s", err->message);
	ck_assert_uint_gt(nr_bytes, MIB);
	hv_err_free(err);
	/* the last page of vCPU 1 was not written */
	expect_error(hv_export_end(file), EFBIG, "t.dat: full: vCPU 1 has ");
}
END_TEST

START_TEST(data_that_is_not_compressed)
{
	static const char message[] = "t.dat: zstd: Allocation error : not enough memory";
	struct hv_output output;

	config.compression = HV_COMPRESSION_ZSTD;
	expect_success(hv_export_open(&hv_export_dat, &config, &head, &file));
	expect_success(add_page(0));
	hv_output_init(&output, &config);
	hv_text_add(&output.pending, "a line\n");
	expect_success(hv_output_mark(&output));
	has_no_memory = true;
	expect_error(hv_export_end(file), EIO, message);
	expect_error(hv_output_end(&output), EIO, message);
	has_no_memory = false;
	hv_output_deinit(&output);
}
END_TEST

static off_t size_of_file(void)
{
	struct stat st;

	ck_assert_int_eq(fstat(config.fd, &st), 0);
	return st.st_size;
}

static struct hv_err *end_file(void *ctx hv_unused)
{
	return hv_export_end(file);
}

/* The file is readable with its gaps, so this is no error. */
START_TEST(gaps_that_cannot_be_removed)
{
	static const struct failing_call no_copy[] = {
		{SCMP_SYS(fallocate), EOPNOTSUPP}, {SCMP_SYS(copy_file_range), EIO}, {0}};
	off_t with_gaps;

	expect_success(hv_export_open(&hv_export_dat, &config, &head, &file));
	expect_success(add_page(0));
	expect_success(add_page(1));
	expect_failure(no_copy, end_file, NULL, 0, "no error");
	with_gaps = size_of_file();
	ck_assert_int_gt(with_gaps, 1ll << 40);
	expect_success(hv_export_end(file));
	ck_assert_int_lt(size_of_file(), (off_t)(2 * MIB));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_file_that_is_too_small);
	tcase_add_test(tc, a_vcpu_whose_area_is_full);
	tcase_add_test(tc, data_that_is_not_compressed);
	tcase_add_test(tc, gaps_that_cannot_be_removed);
}

int main(void)
{
	return run_suite("dat", add_tests);
}
