/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts a guest CPU's time stamp counter to the host's CLOCK_MONOTONIC: reverses KVM's offset
 * and scaling of the host's counter (hv_guest_tsc), then interpolates between samples of that
 * counter and the clock (host_time.h).
 *
 * Assumes that CPU n of the guest is vCPU n. Each refresh rereads KVM's values. After a change,
 * events from before it use the old values. Events between the change and the next refresh may use
 * either. */
#pragma once

#include "vmm/guest.h"
#include "vmm/host_time.h"

struct hv_host_clock;

/* Returns NULL if the relation of this guest's counter to the host's is unknown. Borrows G. */
struct hv_host_clock *hv_host_clock_new(struct hv_guest *g);
void hv_host_clock_free(struct hv_host_clock *c);
/* Call it about once a second while the clock is used. If calls were missed, the next one catches
 * up. */
void hv_host_clock_refresh(struct hv_host_clock *c);

/* Returns the time in ns of CPU's time stamp TICKS. */
uint64_t hv_host_clock_ns(const struct hv_host_clock *c, unsigned cpu, uint64_t ticks);
/* Returns CPU's counter when the host's was HOST_TICKS. */
uint64_t hv_host_clock_guest_ticks_at(const struct hv_host_clock *c, unsigned cpu,
				      uint64_t host_ticks);
/* Returns CPU's counter now. */
uint64_t hv_host_clock_guest_ticks(const struct hv_host_clock *c, unsigned cpu);
