/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that is truncated while it is mapped: copies fail, other accesses read zeros, and this
 * process survives. */
#include <check.h>
#include <linux/memfd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/guard.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "vmm/shared_memory.h"

#define PAGE 4096u
#define LEN  (4 * PAGE)

static int fd;
static uint8_t *memory;

static void setup(void)
{
	fd = memfd_create("shared", MFD_CLOEXEC);
	ck_assert_int_eq(ftruncate(fd, LEN), 0);
	ck_assert_ptr_null(hv_shared_map(fd, 0, LEN, PROT_READ | PROT_WRITE, &memory));
	memset(memory, 0x11, LEN);
}

static void teardown(void)
{
	hv_shared_unmap(memory, LEN);
	close(fd);
}

static void read_fails(uint64_t off, size_t len)
{
	uint8_t to[2 * PAGE];

	expect_error(hv_shared_read(to, memory + off, len), EFAULT,
		     "hvtrace's mapping of its memory is gone (SIGBUS: a truncated or full file, "
		     "or a broken page)");
}

static void read_succeeds(uint64_t off, size_t len)
{
	uint8_t to[2 * PAGE] = {0};

	ck_assert_ptr_null(hv_shared_read(to, memory + off, len));
	ck_assert_mem_eq(to, memory + off, len);
}

START_TEST(copies_fail)
{
	read_succeeds(PAGE, 2 * PAGE);
	ck_assert_int_eq(ftruncate(fd, 2 * PAGE), 0);
	for (unsigned i = 0; i < 3; i++) {
		read_fails(2 * PAGE + 5, 8);
		read_fails(PAGE + 1, 2 * PAGE - 1);
		read_succeeds(PAGE, PAGE);
	}
	ck_assert(!hv_shared_is_lost(memory, LEN));
	ck_assert_int_eq(ftruncate(fd, LEN), 0);
	read_succeeds(PAGE, 2 * PAGE);
}
END_TEST

START_TEST(other_accesses_find_zeros)
{
	volatile uint8_t *byte = memory + 3 * PAGE + 9;

	ck_assert_int_eq(ftruncate(fd, 2 * PAGE), 0);
	ck_assert_uint_eq(*byte, 0);
	*byte = 7;
	ck_assert_uint_eq(*byte, 7);
	ck_assert(hv_shared_is_lost(memory, LEN));
	ck_assert(hv_shared_is_lost(memory + 3 * PAGE, PAGE));
	ck_assert(!hv_shared_is_lost(memory, 3 * PAGE));
	read_fails(2 * PAGE, 8);
	ck_assert_uint_eq(memory[0], 0x11);
}
END_TEST

/* Tested only if the machine has free huge pages: the unit tests reserve none. */
#define HUGE_PAGE (2u << 20)

START_TEST(huge_pages_are_replaced_as_a_whole)
{
	int huge_fd = memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB | MFD_HUGE_2MB);
	HV_AUTO_ERR struct hv_err *err = NULL;
	volatile uint8_t *huge;
	uint8_t *host = NULL;

	if (huge_fd >= 0 && ftruncate(huge_fd, 2 * HUGE_PAGE) == 0)
		err = hv_shared_map(huge_fd, 0, 2 * HUGE_PAGE, PROT_READ | PROT_WRITE, &host);
	if (!host) {
		fprintf(stderr, "skipped: no huge pages are free\n");
		return;
	}
	huge = host;
	huge[0] = 0x11;
	huge[HUGE_PAGE + 5 * PAGE] = 0x22;
	ck_assert_int_eq(ftruncate(huge_fd, HUGE_PAGE), 0);
	ck_assert_uint_eq(huge[HUGE_PAGE + 5 * PAGE], 0);
	ck_assert_uint_eq(huge[0], 0x11);
	ck_assert(hv_shared_is_lost((uint8_t *)huge + HUGE_PAGE, HUGE_PAGE));
	ck_assert(!hv_shared_is_lost((uint8_t *)huge, HUGE_PAGE));
	hv_shared_unmap(host, 2 * HUGE_PAGE);
	close(huge_fd);
}
END_TEST

