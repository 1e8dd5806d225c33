/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/profile/programs.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/prefix.h"
#include "kernel/programs/elf_symbols.h"

/* A process is not looked up more often: it may be executing a program just now. The time doubles
 * with each look-up. */
#define SOON_NS	   (50 * HV_NS_PER_MS)
#define AGAIN_NS   HV_NS_PER_S
#define ASKS_MAX   200 /* requests in a second */
#define PART	   4   /* requests take at most 1/PART of the time */
#define PATH_LEN   4096
#define ID_LEN	   (2 * HV_ELF_BUILD_ID_MAX)
#define BATCH	   2048 /* offsets in a request */
#define DEBUG_DIR  "/usr/lib/debug/.build-id"
#define UNKNOWN_ID "-"

static char nameless[] = "[anonymous memory]"; /* path of memory without a file */

static void forget_tasks(struct programs *p)
{
	for (size_t i = 0; i < p->nr; i++) {
		free(p->list[i]->maps);
		free(p->list[i]->cgroup);
		free(p->list[i]);
	}
	hv_map_deinit(&p->by_pid);
	p->nr = p->nr_maps = 0;
}

void programs_deinit(struct programs *p)
{
	forget_tasks(p);
	for (size_t i = 0; i < p->nr_files; i++) {
		free(p->files[i].build_id);
		free(p->files[i].path);
	}
	free(p->list);
	free(p->files);
	hv_map_deinit(&p->by_mapping);
	*p = (struct programs){0};
}

const char *programs_build_id(const struct program_file *f)
{
	return strcmp(f->build_id, UNKNOWN_ID) == 0 ? "" : f->build_id;
}

/* -- mappings ----------------------------------------------------------------------------------- */

/* Files without an address_space are equal if their paths are. */
static bool is_same(const struct program_file *a, const struct program_file *b)
{
	return a->mapping == b->mapping && a->ino == b->ino && a->len_bytes == b->len_bytes &&
	       (a->mapping || strcmp(a->path, b->path) == 0);
}

/* Returns the number of the file, from 1; 0: there are too many. */
static uint32_t file_of(struct programs *p, const struct program_file *f)
{
	uint64_t key = f->mapping;
	uintptr_t first = key ? (uintptr_t)hv_map_find(&p->by_mapping, key) : 1;

	/* Usually the first file of the address_space is equal. Only a file that has changed since
	 * has a later entry. */
	for (uintptr_t i = first; i && i <= p->nr_files; i++)
		if (is_same(&p->files[i - 1], f))
			return (uint32_t)i;
	if (p->nr_files == PROGRAMS_FILES_MAX)
		return 0;
	p->files = hv_grow(p->files, p->nr_files, &p->files_cap, 16, sizeof(*p->files));
	p->files[p->nr_files] = *f;
	p->files[p->nr_files].build_id = hv_strdup(f->build_id);
	p->files[p->nr_files].path = hv_strdup(f->path);
	p->nr_files++;
	if (!first)
		hv_map_add(&p->by_mapping, key, (void *)p->nr_files);
	return (uint32_t)p->nr_files;
}

/* Parses a line of programs_map() (cli/service/programs.h). */
static bool parse_map(char *line, struct program_map *map, struct program_file *file)
{
	uint64_t *const numbers[] = {&map->start,    &map->end,	 &map->off,
				     &file->mapping, &file->ino, &file->len_bytes};

	for (size_t i = 0; i < HV_ARRAY_LEN(numbers); i++) {
		char *end;

		*numbers[i] = strtoull(line, &end, 16);
		if (end == line || *end != ' ')
			return false;
		line = end + 1;
	}
	file->build_id = strsep(&line, " ");
	file->path = line && *line ? line : nameless;
	return line && map->start < map->end && strlen(line) <= PATH_LEN &&
	       strlen(file->build_id) <= ID_LEN;
}

