/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sites that the guest's own tracers use: chains that continue at the guest's trampolines, what is
 * refused, sites that the guest takes and releases, and undoing. */
#include <check.h>

#include "base/clock.h"
#include "kernel/sites/ftrace_users.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/sites/fake_users.h"
#include "tests/unit/tracer/fake_traced.h"
#include "tracer/sites/chains.h"

#define NR_SITES 6u
#define READER	 (FK_BASE + 0x20000)
#define VERIFY	 (FK_BASE + 0x30000)
#define FIRST	 (FR_RANGE + HV_REGION_CHAINS_OFF - HV_REGION_TRAMPOLINES_OFF)
#define DIRECT	 (FK_MODULES + 0x8000)

static const uint8_t nop[FR_SITE_BYTES] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

static const struct hv_trampoline_image *const image = &hv_arch_x86_64.trampolines;

static struct fr r;
static struct traced t;
static struct fu u;

static void call(uint64_t at, uint64_t target)
{
	ck_assert(hv_arch_x86_64.encode_call(hv_gva(at), hv_gva(target), fk_host(&r.t.f, at)));
}

static void declare(struct fk *f)
{
	fu_declare(f, &u);
}

static void setup(void)
{
	traced_init_with(&t, &r, NR_SITES, nop, declare);
	/* For linking the trampolines. */
	r.tracee.plan.nr_slots = 64;
	r.tracee.plan.homes_shift = r.tracee.plan.counts_shift = 5;
	fk_symbol(&r.t.f, "copy_from_kernel_nofault", READER);
	fk_symbol(&r.t.f, "ftrace_verify_code", VERIFY);
	fk_symbol(&r.t.f, "the_next", VERIFY + 0x100);
	hv_symbols_index(&r.t.f.k.core.symbols);
	call(VERIFY + 0x32, READER);
}

static void teardown(void)
{
	traced_deinit(&t);
}

static struct hv_gva target_of(uint64_t at)
{
	struct hv_gva target = {0};

	hv_arch_x86_64.classify_site(fk_host(&r.t.f, at), hv_gva(at), &target);
	return target;
}

static const uint8_t *chain(unsigned nr)
{
	return r.t.f.machine.ram + r.tracee.region.gpa.v + HV_REGION_CHAINS_OFF +
	       (size_t)nr * HV_CHAIN_LEN;
}

static struct hv_gva trampoline_at(size_t off)
{
	return hv_gva(FR_RANGE + HV_TRAMPOLINES_CODE_OFF + off);
}

/* Returns the address that chain NR calls or jumps to first. */
static struct hv_gva called_by(unsigned nr)
{
	struct hv_gva called = {0};

	hv_arch_x86_64.classify_site(chain(nr), hv_gva(FIRST + (uint64_t)nr * HV_CHAIN_LEN),
				     &called);
	return called;
}

static uint32_t kind_in(unsigned nr)
{
	uint32_t kind;

	memcpy(&kind, chain(nr) + 2 * FR_SITE_BYTES, sizeof(kind));
	return kind;
}

static void check_jump(unsigned nr, uint64_t target)
{
	uint64_t at = FIRST + (uint64_t)nr * HV_CHAIN_LEN + FR_SITE_BYTES;
	struct hv_gva jumps;

	ck_assert_int_eq(
		hv_arch_x86_64.classify_site(chain(nr) + FR_SITE_BYTES, hv_gva(at), &jumps),
		HV_SITE_JUMP);
	ck_assert_uint_eq(jumps.v, target);
}

static void check_chain(unsigned nr, uint64_t target)
{
	ck_assert_uint_eq(called_by(nr).v, trampoline_at(image->chain_function_off).v);
	check_jump(nr, target);
}

static size_t nr_refused(void)
{
	return hv_site_trampolines_refused(t.trampolines)->nr;
}

