/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest-agent/serve.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096
#define INTERVAL_S     2

/* A line of /proc/PID/cgroup is "NUMBER:CONTROLLERS:PATH". The unified hierarchy has the number 0;
 * where it is not used, systemd's own has what says most. */
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

/* Blanks and what cannot be seen are written as %XX. */
static void put_escaped(FILE *port, const char *text)
{
	for (; *text; text++)
		if (isgraph((unsigned char)*text) && *text != '%')
			putc(*text, port);
		else
			fprintf(port, "%%%02X", (unsigned char)*text);
}

/* A process that has ended meanwhile is left out. */
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
		put_escaped(port, path);
		putc('\n', port);
	}
	if (file)
		fclose(file);
}

static void put_round(FILE *port)
{
	DIR *proc = opendir("/proc");

	fputs("hvtrace-agent 1\n", port);
	for (struct dirent *e; proc && (e = readdir(proc));)
		if (isdigit((unsigned char)e->d_name[0]))
			put_task(port, e->d_name);
	if (proc)
		closedir(proc);
	fputs("end\n", port);
}

/* Does not create PORT: without the device, /dev would get a file that grows for ever. */
static FILE *open_port(const char *port)
{
	int fd = open(port, O_WRONLY | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? NULL : fdopen(fd, "w");
}

int serve(const char *port, int is_once)
{
	FILE *file = open_port(port);
	int bad = !file;

	while (!bad) {
		put_round(file);
		bad = fflush(file) != 0 || ferror(file);
		if (is_once)
			break;
		nanosleep(&(struct timespec){INTERVAL_S, 0}, NULL);
	}
	if (bad)
		fprintf(stderr, "hvtrace-agent: %s: %s\n", port, strerror(errno));
	if (file)
		fclose(file);
	return bad;
}
