/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Derives struct orc_entry from the entries of the kernel's ORC table. The meaning of the register
 * numbers in it is derived from code (core/orc_form.h), which also compares the entries with the
 * code. Private to kernel/. */
#pragma once

#include "kernel/derive/members.h"

/* Adds what is found to D->facts. */
void hv_orc_members_derive(struct hv_deriving *d);
