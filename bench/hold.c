/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures the host's cost of attaching and patching, and how long patching holds the guest. The
 * guest is made from a file (image.h), so nothing is emulated. As with a real KVM guest, a hold
 * stops a process that has the memory mapped, and the helper of the hold writes to that process.
 * Prints medians of ROUNDS. Needs permission to ptrace that process.
 *
 *	bench/hold IMAGE [ROUNDS]	default 9 */
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "bench/clock.h"
#include "bench/image.h"
#include "kernel/kernel.h"
#include "tracer/guest/tracee.h"
#include "tracer/sections/section_tracer.h"
#include "tracer/session.h"
#include "tracer/sites/site_trampolines.h"

#define REGION_BYTES (UINT64_C(64) << 20)
#define ROUNDS_MAX   1000

static const size_t numbers_of_sites[] = {1, 100, 1000, 10000, SIZE_MAX};
#define NR_NUMBERS (sizeof(numbers_of_sites) / sizeof(*numbers_of_sites))

enum column {
	SET_MS,
	UNSET_MS,
	NR_HOLDS, /* while setting the tracer, like the next two */
	HELD_MS,
	LONGEST_MS,
	NR_COLUMNS
};

struct result {
	size_t nr_sites;
	size_t nr_pages;
	double values[NR_COLUMNS][ROUNDS_MAX];
};

static struct result results[NR_NUMBERS];

/* Sites of sections are patched in separate holds. Each hold reads the guest's kprobes; holds for
 * instructions that contain nops also read its stacks. */
static const char *const section_tracers[] = {
	[HV_SECTION_PREEMPT] = "preemptoff",
	[HV_SECTION_IRQ] = "irqsoff",
	[HV_SECTION_EITHER] = "preemptirqsoff",
};
#define NR_SECTION_TRACERS (sizeof(section_tracers) / sizeof(*section_tracers))
static struct result section_results[NR_SECTION_TRACERS];
static double open_ms[ROUNDS_MAX], attach_ms[ROUNDS_MAX], detach_ms[ROUNDS_MAX];
static double heap_mib[ROUNDS_MAX];

static void must(struct hv_err *err)
{
	if (!err)
		return;
	fprintf(stderr, "%s\n", err->message);
	exit(1);
}

/* Processor time: nothing here waits. */
static uint64_t now_ns(void)
{
	return clock_read(CLOCK_PROCESS_CPUTIME_ID);
}

static double ms_since(uint64_t start_ns)
{
	return (double)(now_ns() - start_ns) / 1e6;
}

static double heap_now_mib(void)
{
	struct mallinfo2 info = mallinfo2();

	return (double)(info.uordblks + info.hblkhd) / (1 << 20);
}

/* Sets WANTED to the first NR sites that can be traced. */
static void choose(const struct hv_sites *sites, size_t nr, uint8_t *wanted, struct result *r)
{
	uint64_t page = 0;

	memset(wanted, HV_TRAMPOLINE_NONE, sites->nr);
	r->nr_sites = r->nr_pages = 0;
	for (size_t i = 0; i < sites->nr && r->nr_sites < nr; i++) {
		if (sites->list[i].invalid || sites->list[i].busy)
			continue;
		wanted[i] = HV_TRAMPOLINE_FUNCTION;
		r->nr_sites++;
		r->nr_pages += sites->list[i].ip.v / 4096 != page;
		page = sites->list[i].ip.v / 4096;
	}
}

static void measure_patching(struct hv_session *s, size_t number, size_t round)
{
	struct result *r = &results[number];
	size_t nr_sites = s->kernel->sites.nr;
	uint8_t *wanted = hv_alloc(nr_sites);
	const struct hv_hold_stat *holds = hv_patcher_holds(s->tracee->patcher);
	struct hv_hold_stat before = *holds;
	uint64_t start_ns;

	choose(&s->kernel->sites, numbers_of_sites[number], wanted, r);
	start_ns = now_ns();
	must(hv_site_trampolines_set(s->trampolines, wanted));
	r->values[SET_MS][round] = ms_since(start_ns);
	r->values[NR_HOLDS][round] = (double)(holds->nr - before.nr);
	r->values[HELD_MS][round] = (double)(holds->total_ns - before.total_ns) / 1e6;
	r->values[LONGEST_MS][round] = (double)holds->max_ns / 1e6;

	memset(wanted, HV_TRAMPOLINE_NONE, nr_sites);
	start_ns = now_ns();
	must(hv_site_trampolines_set(s->trampolines, wanted));
	r->values[UNSET_MS][round] = ms_since(start_ns);
	free(wanted);
}

