/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The function profile of fake_tree.c, on two vCPUs. */
#pragma once

#include "base/text.h"

/* Adds trace_stat/functionCPU as it is at the look NR. FILTER has a function on each line; empty:
 * all are counted. One of them has a name that no terminal should see. */
void fake_profile_text(unsigned cpu, unsigned nr, const char *filter, struct hv_text *ret);
