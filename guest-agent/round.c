/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest-agent/round.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "guest-agent/build_id.h"

#define FILES_MAX      4096
#define BUCKETS	       8192 /* twice FILES_MAX, to keep probe sequences short */
#define MAPS_MAX       65536
#define PATH_MOST      512 /* bytes; files with a longer path are skipped */
#define VDSO	       "[vdso]"
#define LINE_MAX_BYTES 4096
#define NS_PER_S       UINT64_C(1000000000)
#define TRIES	       8

/* The CPU counter that both guest programs and the host can read. It relates guest time to host
 * time. */
#if defined(__x86_64__) || defined(__i386__)
#define TICKS_NAME "tsc"
static inline uint64_t ticks_now(void)
{
	return __builtin_ia32_rdtsc();
}
#elif defined(__aarch64__)
#define TICKS_NAME "cntvct"
static inline uint64_t ticks_now(void)
{
	uint64_t now;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(now) : : "memory");
	return now;
}
#else
#define TICKS_NAME "none"
static inline uint64_t ticks_now(void)
{
	return 0;
}
#endif

/* Writes TEXT with spaces, '%' and non-printable bytes as %XX. */
static void put_escaped(FILE *port, const char *text)
{
	for (; *text; text++)
		if (isgraph((unsigned char)*text) && *text != '%')
			putc(*text, port);
		else
			fprintf(port, "%%%02X", (unsigned char)*text);
}

/* A mapped file. Device and inode do not identify a file because subvolumes of a file system can
 * share them, so the path is compared, too. */
struct maps_file {
	unsigned major, minor;
	unsigned long inode;
	char *path; /* owned; NULL if this table entry is free */
	unsigned number;
};

/* A line of /proc/PID/maps. */
struct mapping {
	unsigned long start, end, offset;
	struct maps_file file; /* its path points into the line */
};

/* The files of one report. Starts zeroed. */
struct maps {
	struct maps_file *files; /* owned */
	unsigned nr_files, nr_maps;
	int is_cut; /* the report omits files or mappings because of a limit */
};

static void maps_deinit(struct maps *m)
{
	for (unsigned i = 0; m->files && i < BUCKETS; i++)
		free(m->files[i].path);
	free(m->files);
	*m = (struct maps){0};
}

static int parse(char *line, struct mapping *ret)
{
	struct maps_file *f = &ret->file;
	char rights[5];
	int at = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%lx-%lx %4s %lx %x:%x %lu %n", &ret->start, &ret->end, rights,
		   &ret->offset, &f->major, &f->minor, &f->inode, &at) != 7 ||
	    !at)
		return 0;
	f->path = line + at;
	return rights[2] == 'x' && (f->inode || strcmp(f->path, VDSO) == 0) && *f->path &&
	       strlen(f->path) < PATH_MOST;
}

static int is_same(const struct maps_file *a, const struct maps_file *b)
{
	return a->major == b->major && a->minor == b->minor && a->inode == b->inode &&
	       strcmp(a->path, b->path) == 0;
}

/* Returns the table entry of FILE, or the free entry where FILE belongs. */
static struct maps_file *bucket_of(struct maps *m, const struct maps_file *file)
{
	unsigned long at = file->inode * 31 + file->minor;

	while (m->files[at % BUCKETS].path && !is_same(&m->files[at % BUCKETS], file))
		at++;
	return &m->files[at % BUCKETS];
}

/* Opens the mapped file. The link in map_files leads to that file even if its path now names
 * another file or belongs to another mount namespace. Devices are not opened: opening one can have
 * side effects. */
static int open_mapped(const char *pid, const struct mapping *map)
{
	char name[96];
	struct stat st;
	int path_fd, fd = -1;

	snprintf(name, sizeof(name), "/proc/%.20s/map_files/%lx-%lx", pid, map->start, map->end);
	path_fd = open(name, O_PATH | O_CLOEXEC);
	if (path_fd < 0)
		return -1;
	if (fstat(path_fd, &st) == 0 && S_ISREG(st.st_mode))
		fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	close(path_fd);
	return fd;
}

static void put_build_id(FILE *port, const char *pid, const struct mapping *map)
{
	unsigned char id[BUILD_ID_MAX];
	int fd = map->file.inode ? open_mapped(pid, map) : -1;
	unsigned nr = fd < 0 ? 0 : build_id_read(fd, id);

	for (unsigned i = 0; i < nr; i++)
		fprintf(port, "%02x", id[i]);
	if (!nr)
		putc('-', port);
	if (fd >= 0)
		close(fd);
}

/* Returns the number of the file that MAP maps, and reports the file if it is new. Returns 0 if the
 * file table is full or memory is short. */
static unsigned number_of(struct maps *m, FILE *port, const char *pid, const struct mapping *map)
{
	struct maps_file *bucket;
	char *path;

	if (!m->files)
		m->files = calloc(BUCKETS, sizeof(*m->files));
	if (!m->files)
		return 0;
	bucket = bucket_of(m, &map->file);
	if (bucket->path)
		return bucket->number;
	path = m->nr_files < FILES_MAX ? strdup(map->file.path) : NULL;
	if (!path)
		return 0;
	*bucket = map->file;
	bucket->path = path;
	bucket->number = ++m->nr_files;
	fprintf(port, "file %u ", bucket->number);
	put_build_id(port, pid, map);
	putc(' ', port);
	put_escaped(port, path);
	putc('\n', port);
	return bucket->number;
}

static void put_mapping(struct maps *m, FILE *port, const char *pid, const struct mapping *map)
{
	unsigned number = m->nr_maps < MAPS_MAX ? number_of(m, port, pid, map) : 0;

	if (!number) {
		m->is_cut = 1;
		return;
	}
	m->nr_maps++;
	fprintf(port, "map %s %lx %lx %lx %u\n", pid, map->start, map->end, map->offset, number);
}

/* Writes the executable mappings of process PID to PORT, and each file before its first mapping.
 * Writes nothing for a process that has exited or that this process may not inspect. */
static void maps_put(struct maps *m, FILE *port, const char *pid)
{
	char name[64];
	struct mapping map;
	char *line = NULL;
	size_t cap = 0;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%.20s/maps", pid);
	file = fopen(name, "re");
	while (file && !m->is_cut && getline(&line, &cap, file) >= 0)
		if (parse(line, &map))
			put_mapping(m, port, pid, &map);
	free(line);
	if (file)
		fclose(file);
}

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
		put_escaped(port, path);
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