static void measure_sections(struct hv_session *s, enum hv_section_kind kind, size_t round)
{
	struct result *r = &section_results[kind];
	const struct hv_hold_stat *holds = hv_patcher_holds(s->tracee->patcher);
	struct hv_hold_stat before = *holds;
	struct hv_section_coverage coverage;
	uint64_t start_ns = now_ns();

	must(hv_section_tracer_start(s->sections, kind));
	r->values[SET_MS][round] = ms_since(start_ns);
	r->values[NR_HOLDS][round] = (double)(holds->nr - before.nr);
	r->values[HELD_MS][round] = (double)(holds->total_ns - before.total_ns) / 1e6;
	r->values[LONGEST_MS][round] = (double)holds->max_ns / 1e6;
	hv_section_tracer_coverage(s->sections, &coverage);
	r->nr_sites = coverage.nr_covered;

	start_ns = now_ns();
	must(hv_section_tracer_stop(s->sections));
	r->values[UNSET_MS][round] = ms_since(start_ns);
}

static void detach(struct hv_session *session)
{
	struct hv_text report = {0};

	must(hv_session_detach(session, &report));
	hv_text_deinit(&report);
	hv_session_free(session);
}

static void measure_section_session(struct hv_guest *guest, struct hv_kernel *kernel,
				    enum hv_section_kind kind, size_t round)
{
	struct hv_session *session;

	must(hv_session_attach(guest, kernel, &session));
	measure_sections(session, kind, round);
	detach(session);
}

static void measure_session(struct hv_guest *guest, struct hv_kernel *kernel, size_t number,
			    size_t round, double heap_before_mib)
{
	struct hv_session *session;
	uint64_t start_ns = now_ns();

	must(hv_session_attach(guest, kernel, &session));
	attach_ms[round] = ms_since(start_ns);
	heap_mib[round] = heap_now_mib() - heap_before_mib;
	measure_patching(session, number, round);
	start_ns = now_ns();
	detach(session);
	detach_ms[round] = ms_since(start_ns);
}

static void measure_round(const char *path, size_t round)
{
	struct hv_guest *guest;
	struct hv_kernel *kernel;
	double heap_before_mib = heap_now_mib();
	uint64_t start_ns;

	must(image_open(path, REGION_BYTES, &guest));
	start_ns = now_ns();
	must(hv_kernel_open(guest, NULL, NULL, &kernel));
	open_ms[round] = ms_since(start_ns);
	/* Each number of sites has a separate session, because a session keeps its longest hold. */
	for (size_t number = 0; number < NR_NUMBERS; number++)
		measure_session(guest, kernel, number, round, heap_before_mib);
	for (size_t kind = 0; kind < NR_SECTION_TRACERS; kind++)
		measure_section_session(guest, kernel, (enum hv_section_kind)kind, round);
	hv_kernel_free(kernel);
	hv_guest_free(guest);
}

static void print_values(struct result *r, size_t nr_rounds)
{
	printf("| %.1f | %.1f | %.0f | %.2f | %.2f |\n", median(r->values[SET_MS], nr_rounds),
	       median(r->values[UNSET_MS], nr_rounds), median(r->values[NR_HOLDS], nr_rounds),
	       median(r->values[HELD_MS], nr_rounds), median(r->values[LONGEST_MS], nr_rounds));
}

static void print(size_t nr_rounds)
{
	printf("reading the kernel %.1f ms, attach %.1f ms, detach %.1f ms\n",
	       median(open_ms, nr_rounds), median(attach_ms, nr_rounds),
	       median(detach_ms, nr_rounds));
	printf("%.1f MiB of memory while attached, without the region\n\n",
	       median(heap_mib, nr_rounds));
	printf("| sites | pages | set, ms | unset, ms | holds | held in all, ms | longest, ms |\n");
	printf("|---:|---:|---:|---:|---:|---:|---:|\n");
	for (size_t number = 0; number < NR_NUMBERS; number++) {
		printf("| %zu | %zu ", results[number].nr_sites, results[number].nr_pages);
		print_values(&results[number], nr_rounds);
	}
	printf("\n| tracer | places | set, ms | unset, ms | holds | held in all, ms | longest, ms "
	       "|\n");
	printf("|---|---:|---:|---:|---:|---:|---:|\n");
	for (size_t kind = 0; kind < NR_SECTION_TRACERS; kind++) {
		printf("| %s | %zu ", section_tracers[kind], section_results[kind].nr_sites);
		print_values(&section_results[kind], nr_rounds);
	}
}

int main(int argc, char **argv)
{
	size_t nr_rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 9;

	if (argc < 2 || !nr_rounds || nr_rounds > ROUNDS_MAX) {
		fprintf(stderr, "usage: bench/hold IMAGE [ROUNDS]; bench/image makes one\n");
		return 2;
	}
	for (size_t round = 0; round < nr_rounds; round++)
		measure_round(argv[1], round);
	print(nr_rounds);
	return 0;
}
