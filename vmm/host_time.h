/* The host's CLOCK_MONOTONIC at a value of the host's own time stamp counter, by samples of both
 * taken together now and then: between two samples to the accuracy of one (below a microsecond
 * unless the host took the CPU away in between, which is noticed), after the newest by the rate of
 * the last seconds. Units: ns, ticks. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HV_HOST_TIME_SAMPLES 1024

struct hv_host_moment {
	uint64_t ticks;
	uint64_t ns;
};

struct hv_host_time {
	struct hv_host_moment moments[HV_HOST_TIME_SAMPLES]; /* a ring, ascending */
	unsigned first;
	unsigned nr;
};

/* False: this host has no such counter. */
bool hv_host_ticks(uint64_t *ret);
/* Takes a sample; call each second or so. */
void hv_host_time_sample(struct hv_host_time *t);
/* The same with a sample of the caller's. One that is not after the newest is dropped. */
void hv_host_time_add(struct hv_host_time *t, struct hv_host_moment moment);
/* False: fewer than two samples. */
bool hv_host_time_at(const struct hv_host_time *t, uint64_t ticks, uint64_t *ret_ns);
