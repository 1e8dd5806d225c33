/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Distributes events to the instances that share the guest's rings (core/sharing.h): matches each
 * event (match.h), derives other events from it, runs triggers, and stores it in the instance's
 * buffer. */
#pragma once

#include "tree/instance/core/instance.h"

extern const struct hv_part hv_demux_part;

/* Runs IN's triggers of MARKER (triggers.h), which is in IN's buffer with time stamp TSC. The rings
 * must be shared. */
void hv_demux_take_marker(struct hv_instance *in, const struct hv_event *marker, uint64_t tsc);

/* Returns whether the count of a function command reached 0 since hv_demux_forget_spent(). */
bool hv_demux_commands_are_spent(const struct hv_instances *all);
void hv_demux_forget_spent(struct hv_instances *all);
