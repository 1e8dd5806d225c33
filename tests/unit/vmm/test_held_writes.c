/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes into the memory of a held VMM. The VMM is a process that shares this memory and waits. */
#include <check.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/lib/run_suite.h"
#include "vmm/held_writes.h"

#define PAGE	 4096
#define NR_PAGES 8 /* plus an inaccessible one after them */
#define FILL	 0x5a
#define LEN	 5u

static pid_t vmm;
static uint8_t *memory;
static uint8_t expected[NR_PAGES * PAGE];
static struct hv_held_writes writes;

static void setup(void)
{
	memory = mmap(NULL, (NR_PAGES + 1) * PAGE, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(memory, MAP_FAILED);
	ck_assert_int_eq(mprotect(memory + sizeof(expected), PAGE, PROT_NONE), 0);
	memset(memory, FILL, sizeof(expected));
	memset(expected, FILL, sizeof(expected));
	vmm = fork();
	if (vmm == 0) { /* never returns to Check, which would write its parent's messages */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	ck_assert_int_ge(vmm, 0);
}

static void teardown(void)
{
	kill(vmm, SIGKILL);
	waitpid(vmm, NULL, 0);
	munmap(memory, (NR_PAGES + 1) * PAGE);
	hv_held_writes_deinit(&writes);
}

static void add(size_t off, bool is_text)
{
	uint8_t bytes[LEN];

	memset(bytes, (int)(off % 251), LEN);
	hv_held_writes_add(&writes, (uintptr_t)memory + off, bytes, LEN);
	writes.list[writes.nr - 1].is_text = is_text;
	if (off + LEN <= sizeof(expected))
		memcpy(expected + off, bytes, LEN);
}

static struct hv_err *make(void)
{
	return hv_held_writes_make(vmm, writes.list, writes.nr, UINT64_MAX);
}

/* Text in one page and in several, at their ends and beyond, adjacent, out of order, twice at one
 * address, and more than one batch. */
START_TEST(only_the_given_bytes_are_written)
{
	static const size_t offs[] = {0,
				      5,
				      16,
				      100,
				      PAGE - 6,
				      PAGE - 2,
				      PAGE + 16,
				      2 * PAGE + 1,
				      2 * PAGE + 9,
				      3 * PAGE,
				      40,
				      3 * PAGE + 32,
				      3 * PAGE + 32,
				      4 * PAGE - LEN,
				      4 * PAGE,
				      2 * PAGE + 5};

	for (size_t i = 0; i < HV_ARRAY_LEN(offs); i++)
		add(offs[i], _i != 0);
	for (size_t off = 5 * PAGE; off < 8 * PAGE; off += 16)
		add(off, _i == 1 || off % 48);
	ck_assert_ptr_null(make());
	ck_assert_mem_eq(memory, expected, sizeof(expected));
}
END_TEST

START_TEST(an_address_without_memory_is_named)
{
	struct hv_err *err;
	char *message;

	add(NR_PAGES * PAGE - 16, true);
	add(NR_PAGES * PAGE + 16, _i != 0);
	if (_i == 2)
		add(NR_PAGES * PAGE + 32, true); /* read before it is written */
	err = make();
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EFAULT);
	message = hv_format("process %d: %s %u bytes at 0x%lx: no memory there", (int)vmm,
			    _i == 2 ? "reading" : "writing", _i == 2 ? 16 + LEN : LEN,
			    (unsigned long)((uintptr_t)memory + NR_PAGES * PAGE + 16));
	ck_assert_str_eq(err->message, message);
	free(message);
	hv_err_free(err);
}
END_TEST

START_TEST(nothing_is_written_after_the_deadline)
{
	struct hv_err *err;

	add(0, true);
	add(16, true);
	err = hv_held_writes_make(vmm, writes.list, writes.nr, hv_now_ns());
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, ETIMEDOUT);
	hv_err_free(err);
	memset(expected, FILL, sizeof(expected));
	ck_assert_mem_eq(memory, expected, sizeof(expected));
}
END_TEST

START_TEST(invalid_lengths)
{
	for (uint32_t len = 0; len <= HV_HELD_WRITE_MAX + 1; len += HV_HELD_WRITE_MAX + 1) {
		struct hv_held_write w = {.hva = (uintptr_t)memory, .len_bytes = len};
		struct hv_err *err = hv_held_writes_make(vmm, &w, 1, UINT64_MAX);

		ck_assert_ptr_nonnull(err);
		ck_assert_int_eq(err->code, EINVAL);
		hv_err_free(err);
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, only_the_given_bytes_are_written, 0, 3);
	tcase_add_loop_test(tc, an_address_without_memory_is_named, 0, 3);
	tcase_add_test(tc, nothing_is_written_after_the_deadline);
	tcase_add_test(tc, invalid_lengths);
}

int main(void)
{
	return run_suite("held_writes", add_tests);
}
