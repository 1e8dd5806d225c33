/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Selects the tasks and vCPUs that the guest records. If one instance traces, the guest applies its
 * limits. If several trace, the guest records everything and each instance discards events that it
 * does not want (demux.h). */
#pragma once

#include "tree/instance/core/instance.h"

extern const struct hv_part hv_tasks_part;

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
