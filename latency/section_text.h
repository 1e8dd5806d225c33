/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses the longest section with interrupts or preemption off from the text of `trace`
 * (docs/users/latency-tracers.md). Names in it come from the guest. Pure. */
#pragma once

#include "latency/stall.h"

/* Fills in the task, vCPU, length, start and end functions, and callers. The length excludes the
 * time in which the host did not run the vCPU, as far as the guest knew it; the interval includes
 * it. The interval starts at 0 because the text has no time. Returns false if TEXT has no
 * section. */
bool hv_section_text_read(const char *text, struct hv_stall *ret);
