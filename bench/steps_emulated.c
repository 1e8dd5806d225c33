/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts the instructions of each path through a trampoline of another architecture on an emulated
 * CPU. The counts are exact and the same on every machine. Prints lines `| name | instructions |`,
 * which bench/check-steps-emulated combines with the x86-64 counts. */
#include <stdio.h>

#include "tests/lib/emulated/world.h"

static bool print_cases(struct emu_world *w, const struct emu_case *cases, unsigned nr_cases)
{
	for (unsigned i = 0; i < nr_cases; i++) {
		uint64_t before = w->nr_in_trampolines;

		emu_set_up(w, &cases[i]);
		emu_enter(w, EMU_TRACED_OFF, EMU_CALLER_OFF, w->fp ? w->fp - 0x40 : emu_sp(0));
		if (!emu_run(w, EMU_CALLER_OFF))
			return false;
		printf("| %s | %llu |\n", cases[i].name,
		       (unsigned long long)(w->nr_in_trampolines - before));
	}
	return true;
}

int main(void)
{
	struct emu_world *w = emu_new();
	bool ok = print_cases(w, emu_cases, emu_nr_cases) &&
		  print_cases(w, emu_stack_cases, emu_nr_stack_cases) &&
		  print_cases(w, emu_graph_cases, emu_nr_graph_cases);

	emu_free(w);
	return ok ? 0 : 1;
}
