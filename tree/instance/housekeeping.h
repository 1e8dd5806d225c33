/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work for the instances that the service does about once a second, because the guest has changed
 * by itself. No client waits for it, so what fails is noted in error_log, once, and is tried again
 * later and later. */
#pragma once

#include "tree/instance/core/instance.h"

/* Notices modules that were loaded or removed. Words that waited for a module now select its
 * functions, and what is traced is published again, so that without a filter a new module's
 * functions are traced, too. */
void hv_instances_refresh(struct hv_instances *all);
/* Removes the stubs of commands whose counts are used up, and tries again what failed in an earlier
 * look. Ends a look. */
void hv_instances_retire(struct hv_instances *all);
/* Ends function_graph, the profile and return probes when a livepatch waits for them. EBUSY: a
 * livepatch waits; it may wait until the return addresses of calls that have not returned are put
 * back. */
struct hv_err *hv_instances_step_aside(struct hv_instances *all) hv_must_use;
