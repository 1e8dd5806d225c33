/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Start and end of a graph: its leftovers in the guest, and operations that must wait for them. */
#include <check.h>

#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "kernel/clock/clock.h"
#include "tests/unit/tracer/fake_returns.h"

static struct fr r;
static struct hv_graph_tracer *graph;

static void setup(void)
{
	fr_init(&r);
	graph = hv_graph_tracer_new(&r.tracee, NULL);
}

static void teardown(void)
{
	hv_graph_tracer_free(graph);
	fr_deinit(&r);
}

/* Adds a frame as the trampoline leaves it. */
static void open_frame(void)
{
	fr_frame(&r, 0, fr_retp(&r, 0), FR_CALLER);
	fk_u64(&r.t.f, fr_retp(&r, 0), FR_HANDLER);
}

static void check_livepatch(bool waits)
{
	struct hv_err *err = hv_graph_tracer_livepatch(graph);

	ck_assert(waits ? err && err->code == EBUSY : !err);
	hv_err_free(err);
}

/* The livepatch waits for the end of the graph, and then for the open calls. */
START_TEST(a_livepatch_waits_until_all_is_put_back)
{
	ck_assert_ptr_null(fr_start_graph(&r, graph));
	open_frame();
	check_livepatch(false);
	fk_u64(&r.t.f, r.t.klp, FK_DATA);
	check_livepatch(true);
	hv_graph_tracer_put_back(graph); /* no effect while the graph is traced */
	check_livepatch(true);
	r.regs[0].ip = hv_gva(FR_HANDLER);
	hv_graph_tracer_stop(graph);
	check_livepatch(true);
	hv_graph_tracer_put_back(graph);
	check_livepatch(true);
	r.regs[0].ip = hv_gva(0x401000);
	hv_graph_tracer_put_back(graph);
	check_livepatch(false);
	ck_assert_uint_eq(fr_word(&r, fr_retp(&r, 0)), FR_CALLER);
}
END_TEST

/* A stack where nothing is mapped any longer. */
START_TEST(dead_stacks_are_swept_while_a_graph_is_traced)
{
	struct hv_stack *dead = hv_region_stack(&r.tracee.region, 1);

	r.t.f.k.layout.stack_bytes = FT_STACK;
	dead->word = 0xffffc90001000000ull + 5;
	hv_graph_tracer_sweep(graph);
	ck_assert_uint_ne(dead->word, 0); /* its calls must still be restored */
	dead->word = 0;
	ck_assert_ptr_null(fr_start_graph(&r, graph));
	dead->word = 0xffffc90001000000ull + 5;
	hv_graph_tracer_sweep(graph);
	ck_assert_uint_eq(dead->word, 0);
}
END_TEST

START_TEST(a_kernel_without_the_sites_where_tasks_leave_a_cpu)
{
	static const uint32_t flags[] = {HV_GRAPH_NO_SLEEP, HV_GRAPH_HOST};
	struct hv_graph_roles roles;
	struct hv_clock *clock;

	fk_u32(&r.t.f, r.t.use_tsc, 1);
	fk_u64(&r.t.f, r.t.pv_sched_clock, FK_BASE + 0x300);
	expect_success(hv_clock_new(&r.t.f.k, &clock));
	hv_graph_tracer_free(graph);
	graph = hv_graph_tracer_new(&r.tracee, clock);
	for (unsigned i = 0; i < 2; i++) {
		hv_graph_tracer_set_options(graph, &(struct hv_graph_options){.flags = flags[i]});
		expect_error(hv_graph_tracer_find_roles(graph, &roles), EOPNOTSUPP,
			     "sleep-time 0 and funcgraph-host: no site rcu_note_context_switch or"
			     " finish_task_switch: the time off the CPU cannot be measured");
	}
	hv_graph_tracer_set_options(graph, &(struct hv_graph_options){0});
	expect_success(hv_graph_tracer_find_roles(graph, &roles));
	hv_clock_free(clock);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_kernel_without_the_sites_where_tasks_leave_a_cpu);
	tcase_add_test(tc, a_livepatch_waits_until_all_is_put_back);
	tcase_add_test(tc, dead_stacks_are_swept_while_a_graph_is_traced);
}

int main(void)
{
	return run_suite("graph_tracer", add_tests);
}
