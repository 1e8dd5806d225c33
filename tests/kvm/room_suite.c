/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/kvm/room_suite.h"

#include <stdio.h>

#include "tests/lib/run_suite.h"

#define EXIT_SKIPPED 77

struct room *room;

static void set_up(void)
{
	const char *lack;

	room = room_new(&lack);
	ck_assert_msg(room != NULL, "%s", lack);
}

static void tear_down(void)
{
	room_free(room);
}

void room_suite_init(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_set_timeout(tc, 120);
}

int room_suite_main(const char *name, void (*add)(TCase *tc))
{
	const char *lack;
	struct room *trial = room_new(&lack);

	if (!trial) {
		printf("skipped: %s\n", lack);
		return EXIT_SKIPPED;
	}
	room_free(trial);
	return run_suite(name, add);
}

static void run_to_port(unsigned wanted)
{
	unsigned port;

	ck_assert_int_eq(machine_run(room->machine, &port), MACHINE_PORT);
	ck_assert_uint_eq(port, wanted);
}

void trap_springs(const struct trap *t)
{
	if (t->nmi)
		machine_nmi(room->machine);
	else
		machine_interrupt(room->machine, ROOM_VECTOR);
	run_to_port(ROOM_PORT_IN);
}

void trap_has_called(void)
{
	run_to_port(ROOM_PORT_OUT);
}

void room_ends(void)
{
	unsigned port;

	ck_assert_int_eq(machine_run(room->machine, &port), MACHINE_HALT);
}

void room_way_is_shorter(const struct world_case *c, unsigned steps_max)
{
	unsigned port, steps = 0;
	enum machine_stop stop;

	room_set_up(room, c);
	room_begin(room, 0);
	while ((stop = machine_step(room->machine, &port)) == MACHINE_STEP)
		ck_assert_uint_lt(++steps, steps_max);
	ck_assert_int_eq(stop, MACHINE_HALT);
	ck_assert_uint_gt(steps, 5);
}
