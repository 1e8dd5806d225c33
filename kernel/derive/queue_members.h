/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Derives members of the CPUs' run queues: curr, idle and clock. Private to kernel/. */
#pragma once

#include "kernel/derive/members.h"

/* Adds what is found to D->facts, which already has comm and pid of struct task_struct. */
void hv_queue_members_derive(struct hv_deriving *d);
