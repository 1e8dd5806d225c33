/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether an instance records: its tracing_on, its pauses, and the guest's switch.
 * The guest has one switch. While the top traces alone the switch is the top's tracing_on, and
 * commands of functions (traceon, traceoff) set it in the guest, also in a pause, which is another
 * switch. Otherwise the guest records whatever any instance may want, and each instance leaves out
 * the events that it does not want (demux.h). */
#pragma once

#include "tree/instance/core/instance.h"

/* Returns what tracing_on shows. */
unsigned hv_instance_tracing_on(const struct hv_instance *in);
/* Returns whether events are recorded now: tracing_on is on, and nothing pauses it. */
bool hv_instance_records(const struct hv_instance *in);

/* Sets tracing_on. */
void hv_instance_set_recording(struct hv_instance *in, unsigned on);
/* Likewise, but does not drain before. For sinks of the drain. */
void hv_instance_switch_recording(struct hv_instance *in, unsigned on);

/* Pauses recording until hv_instance_go_on() has ended each pause. tracing_on does not change. */
void hv_instance_pause(struct hv_instance *in);
void hv_instance_go_on(struct hv_instance *in);

/* Sets the guest's switch according to the settings of the instances. */
void hv_recording_publish(struct hv_instances *all);
