/* Who obeys the commands of functions (probes.h).
 *
 *   the guest   at the call itself, when only the top has commands and nobody but it traces
 *   the host    else, as the drain comes to the record that says the function was called: events
 *               before it were recorded before the command was obeyed, events behind it after that
 *
 * Some are always the host's: what it does with a buffer. Counts are believed as far as the host
 * keeps them itself, so a guest cannot have a snapshot or a dump that nobody asked for.
 * Leaves to others: which functions have which (instance_probes.c). Contract of commands.c. */
#pragma once

#include "tree/node.h"

/* Tells the session what calls of functions do, from its next hv_session_trace_sites on; IN counts
 * as if it traced TRACER. ENOMEM. */
struct hv_err *hv_commands_publish(struct hv_instance *in, enum hv_tracer tracer) hv_must_use;
/* What is left of a command with a count. */
int64_t hv_commands_left(struct hv_instance *in, enum hv_probe_command command,
			 const struct hv_probe *probe);

/* For who hands on events. EVENT is an HV_EVENT_COMMAND. */
void hv_commands_obey(struct hv_instance *in, const struct hv_event *event);
/* Whether the stack EVENT, of a command, is IN's. */
bool hv_commands_take_stack(struct hv_instance *in, const struct hv_event *event);
/* Whether calls may switch recording on, or recording is of use without a tracer. */
bool hv_commands_need_recording(const struct hv_instance *in);