/* One chain for each target, and a plain call where the guest has no user. */
START_TEST(a_chain_for_each_target)
{
	uint8_t before[NR_SITES][FR_SITE_BYTES];

	fu_ops(&r.t.f, &u, FU_TRAMPOLINE);
	fu_direct(&r.t.f, &u, 2, FR_SITE(4), DIRECT);
	call(FR_SITE(0), FU_CALLER);
	call(FR_SITE(1), FU_TRAMPOLINE);
	call(FR_SITE(2), FU_CALLER);
	call(FR_SITE(3), FU_REGS_CALLER);
	call(FR_SITE(4), DIRECT);
	for (unsigned i = 0; i < NR_SITES; i++)
		memcpy(before[i], fk_host(&r.t.f, FR_SITE(i)), FR_SITE_BYTES);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	ck_assert_uint_eq(nr_refused(), 0);
	ck_assert_uint_eq(hv_site_trampolines_joined(t.trampolines), 5);
	ck_assert_uint_eq(target_of(FR_SITE(0)).v, FIRST);
	ck_assert_uint_eq(target_of(FR_SITE(2)).v, FIRST);
	check_chain(0, FU_CALLER);
	check_chain(1, FU_TRAMPOLINE);
	check_chain(2, FU_REGS_CALLER);
	check_chain(3, DIRECT);
	ck_assert_uint_eq(target_of(FR_SITE(5)).v,
			  hv_trampolines_call(&r.tracee, HV_TRAMPOLINE_FUNCTION, HV_ROLE_NONE).v);
	for (unsigned i = 0; i < NR_SITES; i++)
		ck_assert_uint_eq(hv_site_trampolines_now(t.trampolines)[i],
				  HV_TRAMPOLINE_FUNCTION);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	for (unsigned i = 0; i < NR_SITES; i++)
		ck_assert_mem_eq(before[i], fk_host(&r.t.f, FR_SITE(i)), FR_SITE_BYTES);
	ck_assert_uint_eq(hv_site_trampolines_joined(t.trampolines), 0);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION); /* the same chains again */
	ck_assert_uint_eq(target_of(FR_SITE(4)).v, FIRST + 3 * HV_CHAIN_LEN);
}
END_TEST

/* Each of these sites is left alone, and the others are traced. */
START_TEST(calls_that_records_do_not_explain)
{
	fu_direct(&r.t.f, &u, 0, FR_SITE(5), DIRECT);
	call(FR_SITE(0), FU_CALLER + 4);
	call(FR_SITE(1), FU_TRAMPOLINE);      /* of no ftrace_ops */
	call(FR_SITE(2), FR_RANGE + 0x1000);  /* in the region, but not by hvtrace */
	call(FR_SITE(3), DIRECT);	      /* of another site */
	fu_ops(&r.t.f, &u, FR_RANGE + 0x100); /* the guest claims a trampoline in the region */
	call(FR_SITE(4), FR_RANGE + 0x100);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	ck_assert_uint_eq(hv_site_trampolines_joined(t.trampolines), 0);
	ck_assert_uint_eq(nr_refused(), 3);
	ck_assert_uint_eq(target_of(FR_SITE(0)).v, FU_CALLER + 4);
	ck_assert_uint_eq(target_of(FR_SITE(1)).v, FU_TRAMPOLINE);
	ck_assert_uint_eq(target_of(FR_SITE(2)).v, FR_RANGE + 0x1000);
	ck_assert_uint_eq(target_of(FR_SITE(3)).v, DIRECT);
	ck_assert_uint_eq(target_of(FR_SITE(4)).v, FR_RANGE + 0x100);
	ck_assert(hv_gva_in(target_of(FR_SITE(5)), r.tracee.range));
}
END_TEST

