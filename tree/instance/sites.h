/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which stub each site calls: the one that records what any instance wants.
 * While an instance does not record, sites that call no stub are not changed for it; they wait
 * until recording begins. So programs that stop recording, undo their settings one by one and by
 * that select other functions for a moment cost the guest nothing.
 * Leaves to others: the order in which the session learns of changes (trace.h). */
#pragma once

#include "tree/instance/core/instance.h"

/* Passes the trampoline of each site, as the settings of all instances require, to the session, and
 * does the work of hv_sites_publish_graph(). On error the sites keep their previous state. */
struct hv_err *hv_sites_publish(struct hv_instance *in) hv_must_use;
/* Selects the calls that function_graph records from now on, and their contents. This depends on
 * max_graph_depth, tracing_thresh, and the options of the instance that traces function_graph, or
 * of IN if none does. */
void hv_sites_publish_graph(struct hv_instance *in);
