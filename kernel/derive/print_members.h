/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Derives the values of enumerators in the formats of events, such as HRTIMER_MODE_ABS. Private to
 * kernel/. */
#pragma once

#include "kernel/derive/members.h"

/* Adds what is found to D->facts. */
void hv_print_members_derive(struct hv_deriving *d);
