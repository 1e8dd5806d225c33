/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the agent in a guest says (docs/users/agent.md): lines, which become a round. The guest can
 * say anything, or nothing: lines, and how many there are of each kind, are bounded, numbers are
 * checked, and names have no control characters. Leaves to others: where the bytes come from, and
 * how many may come (agent.h). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define AGENT_TASKS_MAX	   65536
#define AGENT_FILES_MAX	   16384
#define AGENT_MAPS_MAX	   262144
#define AGENT_NAME_MAX	   512 /* of a cgroup or a file; what is longer is cut */
#define AGENT_BUILD_ID_MAX 32  /* bytes */
#define AGENT_COUNTER_MAX  16  /* with the NUL */
#define AGENT_LINE_MAX	   8192

struct agent_task {
	uint32_t pid;
	char *cgroup; /* owned */
};

struct agent_file {
	char *path; /* owned */
	uint8_t build_id[AGENT_BUILD_ID_MAX];
	unsigned build_id_len; /* 0: it has none */
};

/* [START_GVA, END_GVA) of process PID is of FILES[FILE], from OFFSET on. */
struct agent_map {
	uint32_t pid, file;
	uint64_t start, end, offset;
};

/* The clocks of the guest at one moment. */
struct agent_clock {
	uint64_t realtime_ns; /* since 1970; at most INT64_MAX */
	uint64_t monotonic_ns;
	char counter[AGENT_COUNTER_MAX]; /* of the CPU: tsc, cntvct; letters and digits */
	uint64_t counter_value;
	uint64_t heard_ns; /* when it was heard: the time of day of this host, since 1970 */
};

/* Zero-initialised is empty. */
struct agent_round {
	struct agent_task *tasks; /* owned, in the order of their cgroups */
	size_t nr;
	struct agent_file *files; /* owned */
	size_t nr_files;
	struct agent_map *maps; /* owned, by process and address */
	size_t nr_maps;
	struct agent_clock clock;
	bool has_clock;
	bool is_cut; /* the agent says that it has more mappings than it tells */
};

enum agent_heard {
	AGENT_GOES_ON,
	AGENT_ENDED,	     /* the round is whole */
	AGENT_OTHER_VERSION, /* what follows means something else */
};

/* A round that is being heard. Zero-initialised is new. */
struct agent_hearing {
	struct agent_round round;
	char line[AGENT_LINE_MAX];
	size_t len;
	bool is_long; /* the line is longer, and is ignored */
	bool has_begun;
	enum agent_heard heard;
};

/* Takes bytes as they come. NOW_NS is the time of day. Does nothing once the round is whole. */
enum agent_heard agent_hearing_take(struct agent_hearing *h, const char *bytes, size_t len,
				    uint64_t now_ns);
void agent_hearing_deinit(struct agent_hearing *h);
/* Passes the round, which is whole, to the caller, and sorts it. */
void agent_hearing_finish(struct agent_hearing *h, struct agent_round *ret);

void agent_round_deinit(struct agent_round *r);
