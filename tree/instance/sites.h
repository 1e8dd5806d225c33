/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Selects the stub that each site calls, so that it records the union of what the instances want.
 *
 * While an instance does not record, sites without a stub are not changed for it until recording
 * begins. So programs that stop recording and undo their settings one by one, which temporarily
 * selects other functions, do not cause patching. trace.h defines the order in which the session
 * learns of changes. */
#pragma once

#include "tree/instance/core/instance.h"

extern const struct hv_part hv_sites_part;

/* Changes the sites that waited for IN to record. Call it before setting IN's tracing_on. */
struct hv_err *hv_instance_before_recording(struct hv_instance *in) hv_must_use;
/* Passes the stub of each site, as the settings of all instances require, to the session, and calls
 * hv_sites_publish_graph(). On error the sites keep their previous state. */
struct hv_err *hv_sites_publish(struct hv_instance *in) hv_must_use;
/* Selects the calls that function_graph records from now on, and their contents. This depends on
 * max_graph_depth, tracing_thresh, and the options of the instance that traces function_graph, or
 * of IN if none does. */
void hv_sites_publish_graph(struct hv_instance *in);
