/* Which stub each function calls: the one that records what any instance wants.
 * Leaves to others: the order in which the session is told of changes (trace.h). */
#pragma once

#include "tree/instance/instance.h"

/* Tells the session what each site is to call, by what the instances are set to. Also tells it what
 * hv_sites_publish_graph() does. On error the sites are as before. */
struct hv_err *hv_sites_publish(struct hv_instance *in) hv_must_use;
/* Tells the session what of a graph is recorded from now on: by max_graph_depth, tracing_thresh,
 * and the options of the instance that traces function_graph, or of IN if none does. */
void hv_sites_publish_graph(struct hv_instance *in);