/* Each trampoline has chains of its own. */
START_TEST(every_tracer_has_chains)
{
	static const enum hv_trampoline tracers[] = {
		HV_TRAMPOLINE_FUNCTION,
		HV_TRAMPOLINE_FUNCTION_STACK,
		HV_TRAMPOLINE_GRAPH,
		HV_TRAMPOLINE_GRAPH_ROOT,
		HV_TRAMPOLINE_FUNCTION_AND_GRAPH,
		(enum hv_trampoline)HV_TRAMPOLINE_PROFILED,
		(enum hv_trampoline)(HV_TRAMPOLINE_GRAPH | HV_TRAMPOLINE_PROFILED),
	};

	fk_u64(&r.t.f, fu_ops(&r.t.f, &u, FU_TRAMPOLINE), FU_FUNCTION);
	fu_direct(&r.t.f, &u, 2, FR_SITE(4), DIRECT);
	call(FR_SITE(1), FU_TRAMPOLINE);
	call(FR_SITE(4), DIRECT);
	for (unsigned i = 0; i < HV_ARRAY_LEN(tracers); i++) {
		traced_check_want(&t, tracers[i]);
		ck_assert_uint_eq(nr_refused(), 0);
		ck_assert_uint_eq(hv_site_trampolines_joined(t.trampolines), 2);
		ck_assert_uint_eq(target_of(FR_SITE(1)).v, FIRST + 2ull * i * HV_CHAIN_LEN);
		ck_assert_uint_eq(target_of(FR_SITE(4)).v, FIRST + (2ull * i + 1) * HV_CHAIN_LEN);
		check_jump(2 * i, FU_TRAMPOLINE);
		check_jump(2 * i + 1, DIRECT);
		for (unsigned site = 0; site < NR_SITES; site++)
			ck_assert_uint_eq(hv_site_trampolines_now(t.trampolines)[site], tracers[i]);
	}
	ck_assert_uint_eq(called_by(1).v, trampoline_at(image->chain_function_off).v);
	ck_assert_uint_eq(called_by(2).v, trampoline_at(image->chain_function_stack_off).v);
	for (unsigned i = 4; i < 2 * HV_ARRAY_LEN(tracers); i++)
		ck_assert_uint_eq(called_by(i).v, trampoline_at(image->chain_call_off).v);
	ck_assert_uint_eq(kind_in(4), 0);
	ck_assert_uint_eq(kind_in(6), HV_FRAME_ROOT);
	ck_assert_uint_eq(kind_in(8), HV_KIND_FUNCTION);
	ck_assert_uint_eq(kind_in(10), HV_KIND_UNTRACED | HV_FRAME_PROFILED);
	ck_assert_uint_eq(kind_in(12), HV_FRAME_PROFILED);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	ck_assert_uint_eq(target_of(FR_SITE(1)).v, FU_TRAMPOLINE);
	ck_assert_uint_eq(target_of(FR_SITE(4)).v, DIRECT);
}
END_TEST

/* The trampolines are linked again only for chains whose trampolines need it. */
START_TEST(other_sites_do_not_pay_for_chains)
{
	fk_u64(&r.t.f, fu_ops(&r.t.f, &u, FU_TRAMPOLINE), FU_FUNCTION);
	call(FR_SITE(1), FU_TRAMPOLINE);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION_STACK);
	ck_assert(!r.tracee.chains);
	traced_check_want(&t, HV_TRAMPOLINE_GRAPH);
	ck_assert(r.tracee.chains);
}
END_TEST

/* If the guest's trampoline may keep a return address, tracers that replace it give a joined site
 * back to the guest. */
START_TEST(return_addresses_that_the_guest_may_keep)
{
	fk_u64(&r.t.f, fu_ops(&r.t.f, &u, FU_TRAMPOLINE), FU_LIVEPATCH + 4);
	call(FR_SITE(0), FU_CALLER);
	call(FR_SITE(1), FU_TRAMPOLINE);
	for (unsigned i = 0; i < 2; i++) {
		traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
		ck_assert_uint_eq(hv_site_trampolines_joined(t.trampolines), 2);
		traced_check_want(&t, i ? HV_TRAMPOLINE_GRAPH
					: (enum hv_trampoline)HV_TRAMPOLINE_PROFILED);
		ck_assert_uint_eq(target_of(FR_SITE(0)).v, FU_CALLER);
		ck_assert_uint_eq(target_of(FR_SITE(1)).v, FU_TRAMPOLINE);
		ck_assert_uint_eq(nr_refused(), 2);
		ck_assert_uint_eq(hv_patcher_nr_patched(r.tracee.patcher, HV_CHANGE_TEXT),
				  NR_SITES - 2);
	}
	traced_check_want(&t, (enum hv_trampoline)(HV_TRAMPOLINE_FUNCTION | HV_TRAMPOLINE_LATER));
	ck_assert_uint_eq(nr_refused(), 0);
}
END_TEST

static void set_actions(unsigned first, unsigned nr, unsigned bits)
{
	struct hv_site_actions list[NR_SITES] = {0};

	for (unsigned i = 0; i < nr; i++)
		list[i] = (struct hv_site_actions){.ip = FR_SITE(first + i), .bits = bits};
	expect_success(hv_actions_set(t.actions, list, nr));
}

