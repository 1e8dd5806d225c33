/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/mount/enter.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "cli/mount/fusefs.h"
#include "cli/mount/mount_guard.h"
#include "cli/mount/mounter.h"
#include "cli/mountpoint.h"

#define DEBUG	 "/sys/kernel/debug"
#define CPU	 "/sys/devices/system/cpu/"
#define SYSCTL	 "/proc/sys/kernel/stack_tracer_enabled"
#define SWITCH	 ENTER_TRACING "/stack_tracer_enabled"
#define TEXT_MAX (256u << 20) /* limit for a file of the guest's /proc */
#define FLAGS	 (MS_NOSUID | MS_NODEV | MS_NOEXEC)

/* Files that replace the host's. */
static const struct {
	const char *target;
	const char *proc; /* a file of WIRE_OPEN_PROC, or NULL */
	const char *text; /* otherwise: a constant text. Programs write to these files, and must not
			     change the host's. */
} overlays[] = {
	{"/proc/kallsyms", "kallsyms", NULL},
	{"/proc/version", "version", NULL},
	{"/proc/modules", "modules", NULL},
	{CPU "possible", "cpus", NULL},
	{CPU "present", "cpus", NULL},
	{CPU "online", "cpus", NULL},
	{"/proc/sys/kernel/kptr_restrict", NULL, "0\n"},
	{"/proc/sys/kernel/ftrace_enabled", NULL, "1\n"},
	{"/proc/sys/kernel/ftrace_dump_on_oops", NULL, "0\n"},
	{SYSCTL, NULL, "0\n"}, /* for a guest whose tree has no such switch; see place_switch() */
};

static struct hv_err *cannot(const char *what, const char *path)
{
	return hv_err_new(errno, "%s: cannot be %s: %s", path, what, strerror(errno));
}

static struct hv_err *get_proc(struct client *c, const char *name, struct hv_text *ret)
{
	struct wire_frame answer;
	struct hv_span data = {NULL, 1};
	struct hv_err *err =
		client_call(c,
			    &(struct wire_frame){.kind = WIRE_OPEN_PROC,
						 .data = {(const uint8_t *)name, strlen(name)}},
			    &answer);
	uint32_t handle = answer.handle;

	while (!err && data.len_bytes && ret->len_bytes < TEXT_MAX) {
		err = client_read(c, handle, 0, &data);
		if (!err && data.len_bytes)
			hv_text_add_bytes(ret, data.data, data.len_bytes);
	}
	return err ? err : client_close_file(c, handle);
}

static struct hv_err *write_file(const char *path, const struct hv_text *text)
{
	FILE *f = fopen(path, "we");
	bool failed = !f || (text->len_bytes &&
			     fwrite(text->data, 1, text->len_bytes, f) != text->len_bytes);

	failed |= f && fclose(f) != 0;
	return failed ? cannot("written", path) : NULL;
}

/* Binds one file of STAGE over TARGET. A host without TARGET has nothing to hide. */
static struct hv_err *overlay(struct client *c, const char *stage, size_t index)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	HV_AUTO_TEXT struct hv_text path = {0};
	const char *target = overlays[index].target;
	struct hv_err *err = NULL;

	if (access(target, F_OK) != 0)
		return NULL;
	hv_text_printf(&path, "%s/%zu", stage, index);
	if (overlays[index].proc)
		err = get_proc(c, overlays[index].proc, &text);
	else
		hv_text_add(&text, overlays[index].text);
	if (!err)
		err = write_file(path.data, &text);
	if (!err && mount(path.data, target, NULL, MS_BIND, NULL) != 0)
		err = cannot("bound over", target);
	return err;
}

/* Finds the last mount of the host's tracefs or debugfs outside STAGE; TYPE NULL: of either type.
 * Returns false if there is no such mount. */
static bool last_mount(const char *type, const char *stage, char *ret, size_t len_bytes)
{
	char dir[PATH_MAX], its_type[32];
	FILE *f = fopen("/proc/self/mounts", "re");
	size_t stage_len = strlen(stage);
	bool found = false;

	while (f && fscanf(f, "%*s %4095s %31s %*[^\n]", dir, its_type) == 2) {
		bool fits =
			type ? strcmp(its_type, type) == 0
			     : strcmp(its_type, "tracefs") == 0 || strcmp(its_type, "debugfs") == 0;

		if (fits && (strncmp(dir, stage, stage_len) != 0 || dir[stage_len] != '/'))
			found = (size_t)snprintf(ret, len_bytes, "%s", dir) < len_bytes;
	}
	if (f)
		fclose(f);
	return found;
}

static struct hv_err *drop_host_tracing(const char *stage)
{
	char dir[PATH_MAX];

	while (last_mount(NULL, stage, dir, sizeof(dir)))
		if (umount2(dir, MNT_DETACH | UMOUNT_NOFOLLOW) != 0)
			return cannot("unmounted", dir);
	return NULL;
}

/* Programs search /proc/mounts for a file system of this type and use its directory, so a mount of
 * that type must stay there, with the guest's tree mounted over it. */
struct stand_in {
	const char *type;
	const char *dir;	 /* its usual mount point */
	const char *harmless[2]; /* directories of the host's file system without any controls */
	const char *name;	 /* in the stage */
};
static const struct stand_in stand_ins[] = {
	{"tracefs", ENTER_TRACING, {"events/ftrace", "options"}, "tracefs"},
	{"debugfs", DEBUG, {"extfrag", "bdi"}, "debugfs"},
};

