/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times recorded by the graph trampolines, in a machine without a kernel: own times, the time that
 * a task was off its CPU, the time that the host did not run the vCPU, and their sums in the
 * profile. */
#include <string.h>

#include "tests/kvm/graph_room.h"

#define FRAME sizeof(struct hv_frame)

/* The sum of all functions' own times equals the time of the outermost call. */
START_TEST(times_of_nested_calls)
{
	const struct hv_stack *stack = world_home(&room->world, room->world.stack.v);
	const struct world_case *c = graph_case("profile, without the calls in it");
	struct hv_count outer, inner;

	for (unsigned own = 0; own < 2; own++) {
		room_set_up(room, c);
		world_make_tail_call(&room->world);
		if (!own)
			world_params(&room->world)->graph_flags &= ~HV_GRAPH_OWN_TIME;
		world_choose_ways(&room->world);
		room_begin(room, 0);
		room_ends();
		outer = graph_counted(WORLD_TRACED_OFF);
		inner = graph_counted(WORLD_TRACED_OTHER_OFF);
		ck_assert_uint_gt(inner.ticks, 0);
		ck_assert_uint_gt(outer.ticks, 0);
		if (own)
			ck_assert_uint_eq(outer.ticks + inner.ticks, stack->own_ticks);
		else
			ck_assert_uint_gt(outer.ticks, inner.ticks);
	}
}
END_TEST

/* The time of an interrupt on its own stack is not part of the interrupted function's time. */
START_TEST(time_of_an_interrupt)
{
	uint64_t left = MACHINE_GVA + 0x7000000, last_off = MACHINE_STACK_END - 8;
	uint64_t sp = left + 0x1000;
	struct hv_stack *interrupted = world_home(&room->world, left);

	room_set_up(room, graph_case("profile, of a stack seen first"));
	world_params(&room->world)->graph_flags |= HV_GRAPH_OWN_TIME;
	world_choose_ways(&room->world);
	world_cpu(&room->world)->irq_stack = machine_gva(last_off);
	memcpy(room->machine->memory + last_off, &sp, 8);
	interrupted->word = left | 5 * FRAME;
	interrupted->own_ticks = 1000;
	room_begin(room, 0);
	room_ends();
	graph_check();
	ck_assert_uint_gt(graph_counted(WORLD_TRACED_OFF).ticks, 0);
	ck_assert_uint_eq(graph_counted(WORLD_TRACED_OFF).ticks + 1000, interrupted->own_ticks);
}
END_TEST

/* The time that a task was off its CPU is subtracted from its open calls. */
START_TEST(a_task_leaves_and_comes_back)
{
	struct hv_stack *stack = world_home(&room->world, room->world.stack.v);
	uint64_t away;

	room_set_up(room, graph_case("a task leaves the CPU"));
	room_begin(room, 0);
	room_ends();
	ck_assert_uint_ge(stack->left_tsc, room->before_tsc);
	ck_assert_uint_le(stack->left_tsc, room_tsc(room));
	ck_assert_uint_eq(stack->frames[0].tsc, 0);

	room_set_up(room, graph_case("a task comes back"));
	room_begin(room, 0);
	away = room->before_tsc / 2; /* less than the TSC, which may be small */
	stack->left_tsc = room->before_tsc - away;
	stack->frames[0].tsc = 7;
	room_ends();
	ck_assert_uint_eq(stack->left_tsc, 0);
	ck_assert_uint_ge(stack->frames[0].tsc, 7 + away);
	ck_assert_uint_le(stack->frames[0].tsc, 7 + away + room_tsc(room) - room->before_tsc);
	ck_assert_uint_eq(stack->frames[1].tsc, stack->frames[0].tsc - 7);
}
END_TEST

#define UNIT_NS (UINT64_C(1) << HV_STEAL_SHIFT)

/* Returns the recorded host time, in units, if the host takes TAKEN_NS. A threshold of one tick
 * drops no call, because ticks_per_ns makes the host's time almost no ticks. */
static uint64_t host_time(uint64_t threshold_ticks, uint64_t taken_ns)
{
	struct graph_found found;

	room_set_up(room, graph_case("host: call and return"));
	world_params(&room->world)->threshold_ticks = threshold_ticks;
	world_params(&room->world)->ticks_per_ns = 1;
	memcpy(room->expected + MACHINE_FREE_OFF, room->world.host, WORLD_CODE_OFF);
	world_cpu(&room->world)->steal_ns = (UINT64_C(1) << 32) * UNIT_NS - 1;
	graph_run_to_the_body();
	world_cpu(&room->world)->steal_ns += taken_ns;
	room_ends();
	found = graph_check();
	ck_assert_uint_eq(found.outer.exits, 1);
	ck_assert_uint_eq(found.outer.mores, found.host_ns != 0);
	ck_assert_uint_eq(found.host_ns % UNIT_NS, 0);
	return found.host_ns / UNIT_NS;
}

/* Host time is the growth of the steal time between call and return. A decrease counts as 0. */
START_TEST(time_that_the_host_took)
{
	const uint64_t threshold = (uint64_t)_i;

	ck_assert_uint_eq(host_time(threshold, 0), 0);
	ck_assert_uint_eq(host_time(threshold, 1), 1); /* the low half becomes 0 */
	ck_assert_uint_eq(host_time(threshold, UNIT_NS), 1);
	ck_assert_uint_eq(host_time(threshold, 1521 * UNIT_NS), 1521);
	ck_assert_uint_eq(host_time(threshold, INT32_MAX * UNIT_NS), INT32_MAX);
	ck_assert_uint_eq(host_time(threshold, -1000 * UNIT_NS), 0);
}
END_TEST

