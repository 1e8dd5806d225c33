/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes at instructions that the guest's own kprobes use, and a journal that is full. */
#include "patcher/probed.h"

#include <check.h>
#include <stdio.h>

#include "patcher/journal.h"
#include "patcher/region.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/fake_kernel.h"

/* struct kprobe */
#define ADDR  16u
#define FLAGS 24u
#define BYTES 32u

#define PROBED (FK_BASE + 0x1000)

static struct fk f;
static uint64_t table, lock;
static struct hv_own_kprobes_layout layout;
static struct hv_journal journal;
static struct hv_region region;

static void set_up(void)
{
	uint32_t node;
	uint64_t probe;

	fk_init(&f);
	table = fk_alloc(&f, 512);
	lock = fk_alloc(&f, 64);
	probe = fk_alloc(&f, BYTES);
	node = FK_STRUCT("hlist_node", 16, {"next", 0, 8}, {"pprev", 8, 8});
	FK_STRUCT("kprobe", BYTES, {"hlist", 0, 0, node}, {"addr", ADDR, 8}, {"flags", FLAGS, 4});
	FK_STRUCT("mutex", 32, {"owner", 0, 8});
	fk_symbol(&f, "register_kprobe", FK_BASE + 0x100);
	fk_symbol(&f, "kprobe_table", table);
	fk_symbol(&f, "kprobe_mutex", lock);
	fk_done(&f);
	fk_u64(&f, table, probe);
	fk_u64(&f, probe + ADDR, PROBED);
	expect_success(hv_own_kprobes_find(&f.k.core, &layout));
	region = (struct hv_region){{0x80000000}, hv_alloc(HV_REGION_LEN_MIN), HV_REGION_LEN_MIN};
	hv_journal_init(&journal, &region);
}

static void tear_down(void)
{
	hv_journal_deinit(&journal);
	free(region.host);
	fk_deinit(&f);
}

static struct hv_change change_at(uint64_t at, enum hv_change_kind kind)
{
	return (struct hv_change){
		.gva = hv_gva(at), .gpa = hv_gpa(at - FK_BASE), .kind = kind, .len_bytes = 5};
}

static struct hv_err *refuse(struct hv_change *changes, size_t nr)
{
	return hv_probed_refuse(&f.k.core.as, &layout, &journal, changes, nr);
}

START_TEST(changes_of_bytes_copied_by_kprobes_are_refused)
{
	struct hv_change changes[] = {
		change_at(PROBED, HV_CHANGE_TEXT),
		change_at(PROBED + 19, HV_CHANGE_PROBE_SITE),
		change_at(PROBED + 21, HV_CHANGE_PROBE_SITE),
		change_at(PROBED - 4, HV_CHANGE_DETOUR),
		change_at(PROBED - 5, HV_CHANGE_DETOUR),
	};

	expect_success(refuse(changes, HV_ARRAY_LEN(changes)));
	ck_assert(!changes[0].refused); /* kprobes do not concern ftrace's sites */
	ck_assert(changes[1].refused);
	ck_assert(!changes[2].refused);
	ck_assert(changes[3].refused);
	ck_assert(!changes[4].refused);
}
END_TEST

/* A list that the guest is changing, and one with an invalid pointer, which does not prevent an
 * undo. */
START_TEST(lists_that_cannot_be_read)
{
	struct hv_change change = change_at(PROBED, HV_CHANGE_PROBE_SITE), undo = change;

	fk_u64(&f, lock, FK_BASE);
	expect_error(refuse(&change, 1), EALREADY,
		     "the guest is registering or removing kprobes; retry");
	fk_u64(&f, lock, 0);
	fk_u64(&f, table, 0x1000);
	expect_error(refuse(&change, 1), EFAULT, "0x1000");
	memset(change.to, 0xe9, 5);
	expect_success(hv_journal_note(&journal, &change));
	expect_success(refuse(&undo, 1));
	ck_assert(!undo.refused);
}
END_TEST

START_TEST(a_journal_that_is_full)
{
	struct hv_change change = change_at(FK_BASE, HV_CHANGE_TEXT);
	char message[64];

	for (size_t i = 0; i < HV_JOURNAL_CAP; i++, change.gva.v += 8, change.gpa.v += 8)
		expect_success(hv_journal_note(&journal, &change));
	snprintf(message, sizeof(message), "journal: full at %zu changes", (size_t)HV_JOURNAL_CAP);
	expect_error(hv_journal_note(&journal, &change), ENOSPC, message);
	hv_journal_forget(&journal, hv_gpa(0));
	expect_success(hv_journal_note(&journal, &change));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, changes_of_bytes_copied_by_kprobes_are_refused);
	tcase_add_test(tc, lists_that_cannot_be_read);
	tcase_add_test(tc, a_journal_that_is_full);
}

int main(void)
{
	return run_suite("probed", add_tests);
}