/* Returns the action group whose entry chain NR jumps to. */
static unsigned group_of(unsigned nr)
{
	for (unsigned i = 0; i < HV_NR_ACTION_GROUPS; i++)
		if (hv_trampolines_action(&r.tracee, i).v == called_by(nr).v)
			return i;
	ck_abort_msg("chain %u jumps to no entry", nr);
}

/* A chain jumps to the action group's entry, and the action group continues at a chain. */
START_TEST(functions_with_actions)
{
	struct hv_action_group *shared;
	unsigned group;

	call(FR_SITE(1), FU_CALLER);
	set_actions(0, 2, 1u << HV_ACTION_ON);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	ck_assert_uint_eq(nr_refused(), 0);
	ck_assert_uint_eq(target_of(FR_SITE(1)).v, FIRST + HV_CHAIN_LEN);
	check_chain(0, FU_CALLER);
	check_jump(1, FU_CALLER);
	group = group_of(1);
	shared = hv_region_action_group(&r.tracee.region, group);
	ck_assert_uint_eq(shared->goes_on, FIRST - FR_RANGE);
	ck_assert_uint_eq(hv_site_trampolines_now(t.trampolines)[1], HV_TRAMPOLINE_FUNCTION);
	ck_assert_uint_ne(target_of(FR_SITE(0)).v, hv_trampolines_action(&r.tracee, group).v);

	/* Without a tracer, the action group continues at the guest's trampoline. */
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	ck_assert_uint_eq(hv_site_trampolines_joined(t.trampolines), 1);
	ck_assert_uint_eq(hv_site_trampolines_now(t.trampolines)[1], HV_TRAMPOLINE_ACTIONS);
	ck_assert_uint_eq(called_by(2).v, FU_CALLER);
	ck_assert_uint_eq(hv_region_action_group(&r.tracee.region, group_of(3))->goes_on,
			  FIRST + 2 * HV_CHAIN_LEN - FR_RANGE);
	ck_assert_uint_ne(group_of(3), group);

	/* The guest releases the site. */
	memcpy(fk_host(&r.t.f, FR_SITE(1)), nop, FR_SITE_BYTES);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	ck_assert_uint_eq(target_of(FR_SITE(1)).v, target_of(FR_SITE(0)).v);
	set_actions(0, 0, 0);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	ck_assert_mem_eq(fk_host(&r.t.f, FR_SITE(1)), nop, FR_SITE_BYTES);
}
END_TEST

/* The action group continues at a chain that calls the entry of the return probe. */
START_TEST(functions_with_return_probes)
{
	struct hv_action_group *shared;

	fu_direct(&r.t.f, &u, 2, FR_SITE(1), DIRECT);
	call(FR_SITE(1), DIRECT);
	call(FR_SITE(2), FU_CALLER);
	set_actions(1, 2, 1u << HV_ACTION_RETURN);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	ck_assert_uint_eq(nr_refused(), 1);
	ck_assert_uint_eq(target_of(FR_SITE(2)).v, FU_CALLER);
	ck_assert_uint_eq(hv_site_trampolines_joined(t.trampolines), 1);
	ck_assert_uint_eq(target_of(FR_SITE(1)).v, FIRST + 3 * HV_CHAIN_LEN);
	shared = hv_region_action_group(&r.tracee.region, group_of(3));
	ck_assert_uint_eq(shared->goes_on, FIRST + HV_CHAIN_LEN - FR_RANGE);
	ck_assert_uint_eq(called_by(1).v, trampoline_at(image->chain_probed_off).v);
	ck_assert_uint_eq(kind_in(1), HV_FRAME_PROBED | group_of(3) << HV_KIND_GROUP_SHIFT);
	check_jump(1, DIRECT);
	ck_assert_uint_eq(*hv_region_kind(&r.tracee.region, group_of(3)),
			  HV_KIND_UNTRACED | HV_KIND_FUNCTION);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION); /* changes nothing */
	ck_assert_uint_eq(shared->goes_on, FIRST + HV_CHAIN_LEN - FR_RANGE);
	set_actions(0, 0, 0);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	ck_assert_uint_eq(target_of(FR_SITE(1)).v, DIRECT);
}
END_TEST

