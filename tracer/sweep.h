/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frees return stacks of tasks that died in traced functions.
 * Leaves to others: whether frames are raised now (graph_tracer.h), frames of tasks that live
 * (returns.h). */
#pragma once

struct hv_tracee;

/* Once there are many return stacks whose kernel stack is not mapped any more, empties them in a
 * hold. Those that cannot be emptied now are left for the next call. */
void hv_sweep(struct hv_tracee *t);
