/* The guest's trace clock at this moment, estimated from outside where nothing tells what its tsc
 * shows now: each CPU's run queue keeps the sched_clock() of its last tick or switch (struct
 * rq.clock). How far the newest of them was ahead of the host's clock at most, of late, is how far
 * the guest's clock is.
 *
 * Never ahead of the guest's clock unless the guest stood still meanwhile (told by hv_now_restart,
 * else forgotten after two windows); behind it by as much as the freshest sample was old: less than
 * a tick of a busy CPU (4 ms at 250 Hz) and smaller with each sample, more while all CPUs sleep. */
#pragma once

#include "kernel/kernel.h"

#define HV_NOW_WINDOW_NS UINT64_C(10000000000)

struct hv_now {
	struct hv_kernel *k;   /* borrowed */
	uint64_t clock_percpu; /* per-CPU offset of struct rq.clock; 0: this kernel does not tell */
	struct hv_gva offset_at; /* of __sched_clock_offset, which rq.clock has and
				    trace_clock_local has not */
	bool has_offset;
	struct {
		bool valid;
		uint64_t begun_ns; /* the host's clock */
		int64_t lead_ns;   /* guest's clock - host's */
	} windows[2];		   /* this one and the one before */
};

void hv_now_init(struct hv_now *n, struct hv_kernel *k);
/* Looks at the guest, HOST_NS being the host's CLOCK_MONOTONIC before the look. Cheap; the more
 * often, the better the estimate. */
void hv_now_sample(struct hv_now *n, uint64_t host_ns);
/* The guest stood still: what was known is void. */
void hv_now_restart(struct hv_now *n);
/* The guest's clock when the host's is HOST_NS. False: not known. */
bool hv_now_at(const struct hv_now *n, uint64_t host_ns, uint64_t *ret);
