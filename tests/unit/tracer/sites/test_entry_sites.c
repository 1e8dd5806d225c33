/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of a kernel without ftrace: which jumps are written for a set of wanted sites, and what
 * is restored. */
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/probe_sites/detours_guest.h"
#include "tracer/sites/entry_sites.h"
#include "tracer/sites/site_trampolines.h"

#define NR_SITES   4u
#define SITE(n)	   (FK_BASE + 0x41000 + 0x100 * (n))
#define NR_MANY	   1100u
#define YES	   2
#define NR_DETOURS HV_REGION_NR_DETOURS
#define FIRST	   (NR_DETOURS - HV_REGION_PROBE_SITES)

/* pushq %rbp; movq %rsp, %rbp; pushq %r15 */
static const uint8_t insns[] = {0x55, 0x48, 0x89, 0xe5, 0x41, 0x57};

static struct hv_detours *sites;
static struct hv_site list[NR_MANY];
static struct hv_function_entry entries[NR_MANY];
static struct hv_function_entries all = {.list = entries};

static void set_up_entries(void)
{
	set_up();
	sites = hv_detours_new(&r.tracee, HV_CHANGE_PROBE_SITE);
	for (unsigned i = 0; i < NR_MANY; i++) {
		list[i] = (struct hv_site){.ip = hv_gva(SITE(i)), .name = "f"};
		entries[i] = (struct hv_function_entry){.len_bytes = sizeof(insns), .nr = 3};
		memcpy(entries[i].insns, insns, sizeof(insns));
		if (i < NR_SITES)
			memcpy(fk_host(&r.t.f, SITE(i)), insns, sizeof(insns));
	}
	r.t.f.k.sites = (struct hv_sites){.list = list, .nr = NR_SITES, .entries = &all};
}

static void tear_down_entries(void)
{
	r.t.f.k.sites = (struct hv_sites){0};
	hv_detours_free(sites);
	tear_down();
}

/* Bit N of WANTED: site N. */
static struct hv_err *set(unsigned wanted, struct hv_refused *refused)
{
	uint8_t bytes[NR_SITES];

	for (unsigned i = 0; i < NR_SITES; i++)
		bytes[i] = wanted >> i & 1;
	return hv_entry_sites_set(&r.tracee, bytes, refused);
}

static void check_now(unsigned wanted)
{
	uint8_t now[NR_SITES];

	hv_entry_sites_now(&r.tracee, YES, now);
	for (unsigned i = 0; i < NR_SITES; i++) {
		struct hv_gva target = {0};
		const uint8_t *at = fk_host(&r.t.f, SITE(i));

		ck_assert_uint_eq(now[i], wanted >> i & 1 ? YES : 0);
		if (!(wanted >> i & 1)) {
			ck_assert_mem_eq(at, insns, sizeof(insns));
			continue;
		}
		ck_assert_int_eq(hv_arch_x86_64.classify_site(at, hv_gva(SITE(i)), &target),
				 HV_SITE_JUMP);
		ck_assert_uint_ge(target.v, DETOUR(FIRST));
		ck_assert_uint_lt(target.v, DETOUR(NR_DETOURS));
	}
}

START_TEST(sites_lead_to_detours_while_they_are_wanted)
{
	static const unsigned steps[] = {0x1, 0x7, 0x7, 0xc, 0x0, 0xf, 0x8};
	struct hv_refused refused;

	for (unsigned i = 0; i < HV_ARRAY_LEN(steps); i++) {
		must(set(steps[i], &refused));
		ck_assert_uint_eq(refused.nr, 0);
		check_now(steps[i]);
	}
	must(set(0, &refused));
	check_now(0);
}
END_TEST

START_TEST(a_site_that_the_guest_changed_is_refused)
{
	struct hv_refused refused;

	*fk_host(&r.t.f, SITE(1)) = 0xcc;
	must(set(0x7, &refused));
	ck_assert_uint_eq(refused.nr, 1);
	ck_assert_uint_eq(refused.first[0].v, SITE(1));
	*fk_host(&r.t.f, SITE(1)) = insns[0];
	check_now(0x5);
	must(set(0, &refused));
	check_now(0);
}
END_TEST

