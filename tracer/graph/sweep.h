/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frees the return stacks of tasks that died in traced functions.
 *
 * graph_tracer.h decides whether frames are being added; returns.h handles frames of live tasks. */
#pragma once

struct hv_tracee;

/* If there are many return stacks whose kernel stack is no longer mapped, empties them in a hold.
 * Those that cannot be emptied now are left for the next call. */
void hv_sweep(struct hv_tracee *t);
