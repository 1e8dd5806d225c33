/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fake tracer/host_tracer.h: returns the events that a test adds. */
#pragma once

#include "tracer/host_tracer.h"

/* Adds a host event of vCPU 0 at TIME_NS. At most 8. The reader gets them in the order of the
 * calls. */
void hv_fake_host_event(uint64_t time_ns, uint32_t id);
/* Marks guest records before SETTLED_NS as complete. */
void hv_fake_host_settled(uint64_t settled_ns);
