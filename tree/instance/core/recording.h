/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether an instance records: tracing_on, pauses, and the guest's switch.
 *
 * The guest has one switch. While only the top instance traces, the switch is its tracing_on, and
 * the commands traceon and traceoff set it in the guest, even in a pause, which is a separate
 * switch. Otherwise the guest records whatever any instance wants, and each instance discards the
 * rest (demux.h). */
#pragma once

#include "tree/instance/core/instance.h"

/* Returns the value of tracing_on. */
unsigned hv_instance_tracing_on(const struct hv_instance *in);
/* Returns whether events are recorded now: tracing_on is set and no pause is active. */
bool hv_instance_records(const struct hv_instance *in);

/* The following use the host's copy of tracing_on, which the guest's commands do not change: it is
 * right while the instances share the rings. Returns whether tracing_on is set. */
bool hv_instance_is_on(const struct hv_instance *in);
/* Returns whether IN takes events that the drain passes now: it is on, and no pause is active. */
bool hv_instance_takes(const struct hv_instance *in);
/* The same for events on CPU, which tracing_cpumask may exclude. */
bool hv_instance_takes_on(const struct hv_instance *in, unsigned cpu);
/* Copies the top instance's tracing_on from the guest. */
void hv_recording_learn(struct hv_instance *top);

/* Returns whether the host executes function commands (commands.h), instead of the guest. */
bool hv_recording_host_has_commands(const struct hv_instances *all);
void hv_recording_set_host_has_commands(struct hv_instances *all, unsigned on);

/* Sets tracing_on. */
void hv_instance_set_recording(struct hv_instance *in, unsigned on);
/* Like hv_instance_set_recording(), without draining first. For sinks of the drain. */
void hv_instance_switch_recording(struct hv_instance *in, unsigned on);

/* Pause and resume recording. Pauses nest. tracing_on does not change. */
void hv_instance_pause(struct hv_instance *in);
void hv_instance_go_on(struct hv_instance *in);

/* Sets the guest's switch according to the instances' settings. */
void hv_recording_publish(struct hv_instances *all);
