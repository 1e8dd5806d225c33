/* Which stub each function calls: the one that records what any instance wants.
 * Leaves to others: the order in which the session is told of changes (trace.h). */
#pragma once

#include "tree/instance/instance.h"

/* Makes the guest's sites as the instances are set now, and graph options with them, as
 * hv_sites_publish_graph(). On error the sites are as before. */
struct hv_err *hv_sites_publish(struct hv_instance *in) hv_must_use;
/* Has max_graph_depth, tracing_thresh and the options of function_graph obeyed by what is recorded
 * from now on. Options are those of the instance that traces function_graph; of IN, if none does.
 */
void hv_sites_publish_graph(struct hv_instance *in);
