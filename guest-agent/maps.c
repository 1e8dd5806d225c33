/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest-agent/maps.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest-agent/build_id.h"
#include "guest-agent/round.h"

#define FILES_MAX 4096
#define SLOTS	  8192 /* twice FILES_MAX, to keep probe sequences short */
#define MAPS_MAX  65536
#define PATH_MOST 512 /* bytes; files with a longer path are skipped */
#define VDSO	  "[vdso]"

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

void maps_deinit(struct maps *m)
{
	for (unsigned i = 0; m->files && i < SLOTS; i++)
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
static struct maps_file *slot_of(struct maps *m, const struct maps_file *file)
{
	unsigned long at = file->inode * 31 + file->minor;

	while (m->files[at % SLOTS].path && !is_same(&m->files[at % SLOTS], file))
		at++;
	return &m->files[at % SLOTS];
}

/* Opens the mapped file. The link in map_files leads to that file even if its path now names
 * another file or belongs to another mount namespace. Devices are not opened: opening one can have
 * side effects. */
static int open_mapped(const char *pid, const struct mapping *map)
{
	char name[96];
	struct stat st;
	int place, fd = -1;

	snprintf(name, sizeof(name), "/proc/%.20s/map_files/%lx-%lx", pid, map->start, map->end);
	place = open(name, O_PATH | O_CLOEXEC);
	if (place < 0)
		return -1;
	if (fstat(place, &st) == 0 && S_ISREG(st.st_mode))
		fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	close(place);
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
	struct maps_file *slot;
	char *path;

	if (!m->files)
		m->files = calloc(SLOTS, sizeof(*m->files));
	if (!m->files)
		return 0;
	slot = slot_of(m, &map->file);
	if (slot->path)
		return slot->number;
	path = m->nr_files < FILES_MAX ? strdup(map->file.path) : NULL;
	if (!path)
		return 0;
	*slot = map->file;
	slot->path = path;
	slot->number = ++m->nr_files;
	fprintf(port, "file %u ", slot->number);
	put_build_id(port, pid, map);
	putc(' ', port);
	round_put_escaped(port, path);
	putc('\n', port);
	return slot->number;
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

void maps_put(struct maps *m, FILE *port, const char *pid)
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
