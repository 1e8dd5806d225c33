/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes sites from one trampoline to another, and the state of the sites when that fails half
 * way. */
#include <check.h>
#include <stdio.h>

#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/fake_traced.h"

#define NR_SITES 300u /* more than a first batch */

static const uint8_t nop[FR_SITE_BYTES] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

static struct fr r;
static struct traced t;

static void setup(void)
{
	traced_init(&t, &r, NR_SITES, nop);
}

static void teardown(void)
{
	traced_deinit(&t);
}

/* Checks, by bytes and by hv_site_trampolines_now(), that all sites call TRAMPOLINE, and that this
 * can be undone. */
static void check_stands(uint8_t trampoline)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < NR_SITES; i++) {
		bool is_nop = !memcmp(fk_host(&r.t.f, FR_SITE(i)), nop, FR_SITE_BYTES);

		nr += hv_site_trampolines_now(t.trampolines)[i] == trampoline &&
		      is_nop == (trampoline == HV_TRAMPOLINE_NONE);
	}
	ck_assert_uint_eq(nr, NR_SITES);
	ck_assert_uint_eq(hv_patcher_nr_patched(r.tracee.patcher, HV_CHANGE_TEXT),
			  trampoline == HV_TRAMPOLINE_NONE ? 0 : NR_SITES);
}

static void take_all_back(void)
{
	HV_AUTO_TEXT struct hv_text report = {0};

	ck_assert_ptr_null(hv_site_trampolines_restore(t.trampolines, &report));
	check_stands(HV_TRAMPOLINE_NONE);
}

START_TEST(sites_changed_by_the_guest_are_reported)
{
	HV_AUTO_TEXT struct hv_text report = {0};
	HV_AUTO_FREE char *line =
		hv_format("0x%llx: left alone: the guest changed it or freed it\n", FR_SITE(1));
	uint8_t *site = fk_host(&r.t.f, FR_SITE(1)), changed[FR_SITE_BYTES];

	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	site[1] ^= 0x10; /* another call into the region */
	memcpy(changed, site, sizeof(changed));
	ck_assert_ptr_null(hv_site_trampolines_restore(t.trampolines, &report));
	ck_assert_ptr_nonnull(strstr(report.data, line));
	ck_assert_mem_eq(site, changed, sizeof(changed));
}
END_TEST

/* The guest's page tables lead out of its RAM. */
START_TEST(sites_that_cannot_be_read)
{
	const uint64_t table = r.t.f.k.core.as.root.v + 511 * 8, nowhere = 0x7ffffffff067;
	uint64_t good;

	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	memcpy(&good, r.t.f.machine.ram + table, sizeof(good));
	memcpy(r.t.f.machine.ram + table, &nowhere, sizeof(nowhere));
	expect_error(traced_want(&t, HV_TRAMPOLINE_NONE), EFAULT, "site f: ");
	expect_error(hv_site_trampolines_check_gone(t.trampolines), EFAULT, "site f: ");
	memcpy(r.t.f.machine.ram + table, &good, sizeof(good));
	take_all_back();
}
END_TEST

START_TEST(one_trampoline_is_changed_for_another)
{
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	check_stands(HV_TRAMPOLINE_FUNCTION);
	r.nr_text_writes = 0;
	traced_check_want(&t, HV_TRAMPOLINE_GRAPH);
	check_stands(HV_TRAMPOLINE_GRAPH);
	ck_assert_uint_eq(r.nr_text_writes, NR_SITES);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	check_stands(HV_TRAMPOLINE_NONE);
}
END_TEST

