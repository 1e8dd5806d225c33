/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Periodic work for the instances, about once a second, because the guest changes on its own. No
 * client waits for it: an error is reported once in error_log, and the work is retried with growing
 * delays. */
#pragma once

#include "tree/instance/core/instance.h"

extern const struct hv_part hv_housekeeping_part;

/* Detects loaded and removed modules. Applies words that waited for a module, and publishes again,
 * so that without a filter the functions of new modules are traced too. */
void hv_instances_refresh(struct hv_instances *all);
/* Changes the sites again that the guest's own tracers have taken, and adds a line about them to the
 * events. Call it every HV_REJOIN_NS (guest_ftrace.h). */
void hv_instances_rejoin(struct hv_instances *all);
/* Removes the trampolines of commands with used-up counts, and retries earlier failures. Ends one
 * period. */
void hv_instances_retire(struct hv_instances *all);
/* Stops function_graph, the profile and return probes if a livepatch waits for them. EBUSY: a
 * livepatch waits, possibly until the return addresses of open calls are restored. */
struct hv_err *hv_instances_step_aside(struct hv_instances *all) hv_must_use;
