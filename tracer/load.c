/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/load.h"

#include <string.h>

#include "base/clock.h"
#include "ringbuf/ring.h"
#include "tracer/events/buffer.h"
#include "tracer/events/decoder.h"
#include "tracer/guest/tracee.h"
#include "tracer/session.h"
#include "vmm/tsc.h"

#define SAMPLE 8192 /* maximum number of records evaluated per vCPU */

/* Duration of a locked addition and a counter read, if it cannot be measured. */
#define TICKS_PS_DEFAULT 10000
#define TRIES		 16
#define READS		 256

/* Cost of a record to the guest, in 1/1000 of such an addition and counter read, which each record
 * contains. On some CPUs the addition adds nothing to the time of the read; on others it takes as
 * long again. The values are bench/trampoline's differences to an untraced function, divided by the
 * number of records. */
#define COST_FUNCTION 790  /* 7.5 ns / 9.5 ns */
#define COST_CALL     1540 /* a call and its return are two records: 29.2 ns / 9.5 ns */
#define COST_OTHER    1030 /* record of a task or of a part of a stack: 9.8 ns / 9.5 ns */

struct hv_load {
	const struct hv_session *session;
	uint64_t ticks_ps;
	uint64_t looked_ns; /* time of the last hv_load_look(); 0: none */
	uint64_t *heads;    /* owned; heads of the vCPUs at that time */
	struct hv_record *sample;
};

/* Returns the fastest of several attempts, because the others were disturbed. */
static uint64_t measure_ticks_ps(void)
{
	uint64_t best = UINT64_MAX, ticks, head = 0;

	if (!hv_host_ticks(&ticks))
		return TICKS_PS_DEFAULT;
	for (unsigned i = 0; i < TRIES; i++) {
		uint64_t began = hv_now_ns(), took;

		for (unsigned j = 0; j < READS; j++) {
			(void)__atomic_fetch_add(&head, sizeof(struct hv_record), __ATOMIC_SEQ_CST);
			(void)hv_host_ticks(&ticks);
		}
		took = (hv_now_ns() - began) * 1000 / READS;
		if (took < best)
			best = took;
	}
	return best ? best : TICKS_PS_DEFAULT;
}

struct hv_load *hv_load_new(const struct hv_session *s)
{
	struct hv_load *l = hv_alloc(sizeof(*l));

	l->session = s;
	l->ticks_ps = measure_ticks_ps();
	l->heads = hv_alloc(s->tracee->plan.nr_cpus * sizeof(*l->heads));
	l->sample = hv_alloc(SAMPLE * sizeof(*l->sample));
	return l;
}

void hv_load_free(struct hv_load *l)
{
	if (!l)
		return;
	free(l->heads);
	free(l->sample);
	free(l);
}

void hv_load_view_deinit(struct hv_load_view *view)
{
	free(view->functions);
}

static unsigned cost_of(const struct hv_record *record)
{
	switch (hv_record_kind(record)) {
	case HV_RECORD_FUNCTION:
		return COST_FUNCTION;
	case HV_RECORD_ENTRY:
	case HV_RECORD_EXIT:
		return COST_CALL;
	default:
		return COST_OTHER;
	}
}

/* Copies the newest records of CPU, at most NR. Returns their number. */
static size_t take_sample(struct hv_load *l, unsigned cpu, uint64_t nr)
{
	const struct hv_tracee *t = l->session->tracee;
	const struct hv_state *state = hv_tracee_state(t, cpu);
	struct hv_ring ring;
	uint64_t lost;
	size_t taken = 0;

	hv_ring_init(&ring, state, (const struct hv_record *)(state + 1), t->plan.nr_slots);
	if (nr > SAMPLE)
		nr = SAMPLE;
	if (nr > ring.nr_slots)
		nr = ring.nr_slots;
	ring.position = hv_ring_head(&ring) - nr;
	while (taken < nr) {
		size_t n =
			hv_ring_read_run(&ring, nr - taken, l->sample + taken, sizeof(*l->sample));

		taken += n;
		if (!n &&
		    hv_ring_read(&ring, hv_now_ns(), l->sample + taken, &lost) != HV_RING_RECORD)
			break;
		taken += !n;
	}
	return taken;
}

