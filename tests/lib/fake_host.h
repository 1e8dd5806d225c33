/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tracer/host_tracer.h for fake sessions: the events that a test puts there. */
#pragma once

#include "tracer/host_tracer.h"

/* An event of the host of vCPU 0 at TIME_NS; at most 8. They are taken in the order of the calls.
 */
void hv_fake_host_event(uint64_t time_ns, uint32_t id);
/* Records of the guest before SETTLED_NS are complete. */
void hv_fake_host_settled(uint64_t settled_ns);
