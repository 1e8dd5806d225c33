/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Derives members of struct task_struct, of the structures that tasks point to, and of the run
 * queue. Private to kernel/. */
#pragma once

#include "kernel/derive/members.h"

/* Adds what is found to D->facts. */
void hv_task_members_derive(struct hv_deriving *d);
