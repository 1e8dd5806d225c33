/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which pages are unmapped before text in them is written, on a host whose instruction caches do not
 * see writes. This process acts as the VMM. */
#include <check.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

#include "base/text.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/vmm/inject/fake_keeper.h"
#include "vmm/inject/icache.h"

#define PAGE 4096ull

static void add(struct hv_held_writes *w, uint64_t hva, size_t len)
{
	hv_held_writes_add(w, hva, &(uint64_t){0}, len);
	w->list[w->nr - 1].is_text = true;
}

bool hv_icache_is_coherent(void)
{
	return false;
}

static struct {
	long failing; /* the system call that fails with CODE */
	int code;
} vmm;
static unsigned nr_calls;

struct hv_err *hv_keeper_calls(struct hv_keeper *k, struct hv_call *calls, size_t nr, void *data,
			       size_t len_bytes)
{
	(void)k, (void)data, (void)len_bytes;
	for (size_t i = 0; i < nr; i++)
		calls[i].result = calls[i].nr == vmm.failing ? -vmm.code : 0;
	nr_calls += (unsigned)nr;
	return NULL;
}

START_TEST(pages_of_text)
{
	HV_AUTO_HELD_WRITES struct hv_held_writes w = {0};
	HV_AUTO_FREE struct hv_icache_run *runs = NULL;
	uint64_t block = 5 * HV_ICACHE_BLOCK;

	add(&w, block + 2 * PAGE + 4, 4);
	add(&w, block + 7 * PAGE + 4092, 4);
	add(&w, block + 3 * PAGE, 8);
	hv_held_writes_add(&w, block + 100 * PAGE, &(uint64_t){0}, 8); /* no text */
	add(&w, block + 3 * HV_ICACHE_BLOCK, 4);
	add(&w, block + 9 * PAGE, 4);
	ck_assert_uint_eq(hv_icache_runs(&w, PAGE, &runs), 2);
	ck_assert_uint_eq(runs[0].start, block + 2 * PAGE);
	ck_assert_uint_eq(runs[0].end, block + 10 * PAGE);
	ck_assert_uint_eq(runs[1].start, block + 3 * HV_ICACHE_BLOCK);
	ck_assert_uint_eq(runs[1].end, block + 3 * HV_ICACHE_BLOCK + PAGE);
}
END_TEST

/* A write across pages touches two of them, also at the end of a block. */
START_TEST(across_pages)
{
	HV_AUTO_HELD_WRITES struct hv_held_writes w = {0};
	HV_AUTO_FREE struct hv_icache_run *runs = NULL;

	add(&w, HV_ICACHE_BLOCK - 4, 8);
	ck_assert_uint_eq(hv_icache_runs(&w, PAGE, &runs), 2);
	ck_assert_uint_eq(runs[0].start, HV_ICACHE_BLOCK - PAGE);
	ck_assert_uint_eq(runs[0].end, HV_ICACHE_BLOCK);
	ck_assert_uint_eq(runs[1].start, HV_ICACHE_BLOCK);
	ck_assert_uint_eq(runs[1].end, HV_ICACHE_BLOCK + PAGE);
}
END_TEST

START_TEST(none)
{
	HV_AUTO_HELD_WRITES struct hv_held_writes w = {0};
	HV_AUTO_FREE struct hv_icache_run *runs = NULL;

	hv_held_writes_add(&w, PAGE, &(uint64_t){0}, 8);
	ck_assert_uint_eq(hv_icache_runs(&w, 65536, &runs), 0);
}
END_TEST

/* Memory of the VMM, and the system call that unmaps it from the guest. */
static const struct {
	int flags;
	long call;
	const char *name;
} mappings[] = {{MAP_SHARED, SYS_madvise, "madvise"}, {MAP_PRIVATE, SYS_mprotect, "mprotect"}};

START_TEST(pages_that_cannot_be_unmapped)
{
	/* between pages that it is not merged with */
	uint8_t *room = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *page = mmap(room + PAGE, PAGE, PROT_READ | PROT_WRITE,
			     mappings[_i].flags | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	HV_AUTO_HELD_WRITES struct hv_held_writes w = {0};
	HV_AUTO_FREE char *message = hv_format(
		"text at %p in the VMM cannot be made coherent with instruction caches: %s: "
		"Operation not permitted",
		(void *)page, mappings[_i].name);

	ck_assert_ptr_ne(page, MAP_FAILED);
	add(&w, (uint64_t)(uintptr_t)page, 4);
	vmm.failing = mappings[_i].call;
	vmm.code = EPERM;
	expect_error(hv_icache_prepare(getpid(), NULL, &w), EPERM, message);
	vmm.failing = 0;
	expect_success(hv_icache_prepare(getpid(), NULL, &w));
	munmap(room, 3 * PAGE);
}
END_TEST

static bool is_huge; /* the file of each mapping */

/* Replaces the function of the C library. */
int statfs(const char *path, struct statfs *ret)
{
	(void)path;
	*ret = (struct statfs){.f_type = is_huge ? HUGETLBFS_MAGIC : TMPFS_MAGIC};
	return 0;
}

START_TEST(huge_pages)
{
	uint8_t *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	HV_AUTO_HELD_WRITES struct hv_held_writes w = {0};

	ck_assert_ptr_ne(page, MAP_FAILED);
	add(&w, (uint64_t)(uintptr_t)page, 4);
	is_huge = true;
	expect_error(hv_icache_prepare(getpid(), NULL, &w), ENOTSUP,
		     "the guest's RAM is in huge pages of hugetlbfs, which cannot be made coherent "
		     "with the instruction caches of this host's CPUs");
	is_huge = false;
	munmap(page, PAGE);
}
END_TEST

START_TEST(pages_that_the_vmm_has_unmapped)
{
	HV_AUTO_HELD_WRITES struct hv_held_writes w = {0};
	HV_AUTO_FREE char *message =
		hv_format("process %d: mappings of the guest's text changed; retry", (int)getpid());

	nr_calls = 0;
	add(&w, PAGE, 4);
	expect_error(hv_icache_prepare(getpid(), NULL, &w), EAGAIN, message);
	ck_assert_uint_eq(nr_calls, 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, pages_of_text);
	tcase_add_test(tc, across_pages);
	tcase_add_test(tc, none);
	tcase_add_loop_test(tc, pages_that_cannot_be_unmapped, 0, HV_ARRAY_LEN(mappings));
	tcase_add_test(tc, huge_pages);
	tcase_add_test(tc, pages_that_the_vmm_has_unmapped);
}

int main(void)
{
	return run_suite("inject_icache", add_tests);
}
