/* Whether an instance records: tracing_on, what pauses it, and the guest's own switch.
 * The guest has one switch. While the top traces alone the switch is the top's tracing_on, and
 * commands of functions (traceon, traceoff) turn it in the guest. Otherwise the guest records
 * whatever any instance may want, and events that an instance does not want are left out as they
 * are handed on (share.h). */
#pragma once

#include "tree/instance/instance.h"

/* What tracing_on shows. */
unsigned hv_instance_tracing_on(const struct hv_instance *in);
/* Whether events are recorded now: tracing_on, and nothing pauses it. */
bool hv_instance_records(const struct hv_instance *in);

/* Sets tracing_on. */
void hv_instance_set_recording(struct hv_instance *in, unsigned on);
/* Likewise, for sinks of the drain: nothing is drained before. */
void hv_instance_switch_recording(struct hv_instance *in, unsigned on);

/* Nothing is recorded until each pause has ended. tracing_on stays as it is. */
void hv_instance_pause(struct hv_instance *in);
void hv_instance_go_on(struct hv_instance *in);

/* Turns the guest's switch as the instances are set now. */
void hv_recording_publish(struct hv_instances *all);
