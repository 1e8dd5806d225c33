/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process that allocates endlessly gets an error while the session can still allocate. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/confine.h"
#include "cli/service/memory.h"
#include "tests/lib/run_suite.h"

#define MIB ((size_t)1 << 20)

START_TEST(clients_are_refused_first)
{
	HV_AUTO_ERR struct hv_err *err = NULL;
	void *shared;
	unsigned nr = 0;

	ck_assert_ptr_null(hv_limit_memory(MEMORY_KEPT_BYTES + 512 * MIB));
	for (; !err && nr < 10000; nr++) {
		err = memory_check();
		if (!err)
			ck_assert_ptr_nonnull(malloc(MIB));
	}
	ck_assert_uint_gt(nr, 100);
	ck_assert_uint_lt(nr, 520);
	ck_assert_int_eq(err->code, ENOMEM);
	ck_assert_ptr_nonnull(strstr(err->message, "MiB of memory left, which it keeps for itself: "
						   "make buffers smaller, or remove instances"));
	/* The session itself can still allocate. */
	for (unsigned i = 0; i < 200; i++)
		ck_assert_ptr_nonnull(malloc(MIB));
	/* The guest's RAM does not count. */
	shared = mmap(NULL, 1024 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(shared, MAP_FAILED);
	/* The limit cannot be raised again. */
	ck_assert_ptr_null(memory_limit());
	for (nr = 0; nr < 10000 && malloc(MIB); nr++)
		;
	ck_assert_uint_lt(nr, 300);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, clients_are_refused_first);
}

int main(void)
{
	return run_suite_in(CK_FORK, "memory", add_tests);
}
