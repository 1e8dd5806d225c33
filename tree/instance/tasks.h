/* Which tasks and vCPUs the guest records. It leaves out what a single instance leaves out. While
 * several trace it records all, and events are left out as they are handed on (share.h). */
#pragma once

#include "tree/instance/instance.h"

/* Tells the session which pids and vCPUs are recorded, and whether forks are followed, by what the
 * instances are set to. EBUSY: several instances trace, and one has the option function-fork, for
 * which the guest has one list of pids only. */
struct hv_err *hv_tasks_publish(struct hv_instances *all) hv_must_use;
/* Tells the session of the vCPUs only. */
void hv_tasks_publish_cpus(struct hv_instances *all);
/* While forks are followed the guest changes its list of pids: IN's list becomes that one. To be
 * called before IN's lists are looked at or changed. */
void hv_tasks_learn(struct hv_instance *in);
