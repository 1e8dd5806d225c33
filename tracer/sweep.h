/* Return stacks of tasks that died in traced functions: given free again.
 * Leaves to others: whether frames are raised now (graph_tracer.h), frames of tasks that live
 * (returns.h). */
#pragma once

struct hv_tracee;

/* Empties, in a hold, the return stacks whose kernel stack is not mapped any more, once they are
 * many. What cannot be done now is left for the next time. */
void hv_sweep(struct hv_tracee *t);
