/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Derives entries of the kernel's tables and lists of code, from the tables of the running kernel.
 * Private to kernel/. */
#pragma once

#include "kernel/derive/members.h"

/* Adds what is found to D->facts. */
void hv_table_members_derive(struct hv_deriving *d);