static uint64_t sample_cost(const struct hv_load *l, size_t nr)
{
	uint64_t cost = 0;

	for (size_t i = 0; i < nr; i++)
		cost += cost_of(&l->sample[i]);
	return cost;
}

static int compare_ips(const void *a, const void *b)
{
	const struct hv_load_function *fa = a, *fb = b;

	return (fa->ip.v > fb->ip.v) - (fa->ip.v < fb->ip.v);
}

static int compare_costs(const void *a, const void *b)
{
	const struct hv_load_function *fa = a, *fb = b;

	return (fa->cost < fb->cost) - (fa->cost > fb->cost);
}

/* Merges the entries of the same function. */
static size_t join(struct hv_load_function *list, size_t nr)
{
	size_t nr_joined = 0;

	qsort(list, nr, sizeof(*list), compare_ips);
	for (size_t i = 0; i < nr; i++) {
		if (nr_joined && list[nr_joined - 1].ip.v == list[i].ip.v)
			list[nr_joined - 1].cost += list[i].cost;
		else
			list[nr_joined++] = list[i];
	}
	qsort(list, nr_joined, sizeof(*list), compare_costs);
	return nr_joined;
}

static void find_functions(const struct hv_load *l, size_t nr, struct hv_load_view *ret)
{
	struct hv_load_function *list = hv_alloc(nr * sizeof(*list));
	size_t nr_found = 0;

	for (size_t i = 0; i < nr; i++) {
		unsigned kind = hv_record_kind(&l->sample[i]);
		struct hv_event event;

		if (kind != HV_RECORD_FUNCTION && kind != HV_RECORD_ENTRY && kind != HV_RECORD_EXIT)
			continue;
		hv_decode_event(&l->session->decoder->decode, &l->sample[i], NULL, &event);
		list[nr_found++] = (struct hv_load_function){event.ip, cost_of(&l->sample[i])};
	}
	ret->functions = list;
	ret->nr = join(list, nr_found);
}

/* Returns how much of WINDOW_NS the NR records took, in parts per million. */
static uint64_t load_ppm(const struct hv_load *l, uint64_t nr, uint64_t window_ns, size_t nr_sample)
{
	uint64_t cost = nr_sample ? sample_cost(l, nr_sample) / nr_sample : 0;

	/* No vCPU writes more than one record per nanosecond, whatever its ring claims. */
	if (nr > window_ns)
		nr = window_ns;
	return (uint64_t)((unsigned __int128)nr * cost * l->ticks_ps / window_ns);
}

void hv_load_look(struct hv_load *l, uint64_t now_ns, struct hv_load_view *ret)
{
	uint64_t window_ns = l->looked_ns && now_ns > l->looked_ns ? now_ns - l->looked_ns : 0;

	*ret = (struct hv_load_view){0};
	l->looked_ns = now_ns;
	for (unsigned cpu = 0; cpu < l->session->tracee->plan.nr_cpus; cpu++) {
		uint64_t head = hv_buffer_head(l->session->buffer, cpu);
		uint64_t nr = head > l->heads[cpu] ? head - l->heads[cpu] : 0;
		size_t nr_sample;
		uint64_t ppm;

		l->heads[cpu] = head;
		if (!window_ns || !nr)
			continue;
		nr_sample = take_sample(l, cpu, nr);
		ppm = load_ppm(l, nr, window_ns, nr_sample);
		if (ppm <= ret->ppm)
			continue;
		hv_load_view_deinit(ret);
		*ret = (struct hv_load_view){.ppm = ppm, .cpu = cpu};
		ret->taken_ns = (uint64_t)((unsigned __int128)window_ns * ppm / 1000000);
		ret->cost = sample_cost(l, nr_sample);
		find_functions(l, nr_sample, ret);
	}
}