/* An action group that continued at a chain continues nowhere else: a task may be in it. If none is
 * left, only that site is refused. */
START_TEST(action_groups_of_chains_are_not_reused)
{
	unsigned used[HV_NR_ACTION_GROUPS] = {0}, nr = 0;

	set_actions(1, 1, 1u << HV_ACTION_ON);
	for (unsigned i = 0; i < 2 * HV_NR_ACTION_GROUPS; i++) {
		uint64_t code = FU_TRAMPOLINE + 0x10 * i;

		fu_ops(&r.t.f, &u, code);
		call(FR_SITE(1), code);
		traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
		if (nr_refused())
			break;
		ck_assert_uint_eq(used[group_of(2 * i + 1)]++, 0);
		nr++;
	}
	ck_assert_uint_eq(nr, HV_GROUPS_FOR_CHAINS);
	ck_assert_uint_eq(nr_refused(), 1);
	call(FR_SITE(1), FU_TRAMPOLINE); /* the first one again */
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	ck_assert_uint_eq(nr_refused(), 0);
	ck_assert_uint_eq(target_of(FR_SITE(1)).v, FIRST + HV_CHAIN_LEN);
	memcpy(fk_host(&r.t.f, FR_SITE(1)), nop, FR_SITE_BYTES);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	ck_assert_uint_eq(nr_refused(), 0);
}
END_TEST

/* While the guest uses all sites, none shows how a free one looks. */
START_TEST(the_guest_uses_all_sites)
{
	const struct hv_params *params = hv_region_params(&r.tracee.region);

	for (unsigned i = 0; i < NR_SITES; i++)
		call(FR_SITE(i), FU_CALLER);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	ck_assert_uint_eq(nr_refused(), 0);
	ck_assert_uint_eq(hv_site_trampolines_joined(t.trampolines), NR_SITES);
	ck_assert(hv_guest_ftrace_is_patched(t.guest_ftrace));
	memcpy(fk_host(&r.t.f, FR_SITE(3)), nop, FR_SITE_BYTES);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	ck_assert_uint_eq(hv_site_trampolines_joined(t.trampolines), NR_SITES - 1);
	ck_assert_mem_eq(params->ftrace_nop, nop, FR_SITE_BYTES);
}
END_TEST

/* If the guest's ftrace would see the chain, it is not written. */
START_TEST(a_kernel_without_a_known_reader)
{
	memset(fk_host(&r.t.f, VERIFY + 0x32), 0x90, FR_SITE_BYTES);
	call(FR_SITE(0), FU_CALLER);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	ck_assert_uint_eq(target_of(FR_SITE(0)).v, FU_CALLER);
	ck_assert_uint_eq(nr_refused(), 1);
	ck_assert_uint_eq(hv_patcher_nr_patched(r.tracee.patcher, HV_CHANGE_TEXT), NR_SITES - 1);
}
END_TEST

START_TEST(an_architecture_without_chains)
{
	static struct hv_arch less;

	less = hv_arch_x86_64;
	less.trampolines.chain_function_off = 0;
	r.t.f.k.core.as.arch = &less;
	call(FR_SITE(0), FU_CALLER);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	ck_assert_uint_eq(target_of(FR_SITE(0)).v, FU_CALLER);
	ck_assert_uint_eq(nr_refused(), 1);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	r.t.f.k.core.as.arch = &hv_arch_x86_64;
}
END_TEST

/* The guest begins to use a site, changes to another trampoline, and ends: what is restored is
 * always the guest's present call. */
