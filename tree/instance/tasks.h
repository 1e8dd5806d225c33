/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which tasks and vCPUs the guest records. While one instance traces, the guest leaves out what
 * that instance leaves out. While several trace, the guest records all, and each instance leaves
 * out the events that it does not want (demux.h). */
#pragma once

#include "tree/instance/core/instance.h"

/* Tells the session which pids and vCPUs are recorded, and whether forks are followed, according to
 * the settings of the instances. EBUSY: several instances trace, and one has the option
 * function-fork, but the guest has only one list of pids. */
struct hv_err *hv_tasks_publish(struct hv_instances *all) hv_must_use;
/* Tells the session only which vCPUs are recorded. */
void hv_tasks_publish_cpus(struct hv_instances *all);
/* Copies the guest's list of pids into IN's list, since the guest changes its list while it follows
 * forks. Callers do this before they read or change IN's lists. */
void hv_tasks_learn(struct hv_instance *in);

/* Adds a line for each instance whose set_ftrace_pid has pids that no task of the guest has now:
 * the file and the first of these pids. Adds nothing if the guest's tasks cannot be read. */
void hv_tasks_missing(struct hv_instances *all, struct hv_text *ret);