static void add_map(struct programs *p, struct program *to, char *line)
{
	struct program_file file = {0};
	struct program_map map = {0};

	if (p->nr_maps == PROGRAMS_MAPS_MAX || !parse_map(line, &map, &file) ||
	    (to->nr && map.start < to->maps[to->nr - 1].end))
		return;
	map.file = file_of(p, &file);
	to->maps = hv_realloc_array(to->maps, to->nr + 1, sizeof(*to->maps));
	to->maps[to->nr++] = map;
	p->nr_maps++;
}

static void take_cgroup(struct program *to, const char *path)
{
	free(to->cgroup);
	to->cgroup = strlen(path) <= PATH_LEN ? hv_strdup(path) : NULL;
}

/* Looks up PID. If it is not known, TO keeps its mappings: the process may have ended. */
static void ask(struct programs *p, struct program *to, uint32_t pid)
{
	HV_AUTO_FREE char *text = NULL;
	struct hv_err *err = client_program(p->client, pid, &text);
	char *rest;

	p->spent_ns += hv_now_ns() - to->asked_ns;
	p->nr_asked++;
	if (err) {
		/* The next request of the recording reports a session that is gone. */
		p->is_off = true;
		hv_err_free(err);
		return;
	}
	if (!*text)
		return;
	rest = text;
	if (*rest == '/')
		take_cgroup(to, strsep(&rest, "\n"));
	if (!rest || !*rest)
		return;
	p->nr_maps -= to->nr;
	to->nr = 0;
	for (char *line; (line = strsep(&rest, "\n"));)
		if (*line)
			add_map(p, to, line);
}

