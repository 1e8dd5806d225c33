/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tracer/load.h for fake sessions: the load that a test says. */
#pragma once

#include "tracer/load.h"

/* While the sites at all IPS call a stub, the stubs take PPM of a vCPU's time, of which those of
 * IPS[i] cost COSTS[i]; the costliest is first. Both lists are borrowed. */
void hv_fake_load(uint64_t ppm, const uint64_t *ips, const uint64_t *costs, size_t nr);
