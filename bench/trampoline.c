/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures the cost of a trampoline. Calls the real trampoline code in this process, and for
 * comparison an untraced function, an empty function and a bare rdtsc. The subjects alternate in
 * short rounds, so that other activity on the machine affects all of them; ratios are computed
 * within a round. Prints medians.
 *
 *	bench/trampoline [ROUNDS [CALLS [KIB]]]
 *
 * Default: 301 rounds of 20000 calls per subject, and a ring of 16384 KiB, as in a 64 MiB region
 * with two vCPUs. KIB is a power of two. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/clock.h"
#include "bench/native.h"

#define NR_REFERENCES 8
static const struct {
	const char *name;
	uint64_t off;
} references[NR_REFERENCES] = {
	{"not traced (nop)", NATIVE_UNTRACED_OFF},
	{"call of an empty function", NATIVE_EMPTY_OFF},
	{"call of a bare rdtsc", NATIVE_RDTSC_OFF},
	{"return address replaced, back by a call", NATIVE_BY_CALL_OFF},
	{"return address replaced, back by a jump", NATIVE_BY_JUMP_OFF},
	{"return address replaced, each return with its call", NATIVE_BESIDE_OFF},
	{"call of xadd and rdtsc", NATIVE_ADD_OFF},
	{"call of lock xadd and rdtsc", NATIVE_LOCK_OFF},
};
enum { UNTRACED, EMPTY, RDTSC };

/* Returns the case of subject S, or the first case for a reference. */
static const struct world_case *case_of(unsigned s)
{
	if (s < NR_REFERENCES)
		return &world_cases[0];
	s -= NR_REFERENCES;
	return s < world_nr_cases ? &world_cases[s] : &world_graph_cases[s - world_nr_cases];
}

/* Returns the time in ns of one call of subject S, a reference or a traced function in one of the
 * cases. */
static double time_subject(const struct world *w, unsigned s, uint64_t nr_calls)
{
	uint32_t nothing = 0, *each = &nothing;
	uint64_t off = WORLD_TRACED_OFF, start;

	native_prepare(w, case_of(s));
	if (s < NR_REFERENCES)
		off = references[s].off;
	else if (case_of(s)->nr_task_records)
		each = &world_state(w, world_cpu(w)->cpu_number)->last_pid;
	native_call(w, off, 100, each);
	start = clock_read(CLOCK_THREAD_CPUTIME_ID);
	native_call(w, off, nr_calls, each);
	return (double)(clock_read(CLOCK_THREAD_CPUTIME_ID) - start) / (double)nr_calls;
}

static void print(const char *name, const double *ns, const double *references_ns, size_t nr_rounds)
{
	double *v = calloc(nr_rounds, sizeof(*v));
	double result[4], quiet = 0;

	if (!v)
		abort();
	for (unsigned column = 0; column < 4; column++) {
		for (size_t r = 0; r < nr_rounds; r++) {
			const double *reference = references_ns + r * NR_REFERENCES;

			v[r] = column == 0   ? ns[r]
			       : column == 1 ? ns[r] - reference[UNTRACED]
			       : column == 2 ? ns[r] / reference[RDTSC]
					     : ns[r] / reference[EMPTY];
		}
		result[column] = median(v, nr_rounds);
		if (column == 0)
			quiet = v[nr_rounds / 20]; /* values are sorted */
	}
	printf("| %s | %.1f | %.1f | %.1f | %.2f | %.1f |\n", name, result[0], quiet, result[1],
	       result[2], result[3]);
	free(v);
}

static void measure(const struct world *w, size_t nr_rounds, uint64_t nr_calls)
{
	unsigned nr = NR_REFERENCES + world_nr_cases + world_nr_graph_cases;
	double *references_ns = calloc(nr_rounds * NR_REFERENCES, sizeof(*references_ns));
	double *ns = calloc(nr_rounds * nr, sizeof(*ns));

	if (!references_ns || !ns)
		abort();
	for (size_t r = 0; r < nr_rounds; r++)
		for (unsigned s = 0; s < nr; s++) {
			double t = time_subject(w, s, nr_calls);

			ns[s * nr_rounds + r] = t;
			if (s < NR_REFERENCES)
				references_ns[r * NR_REFERENCES + s] = t;
		}
	printf("| one call of a function | ns | quietest twentieth, ns | more than not traced, ns "
	       "| of a bare rdtsc | of an "
	       "empty call |\n|---|---:|---:|---:|---:|---:|\n");
	for (unsigned s = 0; s < nr; s++)
		print(s < NR_REFERENCES ? references[s].name : case_of(s)->name, ns + s * nr_rounds,
		      references_ns, nr_rounds);
	free(references_ns);
	free(ns);
}

int main(int argc, char **argv)
{
	size_t nr_rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 301;
	uint64_t nr_calls = argc > 2 ? strtoul(argv[2], NULL, 10) : 20000;
	uint64_t ring_kib = argc > 3 ? strtoul(argv[3], NULL, 10) : 16384;
	const char *lack = NULL;
	struct world *w;

	if (nr_rounds < 1 || nr_calls < 1 || ring_kib < 1 || ring_kib & (ring_kib - 1) ||
	    argc > 4) {
		fprintf(stderr, "usage: trampoline [ROUNDS [CALLS [KIB]]]\n");
		return 2;
	}
	w = native_new(ring_kib * 1024 / sizeof(struct hv_record), &lack);
	if (!w) {
		printf("skipped: %s\n", lack);
		return 77;
	}
	measure(w, nr_rounds, nr_calls);
	native_free(w);
	return 0;
}