/* An architecture that has only the function tracer's trampoline. */
START_TEST(missing_trampolines_are_refused)
{
	static struct hv_arch less;
	static const struct {
		unsigned trampoline;
		const char *what;
	} lacks[] = {
		{HV_TRAMPOLINE_GRAPH, "function_graph: not supported yet for x86_64 guests"},
		{HV_TRAMPOLINE_GRAPH_ROOT, "function_graph: not supported yet for x86_64 guests"},
		{HV_TRAMPOLINE_FUNCTION_STACK,
		 "func_stack_trace: not supported yet for x86_64 guests"},
		{HV_TRAMPOLINE_PROFILED,
		 "function_profile_enabled: not supported yet for x86_64 guests"},
		{HV_TRAMPOLINE_FUNCTION | HV_TRAMPOLINE_PROFILED, "function_profile_enabled"}};

	less = hv_arch_x86_64;
	less.trampolines.graph_off = less.trampolines.profile_off =
		less.trampolines.function_stack_off = 0;
	less.trampolines.calls_off = less.trampolines.call_len_bytes =
		less.trampolines.action_len_bytes = 0;
	less.trampolines.section_function_off = less.trampolines.section_graph_off = 0;
	r.t.f.k.core.as.arch = &less;
	for (size_t i = 0; i < HV_ARRAY_LEN(lacks); i++) {
		HV_AUTO_ERR struct hv_err *err = traced_want(&t, lacks[i].trampoline);

		ck_assert(err && err->code == EOPNOTSUPP && strstr(err->message, lacks[i].what));
		check_stands(HV_TRAMPOLINE_NONE);
	}
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	check_stands(HV_TRAMPOLINE_FUNCTION);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	r.t.f.k.core.as.arch = &hv_arch_x86_64;
}
END_TEST

START_TEST(a_change_that_fails_leaves_the_first_trampoline)
{
	for (unsigned at = 1; at < 2 * NR_SITES; at += NR_SITES / 2 - 1) {
		struct hv_err *err;

		traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
		r.nr_text_writes = 0;
		r.fail_after = at;
		err = traced_want(&t, HV_TRAMPOLINE_GRAPH);
		r.fail_after = 0;
		if (at > NR_SITES) {
			ck_assert_ptr_null(err);
			check_stands(HV_TRAMPOLINE_GRAPH);
		} else {
			ck_assert(err && strstr(err->message, "nothing was changed"));
			hv_err_free(err);
			check_stands(HV_TRAMPOLINE_FUNCTION);
		}
		traced_check_want(&t, HV_TRAMPOLINE_NONE);
		check_stands(HV_TRAMPOLINE_NONE);
	}
}
END_TEST

/* Undoing fails as well, so some sites call the old trampoline and some the new one. */
START_TEST(a_change_that_fails_twice_can_be_taken_back)
{
	struct hv_err *err;

	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	r.nr_text_writes = 0;
	r.fail_after = 280;
	r.fails_on = true;
	err = traced_want(&t, HV_TRAMPOLINE_GRAPH);
	r.fail_after = 0;
	r.fails_on = false;
	ck_assert(err && strstr(err->message, "could not be undone"));
	ck_assert(err->facts & HV_ERR_NEEDS_RECOVERY);
	hv_err_free(err);
	take_all_back();
}
END_TEST

/* Nothing was written, so there is nothing to undo, and the journal has no entries for it. */
START_TEST(a_change_that_cannot_begin_leaves_all_as_it_is)
{
	static const uint8_t wanted[] = {HV_TRAMPOLINE_NONE, HV_TRAMPOLINE_FUNCTION};

	for (unsigned i = 0; i < HV_ARRAY_LEN(wanted); i++) {
		HV_AUTO_ERR struct hv_err *err = NULL;

		traced_check_want(&t, wanted[i]);
		r.nr_text_writes = 0;
		r.is_paused = true;
		err = traced_want(&t, HV_TRAMPOLINE_GRAPH);
		r.is_paused = false;
		ck_assert(err && strstr(err->message, "not running"));
		ck_assert(strstr(err->message, "nothing was changed"));
		ck_assert_uint_eq(r.nr_text_writes, 0);
		check_stands(wanted[i]);
	}
	take_all_back();
}
END_TEST

