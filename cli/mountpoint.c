/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/mountpoint.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/prefix.h"
#include "base/text.h"
#include "cli/rundir.h"

#define SOURCE	 "tracefs"
#define TYPE	 "fuse.hvtrace"
#define FOLDER	 "tracing"
#define DEV_FUSE "/dev/fuse"

#define NOTES_BYTES_MAX (1u << 20)
#define WITHOUT                                                                                    \
	"shells, trace-cmd and `hvtrace exec` cannot see the tree; hvtrace ls, cat, echo and "     \
	"record can"

char *mountpoint_default(const char *run_dir, const char *name, const char *id)
{
	HV_AUTO_TEXT struct hv_text t = {0};
	bool is_file_name =
		name[0] && name[0] != '.' && !strchr(name, '/') && strlen(name) <= NAME_MAX;

	hv_text_printf(&t, "%s/%s/%s", run_dir, FOLDER, is_file_name ? name : id);
	return hv_text_take(&t);
}

static char *folder_of(const char *run_dir)
{
	HV_AUTO_TEXT struct hv_text t = {0};

	hv_text_printf(&t, "%s/%s", run_dir, FOLDER);
	return hv_text_take(&t);
}

struct hv_err *mountpoint_make(const char *run_dir, const char *dir)
{
	HV_AUTO_FREE char *folder = folder_of(run_dir);
	const char *const dirs[] = {run_dir, folder, dir};

	for (size_t i = 0; i < HV_ARRAY_LEN(dirs); i++)
		if (mkdir(dirs[i], 0700) != 0 && errno != EEXIST)
			return hv_err_new(errno, "%s: cannot be made: %s", dirs[i],
					  strerror(errno));
	return NULL;
}

void mountpoint_remove(const char *run_dir, const char *dir)
{
	HV_AUTO_FREE char *folder = folder_of(run_dir);
	size_t len = strlen(folder);

	if (strncmp(dir, folder, len) != 0 || dir[len] != '/')
		return;
	rmdir(dir);
	rmdir(folder);
	rmdir(run_dir);
}

/* mountinfo escapes white space and backslashes as octal numbers. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		unsigned c;

		if (*s == '\\' && sscanf(s + 1, "%3o", &c) == 1) {
			*to++ = (char)c;
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

static void close_file(FILE **f)
{
	if (*f)
		fclose(*f);
}

#define DEVICE_LEN 24

struct mount {
	const char *dir;
	char device[DEVICE_LEN]; /* MAJOR:MINOR */
	bool is_ours;
};

/* Calls FN for every mount. A mount comes after the mounts that it covers. */
static void for_each_mount(void (*fn)(void *arg, const struct mount *m), void *arg)
{
	hv_cleanup(close_file) FILE *f = fopen("/proc/self/mountinfo", "re");
	HV_AUTO_FREE char *line = NULL;
	size_t cap = 0;

	while (f && getline(&line, &cap, f) > 0) {
		HV_AUTO_FREE char *dir = hv_alloc(strlen(line) + 1);
		const char *type = strstr(line, " - ");
		struct mount m = {.dir = dir};

		if (!type || sscanf(line, "%*s %*s %23s %*s %s", m.device, dir) != 2)
			continue;
		unescape(dir);
		m.is_ours = hv_starts_with(type + 3, TYPE " ");
		fn(arg, &m);
	}
}

struct look {
	const char *dir;
	enum mountpoint_state state;
	char device[DEVICE_LEN];
};

static void look_at(void *arg, const struct mount *m)
{
	struct look *l = arg;

	if (strcmp(m->dir, l->dir) != 0)
		return;
	l->state = m->is_ours ? MOUNTPOINT_OURS : MOUNTPOINT_OTHER;
	memcpy(l->device, m->device, DEVICE_LEN);
}

static struct look look(const char *dir)
{
	struct look l = {.dir = dir};

	for_each_mount(look_at, &l);
	return l;
}

enum mountpoint_state mountpoint_look(const char *dir)
{
	return look(dir).state;
}

bool mountpoint_device(const char *dir, dev_t *ret)
{
	struct look l = look(dir);
	unsigned major, minor;

	if (l.state != MOUNTPOINT_OURS || sscanf(l.device, "%u:%u", &major, &minor) != 2)
		return false;
	*ret = makedev(major, minor);
	return true;
}

/* A note is "DEVICE PATH" and a NUL. The kernel reuses device numbers, but hardly for a mount of
 * hvtrace at the same path. */
struct hv_err *mountpoint_note(const char *session, const char *dir)
{
	HV_AUTO_FREE char *path = rundir_path(session, RUNDIR_MOUNTS);
	HV_AUTO_FD int fd =
		open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct look l = look(dir);
	HV_AUTO_FREE char *note = hv_format("%s %s", l.device, dir);

	if (fd >= 0)
		errno = ENOSPC; /* of a short write */
	if (fd < 0 || write(fd, note, strlen(note) + 1) != (ssize_t)strlen(note) + 1)
		return hv_err_new(errno, "%s: cannot be written: %s", path, strerror(errno));
	return NULL;
}

/* Appends the notes of SESSION, at most NOTES_BYTES_MAX. */
static void read_notes(const char *session, struct hv_text *ret)
{
	HV_AUTO_FREE char *path = rundir_path(session, RUNDIR_MOUNTS);
	HV_AUTO_FD int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char bytes[PATH_MAX];
	ssize_t n;

	while (fd >= 0 && ret->len_bytes < NOTES_BYTES_MAX &&
	       (n = read(fd, bytes, sizeof(bytes))) > 0)
		hv_text_add_bytes(ret, bytes, (size_t)n);
}

