/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Derives structures that only x86-64 has, or that its CPU or hypervisor defines. Private to
 * kernel/. */
#pragma once

#include "kernel/derive/members.h"

/* Finds D->current and derives members that need no other derived member. Call it first. */
void hv_x86_64_first_derive(struct hv_deriving *d);
/* The last step: stacks, which needs members of tasks. */
void hv_x86_64_stacks_derive(struct hv_deriving *d);