START_TEST(sites_of_both_tracers_coexist)
{
	static const uint8_t trampolines[] = {
		HV_TRAMPOLINE_FUNCTION, HV_TRAMPOLINE_GRAPH, HV_TRAMPOLINE_FUNCTION_AND_GRAPH,
		HV_TRAMPOLINE_FUNCTION_AND_GRAPH | HV_TRAMPOLINE_PROFILED};
	uint8_t wanted[NR_SITES];

	for (unsigned i = 0; i < NR_SITES; i++)
		wanted[i] = trampolines[i % 4];
	ck_assert_ptr_null(fr_start_graph(t.r, t.graph));
	ck_assert_ptr_null(hv_site_trampolines_set(t.trampolines, wanted));
	ck_assert_mem_eq(hv_site_trampolines_now(t.trampolines), wanted, NR_SITES);
	take_all_back();
}
END_TEST

START_TEST(a_graph_needs_the_site_of_new_tasks)
{
	uint8_t wanted[NR_SITES] = {HV_TRAMPOLINE_GRAPH, HV_TRAMPOLINE_FUNCTION_STACK};
	HV_AUTO_ERR struct hv_err *err = NULL;

	ck_assert_ptr_null(fr_start_graph(t.r, t.graph));
	r.t.f.k.sites.list[1].name = "schedule_tail";
	err = hv_site_trampolines_set(t.trampolines, wanted);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EBUSY);
	check_stands(HV_TRAMPOLINE_NONE);
	wanted[0] = HV_TRAMPOLINE_FUNCTION;
	ck_assert_ptr_null(hv_site_trampolines_set(t.trampolines, wanted));
	take_all_back();
}
END_TEST

static void check_inexact(const char *what)
{
	struct hv_gva at;
	HV_AUTO_ERR struct hv_err *err = hv_site_trampolines_why_inexact(t.trampolines, &at);

	if (!what) {
		ck_assert_ptr_null(err);
		return;
	}
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EBUSY);
	ck_assert_msg(strstr(err->message, what) != NULL, "%s", err->message);
}

/* A graph works without the site of new tasks if the guest uses it, or if a vCPU is in it during
 * the hold. The tracer then reports the site's name. */
START_TEST(the_site_of_new_tasks_is_refused)
{
	uint8_t wanted[NR_SITES] = {HV_TRAMPOLINE_GRAPH};

	ck_assert_ptr_null(fr_start_graph(t.r, t.graph));
	r.t.f.k.sites.list[1].name = "schedule_tail";
	if (_i)
		fk_host(&r.t.f, FR_SITE(1))[0] = 0xe8; /* the guest's own call */
	else
		r.regs[0].ip = hv_gva(FR_SITE(1) + 2);
	check_inexact(NULL);
	ck_assert_ptr_null(hv_site_trampolines_set(t.trampolines, wanted));
	ck_assert_uint_eq(hv_site_trampolines_now(t.trampolines)[0], HV_TRAMPOLINE_GRAPH);
	check_inexact("schedule_tail, 0x");
	wanted[0] = HV_TRAMPOLINE_FUNCTION;
	ck_assert_ptr_null(hv_site_trampolines_set(t.trampolines, wanted));
	check_inexact(NULL);
	r.regs[0].ip = hv_gva(0x401000);
	memcpy(fk_host(&r.t.f, FR_SITE(1)), nop, FR_SITE_BYTES);
	wanted[0] = HV_TRAMPOLINE_GRAPH;
	ck_assert_ptr_null(fr_start_graph(t.r, t.graph));
	ck_assert_ptr_null(hv_site_trampolines_set(t.trampolines, wanted));
	check_inexact(NULL);
	take_all_back();
}
END_TEST

/* A vCPU is in the site. Its call stays and is undone later. */
START_TEST(a_change_that_is_refused_leaves_the_first_trampoline)
{
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	r.regs[0].ip = hv_gva(FR_SITE(7) + 2);
	traced_check_want(&t, HV_TRAMPOLINE_GRAPH);
	ck_assert_uint_eq(hv_site_trampolines_now(t.trampolines)[7], HV_TRAMPOLINE_FUNCTION);
	ck_assert_uint_eq(hv_site_trampolines_now(t.trampolines)[8], HV_TRAMPOLINE_GRAPH);
	r.regs[0].ip = hv_gva(0x401000);
	take_all_back();
}
END_TEST

