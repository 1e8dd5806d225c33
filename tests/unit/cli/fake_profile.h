/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The function profile of fake_tree.c, on two vCPUs. */
#pragma once

#include "base/text.h"

/* Adds trace_stat/functionCPU at look number NR. FILTER has one function per line; empty: all
 * functions count. One function has control characters in its name. */
void fake_profile_text(unsigned cpu, unsigned nr, const char *filter, struct hv_text *ret);
