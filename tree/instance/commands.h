/* The commands of functions (probes.h): who obeys them, and what the session is told of them.
 *
 *   the guest   at the call itself, as long as only the top has commands and no other instance
 *               traces
 *   the host    otherwise, when the drain comes to the record that says that the function was
 *               called (obey.h)
 *
 * Commands that do something with a buffer are always the host's.
 * Leaves to others: which functions have which commands (trace.h). */
#pragma once

#include "tree/instance/instance.h"

/* Tells the session what calls of functions do, by what the instances are set to. The guest's sites
 * follow with the next hv_sites_publish(). ENOMEM. */
struct hv_err *hv_commands_publish(struct hv_instances *all) hv_must_use;
/* What is left of a command with a count. */
int64_t hv_commands_left(const struct hv_instance *in, enum hv_probe_command command,
			 const struct hv_probe *probe);
