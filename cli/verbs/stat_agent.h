/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shows the report of a guest's agent (cli/agent_round.h) as part of `hvtrace stat`. */
#pragma once

#include <json-c/json.h>

#include "cli/agent_round.h"

/* Prints a label, the time of day REALTIME_NS, its difference from the host's time HOST_NS, and
 * END. */
void stat_time_print(const char *what, uint64_t realtime_ns, uint64_t host_ns, const char *end);
/* Prints the report as lines, with the mappings of process MAPS_OF unless that is 0. */
void stat_agent_print(const struct agent_round *r, uint32_t maps_of);
/* Adds the members agent_says, agent_clock, agent_is_cut and, unless MAPS_OF is 0, agent_maps. */
void stat_agent_add(json_object *o, const struct agent_round *r, uint32_t maps_of);
