/* The host's CLOCK_MONOTONIC at what a guest's CPU read from its time stamp counter: back through
 * what KVM adds to the host's counter (hv_guest_tsc), then by samples of that counter and the clock
 * (host_time.h).
 *
 * CPU n of the guest is taken for vCPU n. What KVM adds is read again with each refresh; after it
 * changed, events from before keep what it was, and those of up to a refresh after the change may
 * have either. */
#pragma once

#include "vmm/guest.h"
#include "vmm/host_time.h"

struct hv_host_clock;

/* NULL: nothing tells how this guest's counter follows the host's. Borrows G. */
struct hv_host_clock *hv_host_clock_new(struct hv_guest *g);
void hv_host_clock_free(struct hv_host_clock *c);
/* Each second or so; never while nobody asks: the next one knows what was between. */
void hv_host_clock_refresh(struct hv_host_clock *c);

/* ns of the time stamp TICKS of CPU. */
uint64_t hv_host_clock_ns(const struct hv_host_clock *c, unsigned cpu, uint64_t ticks);
/* What CPU would read now. */
uint64_t hv_host_clock_guest_ticks(const struct hv_host_clock *c, unsigned cpu);
