/* How instances share the one guest: its sites call one stub each and its stubs write one ring a
 * vCPU, so the guest records what any instance wants, and the drain gives each its own.
 *
 *                      guest's rings ---- top.trace             one instance traces: nothing is
 * moved
 *
 *                                  .- filter - top.host   - trace
 *      guest's rings --- drain ---<                           others trace too, or the top's buffer
 *                                  '- filter - in.host    - trace           has a size of its own
 *
 * Contract of instance_*.c. */
#pragma once

#include "tree/node.h"

/* The top's buffer becomes one in host memory, of SIZES_BYTES (one a vCPU), that has what it had.
 */
struct hv_err *hv_share_begin(struct hv_tree *tree, const uint64_t *sizes_bytes) hv_must_use;
/* IN is there, or goes: what it wants is handed to it, if the rings are shared. */
void hv_share_add(struct hv_instance *in);
void hv_share_remove(struct hv_instance *in);
/* The guest's rings become the top's again, empty, when nothing speaks against it. */
void hv_share_end(struct hv_tree *tree);
/* Whether the guest's rings are shared now. */
static inline bool hv_share_is(const struct hv_tree *tree)
{
	return tree->drain != NULL;
}

/* Whether IN would have recorded E by itself. */
bool hv_instance_wants(const struct hv_instance *in, const struct hv_event *e);
