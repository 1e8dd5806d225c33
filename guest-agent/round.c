/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest-agent/round.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "guest-agent/maps.h"
#include "guest-agent/ticks.h"

#define LINE_MAX_BYTES 4096
#define NS_PER_S       UINT64_C(1000000000)
#define TRIES	       8

/* Returns the cgroup path in a line "NUMBER:CONTROLLERS:PATH" of /proc/PID/cgroup, or NULL. Uses
 * the unified hierarchy, which has number 0, and systemd's named hierarchy on a system with cgroup
 * v1. */
static const char *path_in(char *line)
{
	char *controllers = strchr(line, ':'), *path;

	path = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!path)
		return NULL;
	path[strcspn(path, "\n")] = '\0';
	if (strncmp(line, "0::", 3) == 0 || strncmp(controllers, ":name=systemd:", 14) == 0)
		return path + 1;
	return NULL;
}

void round_put_escaped(FILE *port, const char *text)
{
	for (; *text; text++)
		if (isgraph((unsigned char)*text) && *text != '%')
			putc(*text, port);
		else
			fprintf(port, "%%%02X", (unsigned char)*text);
}

/* Writes the cgroup of process PID, or nothing if the process has exited. */
static void put_task(FILE *port, const char *pid)
{
	char name[64], line[LINE_MAX_BYTES];
	const char *path = NULL;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%.20s/cgroup", pid);
	file = fopen(name, "re");
	while (file && !path && fgets(line, sizeof(line), file))
		path = path_in(line);
	if (path) {
		fprintf(port, "task %s ", pid);
		round_put_escaped(port, path);
		putc('\n', port);
	}
	if (file)
		fclose(file);
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts = {0};

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* Reads all clocks as close together as possible: takes the fastest of several tries. */
static void put_clock(FILE *port)
{
	uint64_t real_ns = 0, mono_ns = 0, ticks = 0, least_ns = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t begin_ns = now_ns(CLOCK_MONOTONIC), now = now_ns(CLOCK_REALTIME);
		uint64_t at = ticks_now(), took_ns = now_ns(CLOCK_MONOTONIC) - begin_ns;

		if (took_ns >= least_ns)
			continue;
		least_ns = took_ns;
		real_ns = now;
		mono_ns = begin_ns + took_ns / 2;
		ticks = at;
	}
	fprintf(port, "clock %" PRIu64 " %" PRIu64 " " TICKS_NAME " %" PRIu64 "\n", real_ns,
		mono_ns, ticks);
}

int round_put(FILE *port)
{
	struct maps maps = {0};
	DIR *proc = opendir("/proc");

	fputs("hvtrace-agent 1\n", port);
	for (struct dirent *e; proc && !ferror(port) && (e = readdir(proc));) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		put_task(port, e->d_name);
		maps_put(&maps, port, e->d_name);
	}
	if (proc)
		closedir(proc);
	if (maps.is_cut)
		fputs("cut\n", port);
	maps_deinit(&maps);
	/* The lines above can wait in a buffer until the host reads them. Take the clock only after
	 * they have been read, so that it is not stale. */
	errno = 0;
	if (fflush(port) == 0 && !ferror(port)) {
		put_clock(port);
		fputs("end\n", port);
		fflush(port);
	}
	return ferror(port) ? (errno ? errno : EIO) : 0;
}
