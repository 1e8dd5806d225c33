/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gives each instance its events, while instances share the guest's rings (core/sharing.h): asks
 * whether the instance wants an event (match.h), makes others of it, lets triggers act on it, and
 * puts it into the instance's buffer.
 * Leaves to others: commands of functions (run_commands.h). */
#pragma once

#include "tree/instance/core/instance.h"

extern const struct hv_part hv_demux_part;

/* Obeys IN's triggers of MARKER (triggers.h), which is in its buffer with the time stamp TSC. The
 * rings must be shared. */
void hv_demux_take_marker(struct hv_instance *in, const struct hv_event *marker, uint64_t tsc);

/* Forgets the open calls of IN's function_graph, which has ended. */
void hv_demux_end_graph(struct hv_instance *in);
