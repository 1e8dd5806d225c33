/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Estimates the guest's current trace clock from outside, for guests whose TSC cannot be read. Each
 * CPU's run queue contains the sched_clock() of its last tick or switch (struct rq.clock). The
 * estimate is the host's clock plus the greatest recent difference between the newest of these and
 * the host's clock.
 *
 * The estimate is late by the age of the freshest sample: less than a tick on a busy CPU (4 ms at
 * 250 Hz), more while all CPUs sleep, and less with each sample. It is early only if the guest was
 * stopped. Call hv_now_restart() after a stop; otherwise the old samples expire after two
 * windows. */
#pragma once

#include "kernel/kernel.h"

#define HV_NOW_WINDOW_NS UINT64_C(10000000000)

struct hv_now {
	struct hv_kernel *k;	 /* borrowed */
	uint64_t clock_percpu;	 /* per-CPU offset of struct rq.clock; 0: unknown */
	struct hv_gva offset_at; /* address of __sched_clock_offset, which rq.clock includes and
				    trace_clock_local does not */
	bool has_offset;
	struct {
		bool valid;
		uint64_t begun_ns; /* host clock */
		int64_t lead_ns;   /* guest clock - host clock */
	} windows[2];		   /* the current and the previous one */
};

void hv_now_init(struct hv_now *n, struct hv_kernel *k);
/* Takes a sample. HOST_NS is the host's CLOCK_MONOTONIC before the call. Samples are cheap, and
 * more samples improve the estimate. */
void hv_now_sample(struct hv_now *n, uint64_t host_ns);
/* Discards the samples after the guest was stopped. */
void hv_now_restart(struct hv_now *n);
/* Returns the guest clock at host time HOST_NS in *RET, or false if unknown. */
bool hv_now_at(const struct hv_now *n, uint64_t host_ns, uint64_t *ret);
