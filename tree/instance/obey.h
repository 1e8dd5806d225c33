/* Commands of functions that the host obeys: what it does when it comes, in the order of the
 * records, to one that says that such a function was called. Events before it were recorded before
 * the command was obeyed, events behind it after that. The host does the counting, so a guest
 * cannot have a snapshot or a dump that nobody asked for.
 * Called by sinks of the drain. Leaves to others: which commands the host obeys (commands.h). */
#pragma once

#include "tree/instance/instance.h"

/* Obeys the commands that IN has for the function of EVENT, an HV_EVENT_COMMAND. */
void hv_obey(struct hv_instance *in, const struct hv_event *event);
/* Whether EVENT, a stack that the command stacktrace asked for, belongs into IN's buffer. */
bool hv_obey_stack(struct hv_instance *in, const struct hv_event *event);