/* A frame from before host time was enabled has no start value. */
START_TEST(a_call_before_host_time_was_enabled)
{
	struct graph_found found;

	room_set_up(room, graph_case("call and return"));
	graph_run_to_the_body();
	world_params(&room->world)->graph_flags |= HV_GRAPH_HOST;
	world_choose_ways(&room->world);
	memcpy(room->expected + MACHINE_FREE_OFF, room->world.host, WORLD_CODE_OFF);
	memcpy(room->expected + MACHINE_FREE_OFF + WORLD_CONTROL_OFF, world_control(&room->world),
	       sizeof(struct hv_control));
	world_cpu(&room->world)->steal_ns += 1000;
	room_ends();
	found = graph_check();
	ck_assert_uint_eq(found.outer.exits, 1);
	ck_assert_uint_eq(found.outer.mores, 0);
}
END_TEST

/* The profile counts a call's time without the host's. */
START_TEST(a_profile_without_the_host)
{
	room_set_up(room, graph_case("host: profile"));
	world_params(&room->world)->ticks_per_ns = UINT64_C(1) << 62;
	room_begin(room, 0);
	room_ends();
	ck_assert_uint_eq(graph_counted(WORLD_TRACED_OFF).ticks, 0);

	room_set_up(room, graph_case("host: profile"));
	room_begin(room, 0);
	room_ends();
	ck_assert_uint_gt(graph_counted(WORLD_TRACED_OFF).ticks, 0);
}
END_TEST

/* Returns the profile's host time after a call with WORLD_STOLEN_NS of host time. WAS is the value
 * before it. */
static uint32_t counted_host(uint32_t was)
{
	struct hv_count *counts;

	room_set_up(room, graph_case("host: profile"));
	graph_run_to_the_body();
	counts = world_counts(&room->world, 0);
	for (unsigned i = 0; i < WORLD_NR_COUNTS; i++)
		if (counts[i].hits)
			counts[i].host = was;
	room_ends();
	return graph_counted(WORLD_TRACED_OFF).host;
}

/* The profile adds up the host's time and saturates at the maximum. */
START_TEST(a_profile_of_the_host)
{
	const uint32_t units = WORLD_STOLEN_NS / UNIT_NS;

	ck_assert_uint_gt(units, 1);
	ck_assert_uint_eq(counted_host(0), units);
	ck_assert_uint_eq(counted_host(7), units + 7);
	ck_assert_uint_eq(counted_host(UINT32_MAX - units), UINT32_MAX);
	ck_assert_uint_eq(counted_host(UINT32_MAX - units + 1), UINT32_MAX);
	ck_assert_uint_eq(counted_host(UINT32_MAX), UINT32_MAX);
}
END_TEST

/* A task returns to a vCPU with a different steal time. The start values of its calls are
 * adjusted. */
START_TEST(steal_time_follows_a_task)
{
	struct hv_stack *stack = world_home(&room->world, room->world.stack.v);

	room_set_up(room, graph_case("host: a task leaves the CPU"));
	room_begin(room, 0);
	room_ends();
	ck_assert_uint_eq(stack->left_steal, 1001);
	ck_assert_uint_eq(stack->left_tsc, 0);

	room_set_up(room, graph_case("host: a task leaves the CPU, sleep-time 0"));
	room_begin(room, 0);
	room_ends();
	ck_assert_uint_eq(stack->left_steal, 1001);
	ck_assert_uint_ne(stack->left_tsc, 0);

	room_set_up(room, graph_case("host: a task comes back"));
	stack->left_steal = 5001;
	stack->frames[0].flags = stack->frames[1].flags = HV_FRAME_HOST;
	stack->steals[0] = 4600;
	stack->steals[1] = 4900;
	room_begin(room, 0);
	room_ends();
	ck_assert_uint_eq(stack->left_steal, 0);
	ck_assert_uint_eq(stack->steals[0], 600);
	ck_assert_uint_eq(stack->steals[1], 900);
	ck_assert_uint_eq(stack->frames[0].flags, HV_FRAME_HOST);

	room_set_up(room, graph_case("host: a task comes back from an unknown vCPU"));
	stack->frames[0].flags = stack->frames[1].flags = HV_FRAME_HOST | HV_FRAME_ROOT;
	room_begin(room, 0);
	room_ends();
	ck_assert_uint_eq(stack->frames[0].flags, HV_FRAME_ROOT);
	ck_assert_uint_eq(stack->frames[1].flags, HV_FRAME_ROOT);
}
END_TEST

static void add_tests(TCase *tc)
{
	room_suite_init(tc);
	tcase_add_test(tc, times_of_nested_calls);
	tcase_add_test(tc, time_of_an_interrupt);
	tcase_add_test(tc, a_task_leaves_and_comes_back);
	tcase_add_loop_test(tc, time_that_the_host_took, 0, 2);
	tcase_add_test(tc, a_call_before_host_time_was_enabled);
	tcase_add_test(tc, a_profile_without_the_host);
	tcase_add_test(tc, a_profile_of_the_host);
	tcase_add_test(tc, steal_time_follows_a_task);
}

int main(void)
{
	return room_suite_main("times of a graph in a machine", add_tests);
}
