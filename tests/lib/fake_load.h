/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fake tracer/load.h: reports the load that a test sets. */
#pragma once

#include "tracer/load.h"

/* While the sites at all IPS call a trampoline, the trampolines use PPM (parts per million) of a
 * vCPU's time. The site IPS[i] accounts for COSTS[i]; the costliest is first. Both lists are
 * borrowed. */
void hv_fake_load(uint64_t ppm, const uint64_t *ips, const uint64_t *costs, size_t nr);
