/* Which tasks and vCPUs the guest records. It leaves out what a single instance leaves out. While
 * several trace it records all, and events are left out as they are handed on (share.h). */
#pragma once

#include "tree/instance/instance.h"

/* Makes the guest's lists of pids, vCPUs, and whether it follows forks, as the instances are set
 * now. EBUSY: several instances trace, and one has the option function-fork, for which the guest
 * has one list of pids only. */
struct hv_err *hv_tasks_publish(struct hv_instances *all) hv_must_use;
/* Of these, the vCPUs alone. */
void hv_tasks_publish_cpus(struct hv_instances *all);
/* Where the guest follows forks it changes the pids: IN's lists become what they are there now. To
 * be called before they are looked at or changed. */
void hv_tasks_learn(struct hv_instance *in);
