/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Selects the functions, tasks and vCPUs that the guest records for all instances. trace.h defines
 * the order in which the session learns of changes; publish.h selects events. */
#pragma once

#include "tracer/guest/scope.h"
#include "tree/instance/core/instance.h"

extern const struct hv_part hv_functions_part;

/* -- sites ------------------------------------------------------------------------------------- */

/* Each site calls the trampoline that records the union of what the instances want.
 *
 * While an instance does not record, sites without a trampoline are not changed for it until
 * recording begins. So programs that stop recording and undo their settings one by one, which
 * temporarily selects other functions, do not cause patching. */

/* Changes the sites that waited for IN to record. Call it before setting IN's tracing_on. */
struct hv_err *hv_instance_before_recording(struct hv_instance *in) hv_must_use;
/* Passes the trampoline of each site, as the settings of all instances require, to the session, and
 * calls hv_sites_publish_graph(). On error the sites keep their previous state. */
struct hv_err *hv_sites_publish(struct hv_instance *in) hv_must_use;
/* Selects the calls that function_graph records from now on, and their contents. This depends on
 * max_graph_depth, tracing_thresh, and the options of the instance that traces function_graph, or
 * of IN if none does. */
void hv_sites_publish_graph(struct hv_instance *in);

/* -- tasks and vCPUs --------------------------------------------------------------------------- */

/* Selects the tasks and vCPUs that the guest records. If one instance traces, the guest applies its
 * limits. If several trace, the guest records everything and each instance discards events that it
 * does not want (demux.h). */

/* Passes the pids and vCPUs to record, and whether to follow forks, to the session, according to
 * the instances' settings. EBUSY: several instances trace and one has the option function-fork, but
 * the guest has only one list of pids. */
struct hv_err *hv_tasks_publish(struct hv_instances *all) hv_must_use;
/* Returns whether the guest follows forks, as published last. */
enum hv_forks hv_tasks_forks(const struct hv_instances *all);
/* Publishes only the vCPUs to record. */
void hv_tasks_publish_cpus(struct hv_instances *all);
/* Copies the guest's list of pids into IN's list, because the guest changes its list while it
 * follows forks. Call it before reading or changing IN's lists. */
void hv_tasks_learn(struct hv_instance *in);

/* Adds a line for each instance with pids in set_ftrace_pid that no guest task has: the file and
 * up to eight of these pids. Adds nothing if the guest's tasks cannot be read. */
void hv_tasks_missing(struct hv_instances *all, struct hv_text *ret);
