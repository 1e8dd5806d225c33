/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's own kprobes: where they are found, and the errors for corrupt lists. */
#include "kernel/code/own_kprobes.h"

#include <check.h>

#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/fake_kernel.h"

/* struct kprobe */
#define HLIST 8u
#define ADDR  32u
#define FLAGS 96u
#define BYTES 104u
#define OWNER 16u /* of struct mutex */

static struct fk f;
static uint64_t table, lock, probes;

enum shape { NONE, USUAL, REALTIME, NO_TABLE, NO_OWNER, TOO_LONG };

static void make(enum shape shape)
{
	uint32_t node, base;

	fk_init(&f);
	table = fk_alloc(&f, 512);
	lock = fk_alloc(&f, 64);
	probes = fk_alloc(&f, 4096);
	node = FK_STRUCT("hlist_node", 16, {"next", 0, 8}, {"pprev", 8, 8});
	base = FK_STRUCT("rt_mutex_base", 24, {"owner", 8, 8});
	FK_STRUCT("kprobe", BYTES, {"hlist", HLIST, 0, node}, {"addr", ADDR, 8},
		  {"flags", shape == TOO_LONG ? 1021 : FLAGS, 4});
	if (shape == REALTIME)
		FK_STRUCT("mutex", 40, {"rtmutex", OWNER - 8, 0, base});
	else if (shape != NO_OWNER)
		FK_STRUCT("mutex", 32, {"owner", OWNER, 8});
	if (shape != NONE)
		fk_symbol(&f, "register_kprobe", FK_BASE + 0x100);
	if (shape != NO_TABLE)
		fk_symbol(&f, "kprobe_table", table);
	fk_symbol(&f, "kprobe_mutex", lock);
	fk_done(&f);
}

static void tear_down(void)
{
	fk_deinit(&f);
}

static struct hv_own_kprobes_layout find(void)
{
	struct hv_own_kprobes_layout l = {.exists = false};
	struct hv_err *err = hv_own_kprobes_find(&f.k.core, &l);

	ck_assert_msg(!err, "%s", err ? err->message : "");
	return l;
}

/* Adds probe NR to the list HEAD, before the existing ones. */
static void add(unsigned head, unsigned nr, uint64_t at, uint32_t flags)
{
	uint64_t probe = probes + 128 * nr, first;

	memcpy(&first, fk_host(&f, table + 8 * head), 8);
	fk_u64(&f, probe + HLIST, first);
	fk_u64(&f, probe + ADDR, at);
	fk_u32(&f, probe + FLAGS, flags);
	fk_u64(&f, table + 8 * head, probe + HLIST);
}

static bool any(const struct hv_own_kprobes *p, uint64_t from, uint64_t to)
{
	return hv_own_kprobes_any(p, (struct hv_gva_range){hv_gva(from), hv_gva(to)});
}

START_TEST(all_but_those_of_ftrace)
{
	struct hv_own_kprobes_layout l;
	struct hv_own_kprobes p = {0};

	make(USUAL);
	add(0, 0, 0x300, 0);
	add(0, 1, 0x100, 2); /* disabled */
	add(63, 2, 0x200, 4);
	add(5, 3, 0x180, 8); /* uses ftrace */
	l = find();
	ck_assert_ptr_null(hv_own_kprobes_read(&f.k.core.as, &l, &p));
	ck_assert(!p.are_locked);
	ck_assert_uint_eq(p.nr, 3);
	ck_assert(any(&p, 0x100, 0x101));
	ck_assert(any(&p, 0x1f0, 0x301));
	ck_assert(any(&p, 0x300, 0x301));
	ck_assert(!any(&p, 0x101, 0x200));
	ck_assert(!any(&p, 0x301, 0x400));
	ck_assert(!any(&p, 0, 0x100));
	hv_own_kprobes_deinit(&p);
}
END_TEST

START_TEST(a_locked_kprobe_mutex_is_reported)
{
	struct hv_own_kprobes_layout l;
	struct hv_own_kprobes p = {0};

	make(_i ? REALTIME : USUAL);
	fk_u64(&f, lock + OWNER, FK_BASE);
	l = find();
	ck_assert_ptr_null(hv_own_kprobes_read(&f.k.core.as, &l, &p));
	ck_assert(p.are_locked);
	ck_assert_uint_eq(p.nr, 0);
	hv_own_kprobes_deinit(&p);
}
END_TEST

START_TEST(a_kernel_without_kprobes)
{
	struct hv_own_kprobes_layout l;
	struct hv_own_kprobes p = {0};

	make(NONE);
	fk_u64(&f, table, 1);
	l = find();
	ck_assert(!l.exists);
	ck_assert_ptr_null(hv_own_kprobes_read(&f.k.core.as, &l, &p));
	ck_assert(!any(&p, 0, UINT64_MAX));
}
END_TEST

static const struct {
	enum shape shape;
	const char *message;
} unknown[] = {
	{NO_TABLE, "kernel has no symbol kprobe_table"},
	{NO_OWNER, "BTF: no member owner in struct mutex"},
	{TOO_LONG, "BTF: struct kprobe has members up to 1025"},
};

START_TEST(errors_name_the_missing_symbol)
{
	struct hv_own_kprobes_layout l;

	make(unknown[_i].shape);
	expect_error(hv_own_kprobes_find(&f.k.core, &l), ENOENT, unknown[_i].message);
}
END_TEST

START_TEST(endless_lists_and_unmapped_entries)
{
	struct hv_own_kprobes_layout l;
	struct hv_own_kprobes p = {0};
	struct hv_err *err;

	make(USUAL);
	add(1, 0, 0x100, 0);
	fk_u64(&f, probes + HLIST, _i ? probes + HLIST : 0x1000);
	l = find();
	err = hv_own_kprobes_read(&f.k.core.as, &l, &p);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, _i ? E2BIG : EFAULT);
	hv_err_free(err);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, NULL, tear_down);
	tcase_add_test(tc, all_but_those_of_ftrace);
	tcase_add_loop_test(tc, a_locked_kprobe_mutex_is_reported, 0, 2);
	tcase_add_test(tc, a_kernel_without_kprobes);
	tcase_add_loop_test(tc, errors_name_the_missing_symbol, 0, HV_ARRAY_LEN(unknown));
	tcase_add_loop_test(tc, endless_lists_and_unmapped_entries, 0, 2);
}

int main(void)
{
	return run_suite("own_kprobes", add_tests);
}