START_TEST(sites_that_the_guest_takes_and_releases)
{
	const struct hv_unseen *unseen = hv_guest_ftrace_unseen(t.guest_ftrace);
	uint64_t targets[] = {FU_CALLER, FU_TRAMPOLINE, 0, FU_REGS_CALLER};
	uint64_t now = 0;

	fu_ops(&r.t.f, &u, FU_TRAMPOLINE);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	ck_assert(!hv_guest_ftrace_may_write(t.guest_ftrace, hv_now_ns()));
	for (unsigned i = 0; i < HV_ARRAY_LEN(targets); i++) {
		HV_AUTO_TEXT struct hv_text line = {0};

		hv_region_control(&r.tracee.region)->looks++;
		if (targets[i])
			call(FR_SITE(1), targets[i]);
		else
			memcpy(fk_host(&r.t.f, FR_SITE(1)), nop, FR_SITE_BYTES);
		ck_assert(hv_guest_ftrace_may_write(t.guest_ftrace, hv_now_ns()));
		ck_assert_uint_eq(hv_guest_ftrace_forget_taken(t.guest_ftrace), 1);
		ck_assert_uint_eq(unseen->nr_now, 1);
		traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
		ck_assert_uint_eq(unseen->nr_now, 0);
		ck_assert_uint_eq(unseen->nr, i + 1);
		ck_assert_uint_ge(unseen->total_ns, now);
		ck_assert_uint_ge(unseen->total_ns, unseen->longest_ns);
		now = unseen->total_ns;
		ck_assert_uint_eq(hv_site_trampolines_joined(t.trampolines), targets[i] != 0);
		ck_assert(hv_site_trampolines_take_unseen(t.trampolines, &line));
		ck_assert(strncmp(line.data, "1 function was not seen for up to ", 34) == 0 &&
			  strstr(line.data, " ms while the guest changed it: f"));
		ck_assert(!hv_site_trampolines_take_unseen(t.trampolines, &line));
	}
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	ck_assert_uint_eq(target_of(FR_SITE(1)).v, FU_REGS_CALLER);
}
END_TEST

/* The guest overwrites a site between the look at taken sites and the next change. */
START_TEST(a_change_at_any_moment)
{
	HV_AUTO_TEXT struct hv_text report = {0};

	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	call(FR_SITE(1), FU_CALLER);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	ck_assert_uint_eq(hv_site_trampolines_joined(t.trampolines), 1);
	ck_assert_uint_eq(hv_guest_ftrace_unseen(t.guest_ftrace)->nr, 1);
	memcpy(fk_host(&r.t.f, FR_SITE(1)), nop, FR_SITE_BYTES);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	ck_assert_uint_eq(hv_guest_ftrace_unseen(t.guest_ftrace)->nr, 2);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	ck_assert_mem_eq(fk_host(&r.t.f, FR_SITE(1)), nop, FR_SITE_BYTES);

	call(FR_SITE(2), FU_CALLER);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	call(FR_SITE(2), FU_REGS_CALLER);
	ck_assert_ptr_null(hv_site_trampolines_restore(t.trampolines, &report));
	ck_assert_uint_eq(target_of(FR_SITE(2)).v, FU_REGS_CALLER);
}
END_TEST

START_TEST(unwanted_functions_are_not_reported)
{
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	call(FR_SITE(1), FU_CALLER + 4); /* cannot be joined */
	ck_assert_uint_eq(hv_guest_ftrace_forget_taken(t.guest_ftrace), 1);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	ck_assert_uint_eq(hv_guest_ftrace_unseen(t.guest_ftrace)->nr_now, 1);
	traced_check_want(&t, HV_TRAMPOLINE_NONE);
	ck_assert_uint_eq(hv_guest_ftrace_unseen(t.guest_ftrace)->nr_now, 0);
	ck_assert_uint_eq(hv_guest_ftrace_unseen(t.guest_ftrace)->nr, 0);
}
END_TEST

START_TEST(the_number_of_chains_is_limited)
{
	struct hv_chains *c = hv_chains_new(&r.tracee);
	struct hv_gva plain = hv_trampolines_call(&r.tracee, HV_TRAMPOLINE_FUNCTION, HV_ROLE_NONE);
	struct hv_gva at, again, trampoline, target;

	for (uint64_t i = 0; i < HV_REGION_NR_CHAINS; i++) {
		ck_assert(hv_chains_choose(c, plain, hv_gva(FK_MODULES + 16 * i), &at));
		ck_assert(hv_chains_choose(c, plain, hv_gva(FK_MODULES + 16 * i), &again));
		ck_assert_uint_eq(at.v, again.v);
	}
	ck_assert(!hv_chains_choose(c, plain, hv_gva(FK_MODULES - 16), &at));
	ck_assert(hv_chains_choose(c, plain, hv_gva(FK_MODULES), &at));
	ck_assert(hv_chains_at(c, at, &trampoline, &target));
	ck_assert_uint_eq(trampoline.v, plain.v);
	ck_assert_uint_eq(target.v, FK_MODULES);
	ck_assert(!hv_chains_at(c, hv_gva_add(at, 1), &trampoline, &target));
	hv_chains_free(c);

	c = hv_chains_new(&r.tracee);
	ck_assert(!hv_chains_choose(c, plain, hv_gva(0xffff888000000000), &at)); /* out of reach */
	ck_assert(!hv_chains_choose(c, plain, r.tracee.handler, &at));
	ck_assert(!hv_chains_choose(c, hv_gva_add(plain, 5), hv_gva(FK_MODULES), &at));
	ck_assert(!hv_chains_at(c, hv_gva(FIRST), &trampoline, &target));
	hv_chains_free(c);
}
END_TEST

