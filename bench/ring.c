/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures the host's cost per event of reading a ring, and of merging the rings of all vCPUs:
 * first with full rings and no writers, where the vCPUs alternate after every record or after
 * several, then with producers that write at full speed.
 *
 *       bench/ring [ROUNDS]     default 21 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/clock.h"
#include "tracer/events/merge.h"

#define NR_SLOTS (UINT64_C(1) << 19) /* 16 MiB */
#define NR_RINGS 8
#define NR_RACE	 2 /* maximum number of producers */
#define RACE_NS	 UINT64_C(1000000000)

static struct hv_state states[NR_RINGS];
static struct hv_record *records[NR_RINGS];
static struct hv_ring rings[NR_RINGS];
static atomic_bool stop;

/* Like the trampoline, but without the lookups. */
static void write_record(unsigned ring, uint64_t tsc)
{
	uint64_t head =
		__atomic_fetch_add(&states[ring].head, sizeof(struct hv_record), __ATOMIC_SEQ_CST);
	uint64_t off = head & hv_ring_mask(NR_SLOTS), key = head << hv_key_shift(NR_SLOTS);
	struct hv_record *slot = (struct hv_record *)((uint8_t *)records[ring] + off);
	const uint64_t words[4] = {tsc, UINT64_C(0x1f7e543281012345), 71 << HV_CALL_PID_SHIFT,
				   UINT64_C(0x0000020680000001)};

	for (unsigned i = 0; i < 4; i++)
		__atomic_store_n(&slot->word[i], words[i] ^ key, __ATOMIC_RELAXED);
}

static void start_again(void)
{
	for (unsigned i = 0; i < NR_RINGS; i++) {
		for (uint64_t n = 0; n < NR_SLOTS; n++)
			records[i][n] = (struct hv_record){0};
		states[i] = (struct hv_state){.head = hv_ring_head_at(0, NR_SLOTS)};
		hv_ring_init(&rings[i], &states[i], records[i], NR_SLOTS);
	}
}

/* Fills the rings. Each vCPU in turn has RUN consecutive records; RUN divides NR_SLOTS. */
static void fill(unsigned nr_rings, unsigned run)
{
	uint64_t tsc = 1000;

	start_again();
	for (uint64_t n = 0; n < NR_SLOTS; n += run)
		for (unsigned i = 0; i < nr_rings; i++)
			for (unsigned k = 0; k < run; k++)
				write_record(i, tsc++);
}

/* read_full() and merge_full() return the number of events. */
static uint64_t read_full(unsigned nr_rings)
{
	struct hv_record record;
	uint64_t lost, nr = 0;

	for (unsigned i = 0; i < nr_rings; i++)
		while (hv_ring_read(&rings[i], 1, &record, &lost) == HV_RING_RECORD)
			nr++;
	return nr;
}

/* Takes an event like a cursor does. */
static bool take(struct hv_merge *m, uint64_t now_ns, struct hv_merge_item *ret)
{
	return hv_merge_take(m, ret) || hv_merge_next(m, now_ns, HV_MERGE_LIVE, ret);
}

static uint64_t merge_full(unsigned nr_rings)
{
	struct hv_merge *m = hv_merge_new(rings, 0, nr_rings, NULL, (struct hv_merge_clock){0});
	struct hv_merge_item item;
	uint64_t nr = 0;

	while (take(m, 1, &item))
		nr++;
	hv_merge_free(m);
	return nr;
}

static void measure_full(const char *name, uint64_t (*read)(unsigned nr_rings), unsigned nr_rings,
			 unsigned run, size_t nr_rounds)
{
	double *ns = calloc(nr_rounds, sizeof(*ns));
	double middle;

	if (!ns)
		abort();
	for (size_t r = 0; r < nr_rounds; r++) {
		uint64_t start, nr;

		fill(nr_rings, run);
		start = clock_read(CLOCK_THREAD_CPUTIME_ID);
		nr = read(nr_rings);
		if (nr != nr_rings * NR_SLOTS)
			abort();
		ns[r] = (double)(clock_read(CLOCK_THREAD_CPUTIME_ID) - start) / (double)nr;
	}
	middle = median(ns, nr_rounds);
	printf("| %s | %u | %u | %.1f | %.0f |\n", name, nr_rings, run, middle, 1000 / middle);
	free(ns);
}

static void *produce(void *arg)
{
	unsigned ring = (unsigned)(uintptr_t)arg;

	while (!atomic_load_explicit(&stop, memory_order_relaxed))
		write_record(ring, __builtin_ia32_rdtsc());
	return NULL;
}

static void race(unsigned nr_producers)
{
	pthread_t threads[NR_RACE];
	struct hv_merge_item item;
	struct hv_merge *m;
	uint64_t start, now, cpu_ns, nr = 0, written = 0;
	double seconds;

	start_again();
	atomic_store(&stop, false);
	m = hv_merge_new(rings, 0, nr_producers, NULL, (struct hv_merge_clock){0});
	for (unsigned i = 0; i < nr_producers; i++)
		if (pthread_create(&threads[i], NULL, produce, (void *)(uintptr_t)i) != 0)
			abort();
	start = now = clock_read(CLOCK_MONOTONIC);
	cpu_ns = clock_read(CLOCK_THREAD_CPUTIME_ID);
	while (now - start < RACE_NS) {
		for (unsigned i = 0; i < 256; i++)
			nr += take(m, now, &item);
		now = clock_read(CLOCK_MONOTONIC);
	}
	cpu_ns = clock_read(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	atomic_store(&stop, true);
	for (unsigned i = 0; i < nr_producers; i++) {
		pthread_join(threads[i], NULL);
		written += hv_ring_head(&rings[i]);
	}
	seconds = (double)(now - start) / 1e9;
	printf("| %u | %.1f | %.1f | %.1f | %.0f %% | %.1f |\n", nr_producers,
	       (double)written / seconds / 1e6, (double)nr / seconds / 1e6,
	       (double)hv_merge_lost(m) / seconds / 1e6, 100.0 * (double)cpu_ns / 1e9 / seconds,
	       (double)cpu_ns / (double)nr);
	hv_merge_free(m);
}

int main(int argc, char **argv)
{
	size_t nr_rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 21;

	if (argc > 2 || nr_rounds < 1) {
		fprintf(stderr, "usage: ring [ROUNDS]\n");
		return 2;
	}
	for (unsigned i = 0; i < NR_RINGS; i++) {
		records[i] = calloc(NR_SLOTS, sizeof(*records[i]));
		if (!records[i])
			abort();
	}
	printf("| without a writer | rings | records in a row | ns an event | million events/s |\n"
	       "|---|---:|---:|---:|---:|\n");
	for (unsigned n = 1; n <= NR_RINGS; n *= 2)
		measure_full("reader", read_full, n, 1, nr_rounds);
	for (unsigned run = 1; run <= 64; run *= 4)
		for (unsigned n = 1; n <= NR_RINGS; n *= 2)
			measure_full("merge", merge_full, n, run, nr_rounds);
	printf("\n| producers | written, million/s | merged, million/s | lost, million/s | the "
	       "merge's cpu | its ns an event |\n|---:|---:|---:|---:|---:|---:|\n");
	for (unsigned n = 1; n <= NR_RACE; n++)
		race(n);
	for (unsigned i = 0; i < NR_RINGS; i++)
		free(records[i]);
	return 0;
}
