/* What the host does when it comes, in the order of the records, to one that says that a function
 * with commands was called. Events before it were recorded before the command was obeyed, events
 * behind it after that. The host counts, and believes the guest in nothing but that a function was
 * called: a guest cannot have a snapshot or a dump that nobody asked for.
 * Leaves to others: which commands the host obeys (commands.h). For those who hand on events. */
#pragma once

#include "tree/instance/instance.h"

/* EVENT, an HV_EVENT_COMMAND, does what IN has commands for at that function. */
void hv_obey(struct hv_instance *in, const struct hv_event *event);
/* Whether EVENT, the stack of a caller that the command stacktrace asked for, is IN's. */
bool hv_obey_stack(struct hv_instance *in, const struct hv_event *event);
