/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/kvm/section_room.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define EXIT_SKIPPED 77
#define NR_SLOTS     64

struct machine *machine;
struct world world;
static struct hv_trampoline_values values;

static void nothing(const struct world *w)
{
	(void)w;
}

static const struct world_case plain = {.name = "", .prepare = nothing};

void section_room_set_up(void)
{
	const char *lack;

	machine = machine_new(&lack);
	ck_assert_msg(machine != NULL, "%s", lack);
	world = (struct world){.host = machine->memory + MACHINE_FREE_OFF,
			       .gva = machine_gva(MACHINE_FREE_OFF),
			       .nr_slots = NR_SLOTS,
			       .values = &values,
			       .stack = machine_gva(MACHINE_STACK_OFF),
			       .stack_bytes = 0x4000};
	machine_protect(machine, MACHINE_FREE_OFF, WORLD_PIDS_OFF, HV_ACCESS_READ_EXECUTE);
	machine_protect(machine, MACHINE_FREE_OFF + WORLD_PIDS_OFF, 0x1000, HV_ACCESS_READ);
	world_set_up(&world, &plain);
}

void section_room_tear_down(void)
{
	machine_free(machine);
}

struct hv_sections *sections(void)
{
	return &world_state(&world, 0)->sections;
}

uint8_t *put(uint8_t *at, const void *bytes, size_t len)
{
	memcpy(at, bytes, len);
	return at + len;
}

int section_room_main(const char *name, void (*add_tests)(TCase *tc))
{
	const char *lack;

	machine = machine_new(&lack);
	if (!machine) {
		printf("skipped: %s\n", lack);
		return EXIT_SKIPPED;
	}
	machine_free(machine);
	return run_suite(name, add_tests);
}
