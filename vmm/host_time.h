/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts values of the host's time stamp counter to the host's CLOCK_MONOTONIC, by samples of
 * both that are taken together from time to time. Between two samples the result is as accurate as
 * a sample, which is below a microsecond: a try during which the host took the CPU away is not
 * used. After the newest sample the rate of the last seconds is used. Units: ns, ticks. */
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

/* The counter now. False: this host has none. */
bool hv_host_ticks(uint64_t *ret);
/* Takes a sample; to be called about once a second. */
void hv_host_time_sample(struct hv_host_time *t);
/* Adds a sample of the caller's. One that is not after the newest is dropped. */
void hv_host_time_add(struct hv_host_time *t, struct hv_host_moment moment);
/* False: there are fewer than two samples. */
bool hv_host_time_at(const struct hv_host_time *t, uint64_t ticks, uint64_t *ret_ns);