static void leave_sleep_out(void)
{
	const struct hv_graph_options options = {.flags = HV_GRAPH_NO_SLEEP};

	r.t.f.k.sites.list[1].name = "rcu_note_context_switch";
	r.t.f.k.sites.list[2].name = "finish_task_switch";
	hv_graph_tracer_set_options(t.graph, &options);
}

static void check_refuses_sleep(uint8_t wanted, uint64_t site)
{
	HV_AUTO_ERR struct hv_err *err = traced_want(&t, wanted);
	char address[32];

	snprintf(address, sizeof(address), "0x%llx", (unsigned long long)site);
	ck_assert(err && err->code == EBUSY &&
		  strstr(err->message, "sleep-time 0 and funcgraph-host need "));
	ck_assert_ptr_nonnull(strstr(err->message, address));
}

/* Without these sites, times would include the sleep that was excluded. */
START_TEST(times_without_sleep_need_the_switch_sites)
{
	uint8_t wanted[NR_SITES] = {HV_TRAMPOLINE_PROFILED};

	leave_sleep_out();
	fk_host(&r.t.f, FR_SITE(2))[0] = 0xe8; /* the guest's own call */
	r.nr_text_writes = 0;
	ck_assert_ptr_null(fr_start_graph(t.r, t.graph));
	check_refuses_sleep(HV_TRAMPOLINE_PROFILED, FR_SITE(2));
	ck_assert_uint_eq(r.nr_text_writes, 0);
	memcpy(fk_host(&r.t.f, FR_SITE(2)), nop, FR_SITE_BYTES);
	check_stands(HV_TRAMPOLINE_NONE);
	ck_assert_ptr_null(hv_site_trampolines_set(t.trampolines, wanted));
	ck_assert_uint_eq(r.nr_text_writes, 3);
	ck_assert_uint_eq(hv_patcher_nr_patched(r.tracee.patcher, HV_CHANGE_TEXT), 3);
	take_all_back();
}
END_TEST

/* A vCPU is in one of these sites. The writes are undone, whatever the previous trampoline. */
START_TEST(a_switch_site_can_be_refused_in_the_hold)
{
	static const uint8_t before[] = {HV_TRAMPOLINE_NONE, HV_TRAMPOLINE_FUNCTION};

	for (unsigned i = 0; i < 2 * HV_ARRAY_LEN(before); i++) {
		uint64_t site = FR_SITE(1 + i % 2);

		traced_check_want(&t, before[i / 2]);
		leave_sleep_out();
		r.regs[0].ip = hv_gva(site + 2);
		check_refuses_sleep(HV_TRAMPOLINE_GRAPH, site);
		check_stands(before[i / 2]);
		r.regs[0].ip = hv_gva(0x401000);
		traced_check_want(&t, HV_TRAMPOLINE_GRAPH);
		check_stands(HV_TRAMPOLINE_GRAPH);
		traced_check_want(&t, HV_TRAMPOLINE_NONE);
	}
	take_all_back();
}
END_TEST

/* These sites are changed, and then another change fails. */
START_TEST(switch_sites_are_restored_after_an_error)
{
	for (unsigned at = 1; at < NR_SITES; at += 99) {
		HV_AUTO_ERR struct hv_err *err = NULL;

		traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
		leave_sleep_out();
		r.nr_text_writes = 0;
		r.fail_after = at;
		err = traced_want(&t, HV_TRAMPOLINE_GRAPH);
		r.fail_after = 0;
		ck_assert(err && strstr(err->message, "nothing was changed"));
		check_stands(HV_TRAMPOLINE_FUNCTION);
	}
	take_all_back();
}
END_TEST

/* At any time the journal in the region has an entry for each site, so that the change can be
 * found. */
START_TEST(the_journal_is_complete_at_any_time)
{
	struct hv_journal_entry *entries = hv_region_journal(&r.tracee.region);
	uint32_t nr = 0;

	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	r.fail_after = r.nr_text_writes + 10;
	r.fails_on = true;
	hv_err_free(traced_want(&t, HV_TRAMPOLINE_GRAPH));
	for (uint32_t i = 0; i < hv_region_header(&r.tracee.region)->nr_entries; i++)
		nr += entries[i].state == HV_JOURNAL_USED &&
		      !memcmp(entries[i].old_bytes, nop, FR_SITE_BYTES);
	ck_assert_uint_eq(nr, NR_SITES);
}
END_TEST

