/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Derives the structures of the kernel's clocks: tk_fast, tk_read_base, clocksource, timekeeper
 * and sched_clock_data. Private to kernel/. */
#pragma once

#include "kernel/derive/members.h"

/* Adds what is found to D->facts. */
void hv_clock_members_derive(struct hv_deriving *d);