static const struct program_map *find_map(const struct program *to, uint64_t address)
{
	size_t low = 0, high = to->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (to->maps[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < to->nr && to->maps[low].start <= address ? &to->maps[low] : NULL;
}

static struct program *program_of(struct programs *p, uint32_t pid)
{
	struct program *to = hv_map_find(&p->by_pid, pid);

	if (to)
		return to;
	to = hv_alloc(sizeof(*to));
	p->list = hv_grow(p->list, p->nr, &p->cap, 64, sizeof(struct program *));
	p->list[p->nr++] = to;
	hv_map_add(&p->by_pid, pid, to);
	return to;
}

static bool may_ask(struct programs *p, uint64_t now_ns)
{
	uint64_t period_ns = PART * p->spent_ns;

	if (period_ns < HV_NS_PER_S)
		period_ns = HV_NS_PER_S;
	if (now_ns - p->period_ns >= period_ns) {
		p->period_ns = now_ns;
		p->spent_ns = p->nr_asked = 0;
	}
	return !p->is_off && p->nr_asked < ASKS_MAX && p->spent_ns < HV_NS_PER_S / PART;
}

/* Returns the task PID. Asks the session for it if its name has changed, or if it LACKS something
 * and was not asked for recently. */
static struct program *look_up(struct programs *p, uint32_t pid, const char *comm,
			       bool (*lacks)(const struct program *to, uint64_t address),
			       uint64_t address)
{
	uint64_t now_ns = hv_now_ns();
	struct program *to;
	bool is_renamed;

	if (p->nr >= PROGRAMS_TASKS_MAX || p->nr_maps >= PROGRAMS_MAPS_MAX)
		forget_tasks(p);
	to = program_of(p, pid);
	is_renamed = strncmp(to->comm, comm, sizeof(to->comm)) != 0;
	if ((!is_renamed && (!lacks(to, address) || now_ns - to->asked_ns < to->again_ns)) ||
	    !may_ask(p, now_ns))
		return to;
	to->asked_ns = now_ns;
	to->again_ns = is_renamed || !to->again_ns   ? SOON_NS
		       : 2 * to->again_ns < AGAIN_NS ? 2 * to->again_ns
						     : AGAIN_NS;
	strncpy(to->comm, comm, sizeof(to->comm) - 1);
	ask(p, to, pid);
	return to;
}

static bool lacks_map(const struct program *to, uint64_t address)
{
	return !find_map(to, address);
}

static bool lacks_cgroup(const struct program *to, uint64_t address hv_unused)
{
	return !to->cgroup;
}

enum hv_profile_place programs_find(void *ctx, uint32_t pid, const char *comm, uint64_t address,
				    uint32_t *ret_file, uint64_t *ret_off)
{
	const struct program *to = look_up(ctx, pid, comm, lacks_map, address);
	const struct program_map *map = find_map(to, address);

	if (!map || !map->file)
		return to->nr ? HV_PROFILE_NO_CODE : HV_PROFILE_UNKNOWN;
	*ret_file = map->file;
	*ret_off = address - map->start + map->off;
	return HV_PROFILE_FILE;
}

const char *programs_cgroup(void *ctx, uint32_t pid, const char *comm)
{
	return look_up(ctx, pid, comm, lacks_cgroup, 0)->cgroup;
}

/* -- files of the host -------------------------------------------------------------------------- */

static bool read_host(void *ctx, uint64_t off, void *buf, size_t len_bytes)
{
	return pread(*(const int *)ctx, buf, len_bytes, (off_t)off) == (ssize_t)len_bytes;
}

struct hv_elf_file programs_host_elf(const int *fd)
{
	struct stat st = {0};

	return (struct hv_elf_file){.read = read_host,
				    .ctx = (void *)(uintptr_t)fd,
				    .len_bytes = fstat(*fd, &st) < 0 || !S_ISREG(st.st_mode)
							 ? 0
							 : (uint64_t)st.st_size};
}

/* Opens the file PATH of the host. Returns -1 if its build id is not ID. */
static int open_host(const char *path, const char *id)
{
	HV_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	HV_AUTO_TEXT struct hv_text found = {0};
	uint8_t bytes[HV_ELF_BUILD_ID_MAX];
	struct hv_elf_file file;
	size_t len;

	if (fd < 0)
		return -1;
	file = programs_host_elf(&fd);
	len = hv_elf_build_id(&file, bytes);
	for (size_t i = 0; i < len; i++)
		hv_text_printf(&found, "%02x", bytes[i]);
	return len && strcmp(found.data, id) == 0 ? hv_take_fd(&fd) : -1;
}

/* Names the places of LIST from the file PATH of the host, if its build id is ID. */
static void name_from(const char *path, const char *id, struct hv_elf_place *list, size_t nr)
{
	HV_AUTO_FD int fd = open_host(path, id);
	struct hv_elf_file file;

	if (fd < 0)
		return;
	file = programs_host_elf(&fd);
	hv_elf_find_functions_at(&file, list, nr);
}

/* The build id is hexadecimal, so it is safe in a path. */
static bool is_id(const char *id)
{
	size_t len = strspn(id, "0123456789abcdef");

	return len > 2 && !id[len];
}

/* PATH of the guest has no ".." that would leave the directory. */
static bool is_plain(const char *path)
{
	return *path == '/' && !strstr(path, "/../") && !strstr(path, "/./");
}

/* Returns the path of F below --symfs, or NULL. */
static char *symfs_path(const struct programs *p, const struct program_file *f)
{
	return p->symfs && is_plain(f->path) ? hv_format("%s%s", p->symfs, f->path) : NULL;
}

int programs_open_symfs(const struct programs *p, const struct program_file *f)
{
	HV_AUTO_FREE char *path = is_id(f->build_id) ? symfs_path(p, f) : NULL;

	return path ? open_host(path, f->build_id) : -1;
}

static void name_from_host(const struct programs *p, const struct program_file *f,
			   struct hv_elf_place *list, size_t nr)
{
	HV_AUTO_FREE char *path = NULL, *debug = NULL, *mine = NULL;

	if (!is_id(f->build_id))
		return;
	path = symfs_path(p, f);
	if (path)
		name_from(path, f->build_id, list, nr);
	mine = p->symfs ? hv_format("%s" DEBUG_DIR "/%.2s/%s.debug", p->symfs, f->build_id,
				    f->build_id + 2)
			: NULL;
	if (mine)
		name_from(mine, f->build_id, list, nr);
	debug = hv_format(DEBUG_DIR "/%.2s/%s.debug", f->build_id, f->build_id + 2);
	name_from(debug, f->build_id, list, nr);
}

/* -- names -------------------------------------------------------------------------------------- */

/* Frames of one file. */
struct batch {
	uint32_t frames[BATCH];
	struct hv_elf_place places[BATCH];
	size_t nr;
};

/* Parses the answer of programs_functions(), whose lines are in the order of the request. */
static void take_names(struct batch *b, char *text)
{
	char *rest = text;

	for (size_t i = 0; i < b->nr; i++) {
		char *line = strsep(&rest, "\n"), *end;

		if (!line || strtoull(line, &end, 16) != b->places[i].off || *end != ' ')
			return;
		b->places[i].vaddr = strtoull(end + 1, &end, 16);
		if (*end == ' ' && strcmp(end + 1, UNKNOWN_ID) != 0)
			b->places[i].name = hv_format("%.*s", HV_ELF_NAME_MAX, end + 1);
	}
}

static struct hv_err *ask_names(const struct programs *p, const struct program_file *f,
				struct batch *b)
{
	HV_AUTO_TEXT struct hv_text request = {0};
	HV_AUTO_FREE char *text = NULL;
	struct hv_err *err;

	hv_text_printf(&request, "%" PRIx64 " %" PRIx64 " %" PRIx64, f->mapping, f->ino,
		       f->len_bytes);
	for (size_t i = 0; i < b->nr; i++)
		hv_text_printf(&request, " %" PRIx64, b->places[i].off);
	err = client_functions(p->client, request.data, &text);
	if (!err)
		take_names(b, text);
	return err;
}

/* Returns the name for an offset whose function is not known. */
static char *place_name(const struct program_file *f, uint64_t off)
{
	const char *base = strrchr(f->path, '/');

	base = base ? base + 1 : f->path;
	if (!f->mapping)
		return hv_strdup(f->path);
	if (strcmp(f->build_id, UNKNOWN_ID) == 0)
		return hv_format("%s+0x%" PRIx64, base, off);
	return hv_format("%s+0x%" PRIx64 " [%s]", base, off, f->build_id);
}

static struct hv_err *name_batch(const struct programs *p, const struct program_file *f,
				 struct batch *b, struct hv_chains *c)
{
	bool has_time = hv_now_ns() < p->names_until_ns;
	struct hv_err *err = has_time && f->mapping ? ask_names(p, f, b) : NULL;

	if (!client_is_gone(err)) {
		hv_err_free(err);
		err = NULL;
	}
	if (!err && has_time)
		name_from_host(p, f, b->places, b->nr);
	for (size_t i = 0; i < b->nr; i++) {
		struct hv_elf_place *place = &b->places[i];

		hv_chains_name(c, b->frames[i],
			       place->name ? place->name : place_name(f, place->off));
	}
	b->nr = 0;
	return err;
}

struct unnamed {
	uint32_t file, frame;
};

static int by_file(const void *a, const void *b)
{
	const struct unnamed *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->frame < y->frame ? -1 : x->frame > y->frame;
}

struct hv_err *programs_name(struct programs *p, struct hv_chains *c, uint32_t first,
			     uint64_t limit_ns)
{
	HV_AUTO_FREE struct unnamed *list = hv_alloc((c->nr_frames + 1ull) * sizeof(*list));
	HV_AUTO_FREE struct batch *b = hv_alloc(sizeof(*b));
	struct hv_err *err = NULL;
	size_t nr = 0;

	for (uint32_t i = first; i < c->nr_frames; i++)
		if (c->frames[i].kind == HV_CHAIN_USER && c->frames[i].file && !c->frames[i].name)
			list[nr++] = (struct unnamed){c->frames[i].file, i};
	qsort(list, nr, sizeof(*list), by_file);
	p->names_until_ns = hv_now_ns() + limit_ns;
	for (size_t i = 0; !err && i < nr; i++) {
		bool is_last = i + 1 == nr || list[i + 1].file != list[i].file;

		b->frames[b->nr] = list[i].frame;
		b->places[b->nr++] = (struct hv_elf_place){.off = c->frames[list[i].frame].value};
		if (is_last || b->nr == BATCH)
			err = name_batch(p, &p->files[list[i].file - 1], b, c);
	}
	return err;
}
