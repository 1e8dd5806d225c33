/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the host's CLOCK_MONOTONIC for a value of a guest CPU's time stamp counter: goes back
 * through what KVM adds to the host's counter (hv_guest_tsc), and then between samples of that
 * counter and the clock (host_time.h).
 *
 * CPU n of the guest is taken for vCPU n. What KVM adds is read again with each refresh. When it
 * has changed, events from before the change keep the old value. For events between the change and
 * the next refresh either value may be used. */
#pragma once

#include "vmm/guest.h"
#include "vmm/host_time.h"

struct hv_host_clock;

/* NULL: it is not known how this guest's counter follows the host's. Borrows G. */
struct hv_host_clock *hv_host_clock_new(struct hv_guest *g);
void hv_host_clock_free(struct hv_host_clock *c);
/* Called about once a second while the clock is used. After a pause, the next call knows what
 * happened meanwhile. */
void hv_host_clock_refresh(struct hv_host_clock *c);

/* Returns the time in ns of the time stamp TICKS of CPU. */
uint64_t hv_host_clock_ns(const struct hv_host_clock *c, unsigned cpu, uint64_t ticks);
/* Returns what CPU would have read from its counter when the host's was HOST_TICKS. */
uint64_t hv_host_clock_guest_ticks_at(const struct hv_host_clock *c, unsigned cpu,
				      uint64_t host_ticks);
/* Returns what CPU would read from its counter now. */
uint64_t hv_host_clock_guest_ticks(const struct hv_host_clock *c, unsigned cpu);