/* A journal entry as recover finds it. The guest's root can write the journal. */
START_TEST(only_an_explained_call_is_put_back)
{
	hv_cleanup(hv_ftrace_users_deinit) struct hv_ftrace_users users = {0};
	struct hv_journal_entry good, e;
	bool ours;

	call(FR_SITE(0), FU_CALLER);
	good = (struct hv_journal_entry){.gva = FR_SITE(0),
					 .gpa = FK_GPA + (FR_SITE(0) - FK_BASE),
					 .kind = HV_CHANGE_TEXT,
					 .len_bytes = FR_SITE_BYTES};
	memcpy(good.old_bytes, fk_host(&r.t.f, FR_SITE(0)), FR_SITE_BYTES);
	traced_check_want(&t, HV_TRAMPOLINE_FUNCTION);
	expect_success(hv_ftrace_users_read(&r.t.f.k.core, &users));
	e = good;
	expect_success(hv_chains_are_ours(&r.tracee, &users, &e, &ours));
	ck_assert(ours);
	ck_assert_mem_eq(e.new_bytes, fk_host(&r.t.f, FR_SITE(0)), FR_SITE_BYTES);

	for (unsigned i = 0; i < 4; i++) {
		static const uint64_t others[] = {FU_CALLER + 1, FK_BASE, FR_RANGE + 0x1000,
						  FR_HANDLER};

		e = good;
		ck_assert(
			hv_arch_x86_64.encode_call(hv_gva(e.gva), hv_gva(others[i]), e.old_bytes));
		expect_success(hv_chains_are_ours(&r.tracee, &users, &e, &ours));
		ck_assert(!ours);
	}
	e = good;
	e.old_bytes[0] = 0xe9; /* a jump */
	expect_success(hv_chains_are_ours(&r.tracee, &users, &e, &ours));
	ck_assert(!ours);
	e = good;
	e.gpa += 16;
	expect_success(hv_chains_are_ours(&r.tracee, &users, &e, &ours));
	ck_assert(!ours);
	call(FR_SITE(0), FU_REGS_CALLER); /* the guest has changed it since */
	e = good;
	expect_success(hv_chains_are_ours(&r.tracee, &users, &e, &ours));
	ck_assert(!ours);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_chain_for_each_target);
	tcase_add_test(tc, calls_that_records_do_not_explain);
	tcase_add_test(tc, every_tracer_has_chains);
	tcase_add_test(tc, other_sites_do_not_pay_for_chains);
	tcase_add_test(tc, return_addresses_that_the_guest_may_keep);
	tcase_add_test(tc, functions_with_actions);
	tcase_add_test(tc, functions_with_return_probes);
	tcase_add_test(tc, action_groups_of_chains_are_not_reused);
	tcase_add_test(tc, the_guest_uses_all_sites);
	tcase_add_test(tc, a_kernel_without_a_known_reader);
	tcase_add_test(tc, an_architecture_without_chains);
	tcase_add_test(tc, sites_that_the_guest_takes_and_releases);
	tcase_add_test(tc, a_change_at_any_moment);
	tcase_add_test(tc, unwanted_functions_are_not_reported);
	tcase_add_test(tc, the_number_of_chains_is_limited);
	tcase_add_test(tc, only_an_explained_call_is_put_back);
}

int main(void)
{
	return run_suite("chains", add_tests);
}
