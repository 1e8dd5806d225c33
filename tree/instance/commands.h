/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands of functions (probes.h): who obeys them, and what actions the session needs for
 * them.
 *
 *   the guest   obeys them at the call itself, as long as only the top has commands and no other
 *               instance traces
 *   the host    obeys them otherwise, when the drain comes to the record that says that the
 * function was called (run_commands.h)
 *
 * The host always obeys commands that do something with a buffer.
 * Leaves to others: which functions have which commands (trace.h). */
#pragma once

#include "tree/instance/core/instance.h"

/* Tells the session which actions calls of functions have, according to the settings of the
 * instances. The next hv_sites_publish() changes the guest's sites. ENOMEM. */
struct hv_err *hv_commands_publish(struct hv_instances *all) hv_must_use;
/* Returns what is left of the count of PROBE. */
int64_t hv_commands_left(const struct hv_instance *in, enum hv_probe_command command,
			 const struct hv_probe *probe);
