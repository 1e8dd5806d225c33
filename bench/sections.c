/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures the cost of a section for the tracers preemptoff and irqsoff. Calls the real detours and
 * trampolines in this process, and for comparison the same code without detours and two bare rdtsc.
 * `cli` and `sti` are left out because they are privileged; their cost does not depend on the
 * tracer. Prints medians.
 *
 *	bench/sections [ROUNDS [CALLS]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/clock.h"
#include "bench/native.h"

#define COUNT_OFF   offsetof(struct world_cpu, preempt_count)
#define DETOURS_OFF (NATIVE_PLACED_OFF + 0x200)
#define LONGEST	    (UINT64_MAX / 2)

enum { PLAIN, CLOCKS, PREEMPT, NESTED, IRQS, EITHER, NR_SUBJECTS };
static const char *const names[NR_SUBJECTS] = {
	[PLAIN] = "without a tracer",
	[CLOCKS] = "two bare rdtsc",
	[PREEMPT] = "preemptoff: preemption off and on",
	[NESTED] = "preemptoff: nested in another section",
	[IRQS] = "irqsoff: interrupts off and on",
	[EITHER] = "preemptirqsoff: preemption off and on",
};

/* A code writer for the world. */
struct code {
	const struct world *w;
	uint64_t off;
	unsigned nr_detours;
};

static void put(struct code *c, const void *bytes, size_t len)
{
	memcpy(c->w->host + c->off, bytes, len);
	c->off += len;
}

/* Adds an instruction of LEN bytes that leads to a detour of KIND, with the trampoline at
 * TRAMPOLINE_OFF. */
static void put_detour(struct code *c, enum hv_detour_kind kind, const uint8_t *insn, size_t len,
		       size_t trampoline_off)
{
	const struct hv_arch *arch = &hv_arch_x86_64;
	uint64_t off = DETOURS_OFF + c->nr_detours++ * HV_DETOUR_LEN;
	const struct hv_detour d = {
		.kind = kind,
		.at = world_gva(c->w, off),
		.next = world_gva(c->w, c->off + len),
		.trampoline = hv_gva_add(world_gva(c->w, WORLD_CODE_OFF), trampoline_off),
		.insn = insn,
		.count = {len, 1, kind == HV_DETOUR_ENDS},
		.percpu = COUNT_OFF,
		.flag = 0x80000000,
	};
	uint8_t patch[HV_DETOUR_PATCH_MAX] = {0};

	if (!arch->make_detour(&d, c->w->host + off) ||
	    !arch->encode_detour_jump(len, world_gva(c->w, c->off), d.at, patch))
		abort();
	put(c, patch, len);
}

/* Adds incl or decl of the preempt count, with an absolute address. */
static void put_count(struct code *c, bool ends, bool detour)
{
	const uint8_t insn[8] = {0x65, 0xff, ends ? 0x0c : 0x04, 0x25, COUNT_OFF};
	const struct hv_trampoline_image *trampolines = &hv_arch_x86_64.trampolines;

	if (detour)
		put_detour(c, ends ? HV_DETOUR_ENDS : HV_DETOUR_BEGINS, insn, sizeof(insn),
			   ends ? trampolines->section_ends_off : trampolines->section_begins_off);
	else
		put(c, insn, sizeof(insn));
}

/* Adds the code of a detour of cli or sti, without the privileged instruction. */
static void put_irqs(struct code *c, size_t trampoline_off)
{
	static const uint8_t test[] = {0x9c, 0xf6, 0x44, 0x24, 0x01, 0x02,
				       0x48, 0x8d, 0x64, 0x24, 0x08};
	static const uint8_t nop[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

	put(c, test, sizeof(test));
	put_detour(c, HV_DETOUR_CALL_BEGINS, nop, sizeof(nop), trampoline_off);
}

/* Writes the function for SUBJECT into the world. Returns its offset. */
static uint64_t make(const struct world *w, unsigned subject)
{
	const struct hv_trampoline_image *trampolines = &hv_arch_x86_64.trampolines;
	struct code c = {.w = w, .off = NATIVE_PLACED_OFF};

	switch (subject) {
	case CLOCKS:
		put(&c, "\x0f\x31\x0f\x31", 4);
		break;
	case IRQS:
		put_irqs(&c, trampolines->irqs_off_off);
		put_irqs(&c, trampolines->irqs_on_off);
		break;
	default:
		put_count(&c, false, subject != PLAIN);
		put_count(&c, true, subject != PLAIN);
	}
	put(&c, "\xc3", 1);
	return NATIVE_PLACED_OFF;
}

static double time_subject(const struct world *w, unsigned subject, uint64_t nr_calls)
{
	static const uint32_t measured[NR_SUBJECTS] = {
		[PREEMPT] = HV_SECTIONS_PREEMPT,
		[NESTED] = HV_SECTIONS_PREEMPT,
		[IRQS] = HV_SECTIONS_IRQS,
		[EITHER] = HV_SECTIONS_PREEMPT | HV_SECTIONS_IRQS,
	};
	struct hv_sections *sections = &world_state(w, 0)->sections;
	uint32_t nothing = 0;
	uint64_t off, start;

	native_prepare(w, &world_cases[0]);
	off = make(w, subject);
	world_cpu(w)->cpu_number = 0;
	world_cpu(w)->preempt_count = subject == NESTED;
	world_control(w)->mode = 0;
	world_control(w)->sections = HV_SECTIONS_ON | measured[subject];
	*sections = (struct hv_sections){.longest = LONGEST};
	native_call(w, off, 100, &nothing);
	start = clock_read(CLOCK_THREAD_CPUTIME_ID);
	native_call(w, off, nr_calls, &nothing);
	if (sections->nr_no_begin || sections->nr_no_end || sections->open.tsc)
		abort();
	return (double)(clock_read(CLOCK_THREAD_CPUTIME_ID) - start) / (double)nr_calls;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	size_t nr_rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 301;
	uint64_t nr_calls = argc > 2 ? strtoul(argv[2], NULL, 10) : 20000;
	const char *lack = NULL;
	struct world *w = native_new(64, &lack);
	double *ns;

	if (!w) {
		printf("skipped: %s\n", lack);
		return 77;
	}
	if (nr_rounds < 1 || nr_calls < 1) {
		fprintf(stderr, "usage: sections [ROUNDS [CALLS]]\n");
		return 2;
	}
	ns = calloc(NR_SUBJECTS * nr_rounds, sizeof(*ns));
	if (!ns)
		abort();
	for (size_t r = 0; r < nr_rounds; r++)
		for (unsigned s = 0; s < NR_SUBJECTS; s++)
			ns[s * nr_rounds + r] = time_subject(w, s, nr_calls);
	printf("| a section | ns | quietest twentieth, ns |\n|---|---:|---:|\n");
	for (unsigned s = 0; s < NR_SUBJECTS; s++) {
		qsort(ns + s * nr_rounds, nr_rounds, sizeof(*ns), by_size);
		printf("| %s | %.1f | %.1f |\n", names[s], ns[s * nr_rounds + nr_rounds / 2],
		       ns[s * nr_rounds + nr_rounds / 20]);
	}
	free(ns);
	native_free(w);
	return 0;
}
