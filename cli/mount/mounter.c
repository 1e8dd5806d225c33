/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/mount/mounter.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cli/mount/fusefs.h"
#include "cli/mount/link.h"
#include "cli/mount/mount_errands.h"
#include "cli/mountpoint.h"
#include "cli/stop_signals.h"

enum { FD_NULL_END = 3, FD_LINK = 3, FD_FUSE, FD_END };

struct job {
	int link_fd;
	int fuse_fd;
	int outside_fd; /* mount namespace to serve from; -1: the current one */
	struct mounted mounted;
};

/* Closes all other files of the caller. */
static void keep_only(int link_fd, int fuse_fd)
{
	int kept_link = fcntl(link_fd, F_DUPFD, 10);
	int kept_fuse = fcntl(fuse_fd, F_DUPFD, 10);
	int null = open("/dev/null", O_RDWR);

	if (kept_link < 0 || kept_fuse < 0 || null < 0)
		_exit(1);
	for (int fd = 0; fd < FD_NULL_END; fd++)
		dup2(null, fd);
	dup3(kept_link, FD_LINK, O_CLOEXEC);
	dup3(kept_fuse, FD_FUSE, O_CLOEXEC);
	close_range(FD_END, ~0u, 0);
}

static void serve(const struct job *job)
{
	struct link *l;

	if (job->outside_fd >= 0 && setns(job->outside_fd, CLONE_NEWNS) != 0)
		_exit(1);
	keep_only(job->link_fd, job->fuse_fd);
	if (chdir("/") != 0)
		_exit(1);
	prctl(PR_SET_NAME, "hvtrace:mount");
	l = link_new(FD_LINK);
	fusefs_serve(FD_FUSE, l, stop_signals_fd(), &job->mounted);
	link_free(l);
}

/* Forks a grandchild in a separate session, which no process waits for. */
static struct hv_err *fork_server(const struct job *job)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		setsid();
		pid = fork();
		if (pid == 0)
			serve(job);
		_exit(pid < 0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0 || status)
		return hv_err_new(
			EAGAIN,
			"cannot start the process that serves the mount: fork failed; try again");
	return NULL;
}

struct hv_err *mounter_serve_private(struct client *c, int fuse_fd, const char *at, int outside_fd)
{
	struct job job = {client_fd(c), fuse_fd, outside_fd, {NULL, NULL, 0}};
	struct hv_err *err;

	mountpoint_device(at, &job.mounted.device);
	err = fork_server(&job);
	close(fuse_fd);
	client_close(c);
	return err;
}

/* Mounts C's tree at DIR, an absolute path that mountpoint_check accepted. Takes the connection.
 * Returns when the tree is accessible. */
static struct hv_err *start(struct client *c, const char *run_dir, const char *dir)
{
	struct job job = {client_fd(c), -1, -1, {run_dir, dir, 0}};
	HV_AUTO_FD int fuse_fd = -1;
	struct stat st;
	int code = 0;
	struct hv_err *err = client_mounted(c, dir);

	if (!err)
		err = mountpoint_mount(dir, &fuse_fd);
	if (!err)
		err = mountpoint_note(c->info.path, dir);
	job.fuse_fd = fuse_fd;
	mountpoint_device(dir, &job.mounted.device);
	if (!err)
		err = fork_server(&job);
	if (err) {
		hv_err_free(mountpoint_umount(dir, MOUNTPOINT_LAZY));
		client_close(c);
		return err;
	}
	/* Only the server keeps the device open, so that users get errors when it dies. */
	hv_close_at(&fuse_fd);
	fuse_fd = -1;
	client_close(c);
	if (stat(dir, &st) != 0)
		code = errno;
	else if (mountpoint_look(dir) != MOUNTPOINT_OURS)
		code = ENOTCONN; /* the server died, and the service has unmounted it already */
	if (code) {
		hv_err_free(mountpoint_umount(dir, MOUNTPOINT_LAZY));
		return hv_err_new(code, "%s: mounted, but not served: %s", dir, strerror(code));
	}
	return NULL;
}

static struct hv_err *default_dir(const struct client *c, const char *run_dir, char **ret)
{
	*ret = mountpoint_default(run_dir, c->info.name, c->info.id);
	return mountpoint_make(run_dir, *ret);
}

static struct hv_err *given_dir(const char *dir, char **ret)
{
	*ret = realpath(dir, NULL);
	/* A dead mount cannot be resolved, but its directory can. */
	if (!*ret && errno == ENOTCONN)
		*ret = hv_strdup(dir);
	if (!*ret)
		return hv_err_new(errno, "%s: %s", dir, strerror(errno));
	return NULL;
}

struct hv_err *mounter_mount(const char *run_dir, const char *spec, const char *libvirt_uri,
			     const char *dir, char **ret_dir)
{
	AUTO_CLIENT struct client c = CLIENT_NONE;
	HV_AUTO_FREE char *at = NULL;
	struct hv_err *err = fusefs_available();

	if (!err)
		err = client_connect(run_dir, spec, libvirt_uri, &c);
	if (err)
		return err;
	mountpoint_clear_dead(run_dir);
	err = dir ? given_dir(dir, &at) : default_dir(&c, run_dir, &at);
	if (!err)
		err = mountpoint_check(at);
	if (!err)
		err = start(&c, run_dir, at);
	if (err && !dir && at && err->code != EBUSY)
		mountpoint_remove(run_dir, at);
	if (err)
		return err;
	*ret_dir = hv_take(at);
	return NULL;
}