static bool stops(void *ctx)
{
	unsigned *left = ctx;

	return (*left)-- == 0;
}

/* The interrupt comes after a batch, and before one. */
START_TEST(a_change_that_is_interrupted_is_undone)
{
	for (unsigned nr = 2; nr-- > 0;) {
		HV_AUTO_ERR struct hv_err *err = NULL;
		unsigned left = nr;

		r.nr_text_writes = 0;
		hv_patcher_set_stops(r.tracee.patcher, stops, &left);
		err = traced_want(&t, HV_TRAMPOLINE_FUNCTION);
		hv_patcher_set_stops(r.tracee.patcher, NULL, NULL);
		ck_assert(err && err->code == EINTR && strstr(err->message, "nothing was changed"));
		ck_assert((r.nr_text_writes > 0) == (nr > 0));
		check_stands(HV_TRAMPOLINE_NONE);
	}
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	take_all_back();
}
END_TEST

/* A site for later use is checked but not changed. A site that is already changed stays so. */
START_TEST(a_site_for_later_is_only_checked)
{
	r.nr_text_writes = 0;
	fk_host(&r.t.f, FR_SITE(9))[0] = 0xe8; /* the guest's own call */
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION | HV_TRAMPOLINE_LATER);
	ck_assert_uint_eq(r.nr_text_writes, 0);
	ck_assert_uint_eq(hv_site_trampolines_now(t.trampolines)[8], HV_TRAMPOLINE_LATER);
	ck_assert_uint_eq(hv_site_trampolines_now(t.trampolines)[9], HV_TRAMPOLINE_NONE);
	ck_assert_uint_eq(hv_site_trampolines_refused(t.trampolines)->nr, 1);
	ck_assert_uint_eq(hv_site_trampolines_refused(t.trampolines)->first[0].v, FR_SITE(9));
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	ck_assert_uint_eq(hv_site_trampolines_refused(t.trampolines)->nr, 1);
	memcpy(fk_host(&r.t.f, FR_SITE(9)), nop, FR_SITE_BYTES);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	check_stands(HV_TRAMPOLINE_FUNCTION);
	r.nr_text_writes = 0;
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION_STACK | HV_TRAMPOLINE_LATER);
	ck_assert_uint_eq(r.nr_text_writes, 0);
	check_stands(HV_TRAMPOLINE_FUNCTION);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	check_stands(HV_TRAMPOLINE_NONE);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_site_for_later_is_only_checked);
	tcase_add_test(tc, a_change_that_is_interrupted_is_undone);
	tcase_add_test(tc, sites_changed_by_the_guest_are_reported);
	tcase_add_test(tc, sites_that_cannot_be_read);
	tcase_add_test(tc, one_trampoline_is_changed_for_another);
	tcase_add_test(tc, missing_trampolines_are_refused);
	tcase_add_test(tc, a_change_that_fails_leaves_the_first_trampoline);
	tcase_add_test(tc, a_change_that_fails_twice_can_be_taken_back);
	tcase_add_test(tc, a_change_that_cannot_begin_leaves_all_as_it_is);
	tcase_add_test(tc, a_change_that_is_refused_leaves_the_first_trampoline);
	tcase_add_test(tc, sites_of_both_tracers_coexist);
	tcase_add_test(tc, a_graph_needs_the_site_of_new_tasks);
	tcase_add_loop_test(tc, the_site_of_new_tasks_is_refused, 0, 2);
	tcase_add_test(tc, times_without_sleep_need_the_switch_sites);
	tcase_add_test(tc, a_switch_site_can_be_refused_in_the_hold);
	tcase_add_test(tc, switch_sites_are_restored_after_an_error);
	tcase_add_test(tc, the_journal_is_complete_at_any_time);
}

int main(void)
{
	return run_suite("site_changes", add_tests);
}