void mountpoint_for_each_noted(const char *session, void (*fn)(void *ctx, const char *dir),
			       void *ctx)
{
	HV_AUTO_TEXT struct hv_text notes = {0};

	read_notes(session, &notes);
	for (size_t at = 0; at < notes.len_bytes; at += strlen(notes.data + at) + 1) {
		const char *device = notes.data + at, *dir = strchr(device, ' ');
		struct look l = look(dir ? dir + 1 : "");

		if (l.state == MOUNTPOINT_OURS && hv_starts_with(device, l.device) &&
		    device + strlen(l.device) == dir)
			fn(ctx, dir + 1);
	}
}

struct search {
	const char *dir;
	bool found;
};

static void compare(void *ctx, const char *dir)
{
	struct search *s = ctx;

	s->found |= strcmp(dir, s->dir) == 0;
}

bool mountpoint_is_noted(const char *session, const char *dir)
{
	struct search s = {.dir = dir};

	mountpoint_for_each_noted(session, compare, &s);
	return s.found;
}

struct hv_err *mountpoint_umount(const char *dir, enum mountpoint_how how)
{
	int flags = UMOUNT_NOFOLLOW | (how == MOUNTPOINT_LAZY ? MNT_DETACH : 0);

	if (mountpoint_look(dir) != MOUNTPOINT_OURS)
		return NULL;
	if (umount2(dir, flags) == 0 || errno == EINVAL)
		return NULL;
	if (errno == EBUSY)
		return hv_err_new(EBUSY, "%s: a process has a file open or works there", dir);
	return hv_err_new(errno, "%s: %s", dir, strerror(errno));
}

/* Whether the process that served the mount has ended. The kernel answers this itself, so the call
 * does not block. */
static bool is_dead(const char *dir)
{
	struct stat st;

	return stat(dir, &st) != 0 && errno == ENOTCONN;
}

struct dead {
	char *folder;
	char **dirs; /* owned */
	size_t nr;
};

static void note_dead(void *arg, const struct mount *m)
{
	struct dead *d = arg;
	size_t len = strlen(d->folder);

	if (!m->is_ours || strncmp(m->dir, d->folder, len) != 0 || m->dir[len] != '/' ||
	    !is_dead(m->dir))
		return;
	d->dirs = hv_realloc_array(d->dirs, d->nr + 1, sizeof(*d->dirs));
	d->dirs[d->nr++] = hv_strdup(m->dir);
}

void mountpoint_clear_dead(const char *run_dir)
{
	struct dead d = {.folder = folder_of(run_dir)};

	for_each_mount(note_dead, &d);
	for (size_t i = 0; i < d.nr; i++) {
		hv_err_free(mountpoint_umount(d.dirs[i], MOUNTPOINT_LAZY));
		mountpoint_remove(run_dir, d.dirs[i]);
		free(d.dirs[i]);
	}
	free(d.dirs);
	free(d.folder);
}

static bool is_empty(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *entry;
	bool empty = d != NULL;

	while (d && empty && (entry = readdir(d)))
		empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	if (d)
		closedir(d);
	return empty;
}

struct hv_err *mountpoint_check(const char *dir)
{
	enum mountpoint_state state;
	struct stat st;

	if (access(DEV_FUSE, R_OK | W_OK) != 0)
		return hv_err_new(ENOTSUP, "%s: %s (modprobe fuse?): " WITHOUT, DEV_FUSE,
				  strerror(errno));
	if (mountpoint_look(dir) == MOUNTPOINT_OURS && is_dead(dir)) {
		struct hv_err *err = mountpoint_umount(dir, MOUNTPOINT_LAZY);

		if (err)
			return err;
	}
	state = mountpoint_look(dir);
	if (state == MOUNTPOINT_OURS)
		return hv_err_new(EBUSY,
				  "%s: a guest's tree is mounted there: `hvtrace umount %s` first",
				  dir, dir);
	if (state != MOUNTPOINT_NONE)
		return hv_err_new(EBUSY, "%s: something is mounted there", dir);
	if (stat(dir, &st) != 0)
		return hv_err_new(errno, "%s: %s", dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return hv_err_new(ENOTDIR, "%s: is not a directory", dir);
	if (!is_empty(dir))
		return hv_err_new(ENOTEMPTY, "%s: not empty: a mount would hide its files", dir);
	return NULL;
}

struct hv_err *mountpoint_mount(const char *dir, int *ret_fd)
{
	HV_AUTO_FD int fd = open(DEV_FUSE, O_RDWR | O_CLOEXEC);
	char options[128];

	if (fd < 0)
		return hv_err_new(ENOTSUP, "%s: %s: " WITHOUT, DEV_FUSE, strerror(errno));
	/* Without allow_other, the kernel itself refuses all users except root. */
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40700,user_id=0,group_id=0,default_permissions", fd);
	if (mount(SOURCE, dir, TYPE, MS_NOSUID | MS_NODEV | MS_NOEXEC, options) != 0)
		return hv_err_new(errno == ENODEV ? ENOTSUP : errno, "%s: cannot be mounted on: %s",
				  dir, strerror(errno));
	*ret_fd = hv_take_fd(&fd);
	return NULL;
}
