/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints how much of a guest's kernel the section tracers cover, and the instructions they do not
 * cover. Reads the guest's RAM from a file (image.h).
 *
 *	bench/preempt IMAGE */
#include <stdio.h>

#include "bench/clock.h"
#include "bench/image.h"
#include "kernel/code/section_sites.h"
#include "kernel/kernel.h"

static void must(struct hv_err *err)
{
	if (!err)
		return;
	fprintf(stderr, "%s\n", err->message);
	exit(1);
}

static void name(const struct hv_kernel *k, struct hv_gva at, const char *reason)
{
	const char *function = "?", *module = NULL;
	uint64_t off = 0;

	hv_kernel_symbol_at(k, at, &function, &module, &off);
	printf("  0x%llx %s+0x%llx%s%s: %s\n", (unsigned long long)at.v, function,
	       (unsigned long long)off, module ? " " : "", module ? module : "", reason);
}

static void print_irqs(const struct hv_kernel *k)
{
	uint64_t start_ns = clock_read(CLOCK_PROCESS_CPUTIME_ID);
	struct hv_irq_sites sites;

	must(hv_irq_sites_read(k, &sites));
	printf("%zu places for interrupts, in %.1f ms\n", sites.nr,
	       (double)(clock_read(CLOCK_PROCESS_CPUTIME_ID) - start_ns) / 1e6);
	for (unsigned cover = 0; cover < HV_IRQ_NR_COVERS; cover++)
		if (sites.nr_of[cover])
			printf("%zu %s\n", sites.nr_of[cover], hv_irq_cover_reason(cover));
	for (size_t i = 0; i < sites.nr; i++)
		if (!hv_irq_is_covered(&sites.list[i]))
			name(k, sites.list[i].at, hv_irq_cover_reason(sites.list[i].cover));
	printf("%zu ways into the kernel are not covered\n", sites.nr_entries_left);
	hv_irq_sites_deinit(&sites);
}

int main(int argc, char **argv)
{
	struct hv_preempt_sites sites;
	struct hv_kernel *kernel;
	struct hv_guest *guest;
	uint64_t start_ns;
	size_t nr_ends = 0, nr_callers = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: bench/preempt IMAGE; bench/image makes one\n");
		return 2;
	}
	must(image_open(argv[1], UINT64_C(64) << 20, &guest));
	must(hv_kernel_open(guest, NULL, NULL, &kernel));
	start_ns = clock_read(CLOCK_PROCESS_CPUTIME_ID);
	must(hv_preempt_sites_read(kernel, &sites));
	printf("%s: %zu places, in %.1f ms\n", kernel->release, sites.nr,
	       (double)(clock_read(CLOCK_PROCESS_CPUTIME_ID) - start_ns) / 1e6);
	for (unsigned cover = 0; cover < HV_PREEMPT_NR_COVERS; cover++)
		if (sites.nr_of[cover])
			printf("%zu %s\n", sites.nr_of[cover], hv_preempt_cover_reason(cover));
	for (size_t i = 0; i < sites.nr; i++) {
		nr_ends += sites.list[i].count.subtracts;
		nr_callers += sites.list[i].has_caller;
		if (sites.list[i].cover != HV_PREEMPT_COVERED)
			name(kernel, sites.list[i].at,
			     hv_preempt_cover_reason(sites.list[i].cover));
	}
	printf("%zu switch preemption on; the caller is known of %zu; steal time is %s\n", nr_ends,
	       nr_callers, kernel->layout.has_steal_time ? "known" : "not known");
	hv_preempt_sites_deinit(&sites);
	print_irqs(kernel);
	hv_kernel_free(kernel);
	hv_guest_free(guest);
	return 0;
}
