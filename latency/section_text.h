/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The longest section with interrupts or preemption off, from the text that `trace` has of it
 * (docs/users/latency-tracers.md). Names in it are the guest's. Pure. */
#pragma once

#include "latency/stall.h"

/* Fills in the task, the vCPU, the length, where it begins and ends, and the callers. The length is
 * without the time in which the host did not run the vCPU, as far as the guest was told of it; the
 * interval is with it, and from 0 on, since the text does not say when it was. False: TEXT has no
 * section. */
bool hv_section_text_read(const char *text, struct hv_stall *ret);
