/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of the calls and events of ops. The format and the records come from the service and can
 * contain anything. */
#pragma once

#include "lib/ops.h"

/* Lets the instance of OPS record stacks, and reads their format. */
struct hvt_error *stacks_prepare(struct hvt_ops *ops) hv_must_use;
/* Calls the callback for stacks if E is one. Returns false if it is not. */
bool stacks_pass(const struct hvt_ops *ops, const struct lane_event *e);
