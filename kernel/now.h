/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's trace clock at this moment, estimated from outside. It is for where nothing tells
 * what the guest's tsc shows now. Each CPU's run queue has the sched_clock() of its last tick or
 * switch (struct rq.clock). The estimate takes the greatest difference between the newest of them
 * and the host's clock that was seen lately.
 *
 * It is behind the guest's clock by the age of the freshest sample: less than a tick of a busy CPU
 * (4 ms at 250 Hz), more while all CPUs sleep, and less with each sample. It is ahead only when the
 * guest was stopped meanwhile. hv_now_restart() tells of that; without it the old samples are
 * forgotten after two windows. */
#pragma once

#include "kernel/kernel.h"

#define HV_NOW_WINDOW_NS UINT64_C(10000000000)

struct hv_now {
	struct hv_kernel *k;	 /* borrowed */
	uint64_t clock_percpu;	 /* per-CPU offset of struct rq.clock; 0: it is not known */
	struct hv_gva offset_at; /* of __sched_clock_offset, which is included in rq.clock but not
				    in trace_clock_local */
	bool has_offset;
	struct {
		bool valid;
		uint64_t begun_ns; /* the host's clock */
		int64_t lead_ns;   /* guest's clock - host's */
	} windows[2];		   /* the current one and the one before */
};

void hv_now_init(struct hv_now *n, struct hv_kernel *k);
/* Takes a sample. HOST_NS: the host's CLOCK_MONOTONIC before the call. A sample is cheap, and the
 * more there are, the better is the estimate. */
void hv_now_sample(struct hv_now *n, uint64_t host_ns);
/* The guest was stopped: forgets the samples. */
void hv_now_restart(struct hv_now *n);
/* The guest's clock when the host's is HOST_NS. False: not known. */
bool hv_now_at(const struct hv_now *n, uint64_t host_ns, uint64_t *ret);
