/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shows what the agent in a guest says (cli/agent_round.h), as a part of `hvtrace stat`. */
#pragma once

#include <json-c/json.h>

#include "cli/agent_round.h"

/* Prints WHAT, the time of day REALTIME_NS, how far it is from HOST_NS, this host's, and END. */
void stat_time_print(const char *what, uint64_t realtime_ns, uint64_t host_ns, const char *end);
/* Prints lines. Of MAPS_OF, unless it is 0, also the mappings. */
void stat_agent_print(const struct agent_round *r, uint32_t maps_of);
/* Adds the members agent_says, agent_clock, agent_is_cut and, unless MAPS_OF is 0, agent_maps. */
void stat_agent_add(json_object *o, const struct agent_round *r, uint32_t maps_of);