/* So that the host's kernel can use huge pages. */
START_TEST(mappings_are_aligned_like_the_file)
{
	const uint64_t offs[] = {0, PAGE, HUGE_PAGE - PAGE, HUGE_PAGE};
	int file = memfd_create("file", MFD_CLOEXEC);

	ck_assert_int_eq(ftruncate(file, 6 * HUGE_PAGE), 0);
	for (size_t i = 0; i < sizeof(offs) / sizeof(*offs); i++) {
		uint8_t *hosts[3];

		/* Several, because one may be aligned by chance. */
		for (unsigned j = 0; j < 3; j++) {
			ck_assert_ptr_null(hv_shared_map(file, offs[i], 2 * HUGE_PAGE + j * PAGE,
							 PROT_READ | PROT_WRITE, &hosts[j]));
			ck_assert_uint_eq((uintptr_t)hosts[j] % HUGE_PAGE, offs[i] % HUGE_PAGE);
			hosts[j][2 * HUGE_PAGE - 1] = 1;
		}
		for (unsigned j = 0; j < 3; j++)
			hv_shared_unmap(hosts[j], 2 * HUGE_PAGE + j * PAGE);
	}
	close(file);
}
END_TEST

/* A peer may name any range. Its sums must not overflow, since other mappings would be removed. */
START_TEST(ranges_that_no_file_has)
{
	static const uint64_t ranges[][2] = {{0, 0 - (uint64_t)HUGE_PAGE + PAGE},
					     {0, 0 - (uint64_t)PAGE},
					     {0, INT64_MAX},
					     {0 - (uint64_t)PAGE, 2 * HUGE_PAGE},
					     {(uint64_t)INT64_MAX - PAGE + 1, 2 * HUGE_PAGE},
					     {1, 2 * HUGE_PAGE},
					     {0, 0}};
	int file = memfd_create("file", MFD_CLOEXEC);
	uint8_t *host = NULL;

	ck_assert_int_eq(ftruncate(file, 6 * HUGE_PAGE), 0);
	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
		expect_error(hv_shared_map(file, ranges[i][0], ranges[i][1], PROT_READ, &host),
			     EINVAL, "cannot map the guest's memory: no file can have ");
		ck_assert_ptr_null(host);
	}
	close(file);
}
END_TEST

/* Memory that cannot be guarded is not mapped: a VMM chooses the number of its RAM's mappings. */
START_TEST(every_mapping_has_a_guard)
{
	uint8_t *at = NULL;
	unsigned nr = 0;
	struct hv_err *err = NULL;

	for (; !err; nr++)
		err = hv_shared_map(fd, 0, PAGE, PROT_READ, &at);
	expect_error(err, ENOSPC, "more than 1024 mappings of other processes' memory");
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	ck_assert_uint_eq(*(volatile uint8_t *)at, 0);
	hv_shared_unmap(at, PAGE);
	ck_assert_ptr_null(hv_shared_map(fd, 0, PAGE, PROT_READ, &at));
}
END_TEST

START_TEST(a_fault_in_other_memory_ends_the_process)
{
	volatile uint8_t *other = mmap(NULL, LEN, PROT_READ, MAP_SHARED, fd, 0);

	ck_assert(other != MAP_FAILED);
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	*other;
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, copies_fail);
	tcase_add_test(tc, other_accesses_find_zeros);
	tcase_add_test(tc, mappings_are_aligned_like_the_file);
	tcase_add_test(tc, ranges_that_no_file_has);
	tcase_add_test(tc, every_mapping_has_a_guard);
	tcase_add_test(tc, huge_pages_are_replaced_as_a_whole);
	tcase_add_test_raise_signal(tc, a_fault_in_other_memory_ends_the_process, SIGBUS);
}

int main(void)
{
	return run_suite_in(CK_FORK, "shared_memory", add_tests);
}
