/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts the instructions of each path through a stub of arm64, on an emulated CPU. The numbers are
 * exact, and the same on every machine. Prints lines `| name | instructions |`, which
 * bench/check-steps-emulated puts beside those of x86-64. */
#include <stdio.h>

#include "tests/lib/arm64_world.h"

static bool print_cases(struct arm64_world *w, const struct arm64_case *cases, unsigned nr_cases)
{
	for (unsigned i = 0; i < nr_cases; i++) {
		uint64_t before = w->nr_in_stubs;

		arm64_world_set_up(w, &cases[i]);
		arm64_world_enter(w, ARM64_WORLD_TRACED_OFF, ARM64_WORLD_CALLER_OFF,
				  arm64_world_sp(w));
		if (!arm64_world_run(w, ARM64_WORLD_CALLER_OFF))
			return false;
		printf("| %s | %llu |\n", cases[i].name,
		       (unsigned long long)(w->nr_in_stubs - before));
	}
	return true;
}

int main(void)
{
	struct arm64_world *w = arm64_world_new();
	bool ok = print_cases(w, arm64_cases, arm64_nr_cases) &&
		  print_cases(w, arm64_stack_cases, arm64_nr_stack_cases) &&
		  print_cases(w, arm64_graph_cases, arm64_nr_graph_cases);

	arm64_world_free(w);
	return ok ? 0 : 1;
}
