/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts the instructions of each path through a stub of riscv64, on an emulated CPU. The numbers
 * are exact, and the same on every machine. Prints lines `| name | instructions |`, which
 * bench/check-steps-emulated puts beside those of x86-64. */
#include <stdio.h>

#include "tests/lib/riscv64_world.h"

static bool print_cases(struct riscv64_world *w, const struct riscv64_case *cases,
			unsigned nr_cases)
{
	for (unsigned i = 0; i < nr_cases; i++) {
		uint64_t before = w->nr_in_stubs;

		riscv64_world_set_up(w, &cases[i]);
		riscv64_world_enter(w, RISCV64_WORLD_TRACED_OFF, RISCV64_WORLD_CALLER_OFF,
				    w->fp ? w->fp - RISCV64_WORLD_FRAME : riscv64_world_sp(0));
		if (!riscv64_world_run(w, RISCV64_WORLD_CALLER_OFF))
			return false;
		printf("| %s | %llu |\n", cases[i].name,
		       (unsigned long long)(w->nr_in_stubs - before));
	}
	return true;
}

int main(void)
{
	struct riscv64_world *w = riscv64_world_new();
	bool ok = print_cases(w, riscv64_cases, riscv64_nr_cases) &&
		  print_cases(w, riscv64_stack_cases, riscv64_nr_stack_cases) &&
		  print_cases(w, riscv64_graph_cases, riscv64_nr_graph_cases);

	riscv64_world_free(w);
	return ok ? 0 : 1;
}