/* A task was interrupted between the instructions, on its stack or on a vCPU. */
START_TEST(a_task_inside_keeps_all_as_they_were)
{
	struct hv_refused refused;
	struct hv_err *err;

	must(set(0x1, &refused));
	if (_i)
		r.regs[1].ip = hv_gva(SITE(2) + 1);
	else
		ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x40, SITE(2) + 4);
	err = set(0x6, &refused);
	ck_assert(err && err->code == EBUSY);
	hv_err_free(err);
	check_now(0x1);
	r.regs[1].ip = hv_gva(SITE(2)); /* at the first instruction it is not inside */
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x40, SITE(2));
	must(set(0x6, &refused));
	check_now(0x6);
}
END_TEST

static bool stops(void *ctx hv_unused)
{
	return true;
}

/* The client that set the functions has hung up. */
START_TEST(an_interrupted_change_is_undone)
{
	struct hv_refused refused;
	struct hv_err *err;

	must(set(0x1, &refused));
	hv_patcher_set_stops(r.tracee.patcher, stops, NULL);
	err = set(0x6, &refused);
	ck_assert(err && err->code == EINTR);
	hv_err_free(err);
	check_now(0x1);
	hv_patcher_set_stops(r.tracee.patcher, NULL, NULL);
	must(set(0, &refused));
	check_now(0);
}
END_TEST

START_TEST(too_many_at_a_time)
{
	static uint8_t wanted[NR_MANY];
	struct hv_refused refused;

	r.t.f.k.sites.nr = NR_MANY;
	memset(wanted, 1, sizeof(wanted));
	expect_error(hv_entry_sites_set(&r.tracee, wanted, &refused), E2BIG,
		     "1100 functions; in a kernel without ftrace at most 1024 can be traced at a "
		     "time: choose some with set_ftrace_filter");
	r.t.f.k.sites.nr = NR_SITES;
	check_now(0);
}
END_TEST

/* The journal's entry of a jump is accepted only with the instructions that its detour executes. */
START_TEST(recover_knows_the_jumps)
{
	struct hv_journal_entry e = {.state = HV_JOURNAL_USED,
				     .kind = HV_CHANGE_PROBE_SITE,
				     .gva = SITE(1),
				     .len_bytes = 6};
	const size_t off = HV_REGION_DETOURS_OFF + FIRST * HV_DETOUR_LEN;
	uint8_t *code = r.tracee.region.host + off;
	struct hv_refused refused;
	struct hv_mapping m;
	bool ours = false;

	must(hv_walk(&r.t.f.k.core.as, hv_gva(SITE(1)), &m));
	e.gpa = m.gpa.v;
	must(set(0x2, &refused));
	memcpy(code, r.t.f.machine.ram + REGION + off, HV_DETOUR_LEN); /* not shared here */
	memcpy(e.old_bytes, insns, sizeof(insns));
	must(hv_detours_are_ours(&r.tracee, &e, &ours));
	ck_assert(ours);
	e.old_bytes[5] = 0x56; /* pushq %r14 */
	must(hv_detours_are_ours(&r.tracee, &e, &ours));
	ck_assert(!ours);
	e.old_bytes[5] = insns[5];
	code[0] ^= 1;
	must(hv_detours_are_ours(&r.tracee, &e, &ours));
	ck_assert(!ours);
	code[0] ^= 1;
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up_entries, tear_down_entries);
	tcase_add_test(tc, sites_lead_to_detours_while_they_are_wanted);
	tcase_add_test(tc, a_site_that_the_guest_changed_is_refused);
	tcase_add_loop_test(tc, a_task_inside_keeps_all_as_they_were, 0, 2);
	tcase_add_test(tc, an_interrupted_change_is_undone);
	tcase_add_test(tc, too_many_at_a_time);
	tcase_add_test(tc, recover_knows_the_jumps);
}

int main(void)
{
	return run_suite("entry_sites", add_tests);
}
