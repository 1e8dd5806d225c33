/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connects to the agent in a guest through the host end of a guest port or through vsock, and reads
 * one report. The guest is untrusted: the size and the duration of a report are bounded. Use the
 * report only for display. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* -- parsing a report -------------------------------------------------------------------------- */

/* Parser for the reports of hvtrace-agent (docs/users/agent.md).
 *
 * A report (round) is a list of lines. The guest is untrusted: line length and the number of
 * entries of each kind are bounded, numbers are range-checked, and control characters in names are
 * rejected. The reader limits the number of bytes. Pure. */

#define AGENT_TASKS_MAX	   65536
#define AGENT_FILES_MAX	   16384
#define AGENT_MAPS_MAX	   262144
#define AGENT_NAME_MAX	   512 /* of a cgroup or a file; longer names are truncated */
#define AGENT_BUILD_ID_MAX 32
#define AGENT_COUNTER_MAX  16 /* with the NUL */
#define AGENT_LINE_MAX	   8192

struct agent_task {
	uint32_t pid;
	char *cgroup; /* owned */
};

struct agent_file {
	char *path; /* owned */
	uint8_t build_id[AGENT_BUILD_ID_MAX];
	unsigned build_id_len; /* 0: no build ID */
};

/* Process PID maps FILES[FILE] at offset OFFSET to [start, end). */
struct agent_map {
	uint32_t pid, file;
	uint64_t start, end, offset;
};

/* The guest's clocks, all read at one moment. */
struct agent_clock {
	uint64_t realtime_ns; /* since the epoch; at most INT64_MAX */
	uint64_t monotonic_ns;
	char counter[AGENT_COUNTER_MAX]; /* name of the CPU's counter: tsc, cntvct; letters and
					    digits */
	uint64_t counter_value;
	uint64_t heard_ns; /* host wall clock when the report arrived, ns since the epoch */
};

/* Zero-initialised is empty. */
struct agent_round {
	struct agent_task *tasks; /* owned, sorted by cgroup */
	size_t nr;
	struct agent_file *files; /* owned */
	size_t nr_files;
	struct agent_map *maps; /* owned, sorted by process and address */
	size_t nr_maps;
	struct agent_clock clock;
	bool has_clock;
	bool is_cut; /* the agent had more mappings than fit into a report */
};

enum agent_heard {
	AGENT_GOES_ON,
	AGENT_ENDED,	     /* the round is complete */
	AGENT_OTHER_VERSION, /* the agent uses another version of the format */
};

/* Parser state. Zero-initialised is ready. */
struct agent_hearing {
	struct agent_round round;
	char line[AGENT_LINE_MAX];
	size_t len;
	bool is_long; /* the line exceeds AGENT_LINE_MAX and is ignored */
	bool has_begun;
	enum agent_heard heard;
};

/* Parses the next bytes. NOW_NS is the wall clock. Does nothing after the end of a round. */
enum agent_heard agent_hearing_take(struct agent_hearing *h, const char *bytes, size_t len,
				    uint64_t now_ns);
void agent_hearing_deinit(struct agent_hearing *h);
/* Sorts the complete round and moves it to *RET. */
void agent_hearing_finish(struct agent_hearing *h, struct agent_round *ret);

void agent_round_deinit(struct agent_round *r);

/* -- reading a report -------------------------------------------------------------------------- */

#define AGENT_BYTES_MAX	 (16u << 20) /* limit for one report */
#define AGENT_PATIENCE_S 10

/* Connects to WHERE: the path of a Unix socket, or "vsock:CID:PORT". The caller closes *RET_FD. */
struct hv_err *agent_connect(const char *where, int *ret_fd) hv_must_use;
/* Reads a complete report from FD, which is connected to WHERE. ETIMEDOUT: no complete report
 * arrived in time. EPROTO: the peer is not a compatible agent. */
struct hv_err *agent_read(int fd, const char *where, struct agent_round *ret) hv_must_use;