/* Binds a harmless directory of the host's file system over AT, read-only. Does nothing on a kernel
 * without the file system; such programs then do not find the tree. The host has a single instance
 * of it, and another mount could change its options, so this mounts the file system only if it is
 * not mounted at all. */
static void bind_stand_in(const struct stand_in *s, const char *stage, const char *at)
{
	char from[PATH_MAX];

	if (!last_mount(s->type, stage, from, sizeof(from))) {
		strcpy(from, s->dir);
		if (mount(s->type, from, s->type, FLAGS, NULL) != 0)
			return;
	}
	for (size_t i = 0; i < HV_ARRAY_LEN(s->harmless); i++) {
		HV_AUTO_FREE char *dir = rundir_path(from, s->harmless[i]);

		if (mount(dir, at, NULL, MS_BIND, NULL) != 0)
			continue;
		mount(NULL, at, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | FLAGS, NULL);
		return;
	}
}

static struct hv_err *replace_host_tracing(const char *stage)
{
	struct hv_err *err;

	for (size_t i = 0; i < HV_ARRAY_LEN(stand_ins); i++) {
		HV_AUTO_FREE char *at = rundir_path(stage, stand_ins[i].name);

		if (mkdir(at, 0700) != 0)
			return cannot("made", at);
		bind_stand_in(&stand_ins[i], stage, at);
	}
	err = drop_host_tracing(stage);
	for (size_t i = 0; !err && i < HV_ARRAY_LEN(stand_ins); i++) {
		HV_AUTO_FREE char *at = rundir_path(stage, stand_ins[i].name);

		/* Fails harmlessly if no directory was bound. */
		mount(at, stand_ins[i].dir, NULL, MS_MOVE, NULL);
	}
	return err;
}

static struct hv_err *place_debug(void)
{
	if (access(DEBUG, F_OK) != 0)
		return NULL;
	if (mount("tmpfs", DEBUG, "tmpfs", FLAGS, "mode=700") != 0)
		return cannot("mounted on", DEBUG);
	if (mkdir(DEBUG "/tracing", 0700) != 0)
		return cannot("made", DEBUG "/tracing");
	if (mount(ENTER_TRACING, DEBUG "/tracing", NULL, MS_BIND, NULL) != 0)
		return cannot("bound over", DEBUG "/tracing");
	return NULL;
}

static struct hv_err *place_files(struct client *c, const char *stage)
{
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < HV_ARRAY_LEN(overlays); i++)
		err = overlay(c, stage, i);
	if (!err && access(ENTER_TRACING, F_OK) != 0)
		err = hv_err_new(ENOENT, ENTER_TRACING ": this kernel has no such directory");
	return err ? err : replace_host_tracing(stage);
}

/* Mounts the tree in the new namespace. The process that serves it must not keep that namespace
 * alive, so it moves to the namespace OUTSIDE_FD, and the mount ends with the last program
 * inside. */
static struct hv_err *place_tree(struct client *c, int outside_fd)
{
	int fuse_fd = -1;
	struct stat st;
	struct hv_err *err = mountpoint_mount(ENTER_TRACING, &fuse_fd);

	if (!err)
		err = mounter_serve_private(c, fuse_fd, outside_fd);
	if (!err && stat(ENTER_TRACING, &st) != 0)
		err = cannot("looked into", ENTER_TRACING);
	return err;
}

/* Binds the switch of the guest's stack tracer over the host's sysctl. */
static struct hv_err *place_switch(void)
{
	if (access(SYSCTL, F_OK) != 0 || access(SWITCH, F_OK) != 0)
		return NULL;
	return mount(SWITCH, SYSCTL, NULL, MS_BIND, NULL) == 0 ? NULL
							       : cannot("bound over", SYSCTL);
}

static struct hv_err *make_place(struct client *c, const char *stage, int outside_fd)
{
	struct hv_err *err = NULL;

	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return hv_err_new(errno, "mount namespace: %s", strerror(errno));
	if (mount("tmpfs", stage, "tmpfs", FLAGS, "mode=755") != 0)
		return cannot("mounted on", stage);
	err = place_files(c, stage);
	umount2(stage, MNT_DETACH);
	if (!err)
		err = place_tree(c, outside_fd);
	if (!err)
		err = place_switch();
	if (!err)
		err = place_debug();
	return err ? err : mount_guard_start(ENTER_TRACING, DEBUG);
}

struct hv_err *enter_guest(const char *run_dir, const char *spec, const char *libvirt_uri)
{
	HV_AUTO_FD int outside_fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	AUTO_CLIENT struct client c = CLIENT_NONE;
	HV_AUTO_FREE char *stage = rundir_path(run_dir, ".enter-XXXXXX");
	struct hv_err *err = fusefs_available();

	if (!err)
		err = client_connect(run_dir, spec, libvirt_uri, &c);
	if (err)
		return err;
	if (outside_fd < 0)
		return cannot("opened", "/proc/self/ns/mnt");
	if (!mkdtemp(stage))
		return cannot("made", stage);
	err = make_place(&c, stage, outside_fd);
	rmdir(stage);
	return hv_err_in(err, "domain '%s'", spec);
}
