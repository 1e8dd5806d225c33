/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/mount/inspector.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/capabilities.h"
#include "base/err.h"
#include "base/prefix.h"
#include "base/text.h"

#define PF_EXITING  0x00000004ul
#define PF_KTHREAD  0x00200000ul
#define FIELD_STATE 3 /* fields of /proc/PID/stat, counted from 1 (proc(5)) */
#define FIELD_FLAGS 9
#define FIELD_EXIT  52
#define TAIL_MAX    512
#define SOCKET_FD   3

static dev_t mount_device; /* in the inspector: the device number of its mount */

static bool read_small(pid_t pid, const char *file, char *buf, size_t len_bytes)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, buf, len_bytes - 1);
	close(fd);
	buf[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* Parses a field after the name, which may contain blanks and parentheses. */
static bool stat_field(const char *stat, unsigned field, unsigned long *ret)
{
	const char *at = strrchr(stat, ')');

	for (unsigned i = FIELD_STATE - 1; at && i < field; i++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, "%lu", ret) == 1;
}

static enum closer_state look(pid_t pid)
{
	unsigned long flags = 0, exit_code = 0;
	char stat[1024];
	const char *name_end;
	bool is_dead;

	if (pid <= 0 || !read_small(pid, "stat", stat, sizeof(stat)))
		return CLOSER_UNKNOWN;
	name_end = strrchr(stat, ')');
	if (!name_end || !stat_field(stat, FIELD_FLAGS, &flags) || (flags & PF_KTHREAD))
		return CLOSER_UNKNOWN;
	is_dead = strlen(name_end) > 2 && strchr("ZX", name_end[2]);
	if (!is_dead && !(flags & PF_EXITING))
		return CLOSER_LIVES;
	if (!stat_field(stat, FIELD_EXIT, &exit_code))
		return CLOSER_UNKNOWN;
	return exit_code & 0x7f ? CLOSER_KILLED : CLOSER_EXITS;
}

/* Returns the process of a thread; PID itself if it has ended. */
static pid_t process_of(pid_t pid)
{
	char status[4096];
	const char *at;
	int tgid;

	if (!read_small(pid, "status", status, sizeof(status)))
		return pid;
	at = strstr(status, "\nTgid:");
	return at && sscanf(at, "\nTgid: %d", &tgid) == 1 ? tgid : pid;
}

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* Whether a file is of the mount. Sends no request to the process that serves the file. */
static bool is_of_mount(int dir_fd, const char *name, int flags)
{
	struct statx st;

	return statx(dir_fd, name, flags | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, 0, &st) == 0 &&
	       makedev(st.stx_dev_major, st.stx_dev_minor) == mount_device;
}

/* Calls FN for each descriptor of PID for a file of the mount whose path ends with TAIL. Returns
 * their number. */
static unsigned for_each_open(pid_t pid, const char *tail, void (*fn)(pid_t pid, int fd))
{
	char name[64], to[PATH_MAX];
	hv_cleanup(close_dir) DIR *dir = NULL;
	const struct dirent *entry;
	unsigned nr = 0;
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/%d/fd", (int)pid);
	dir = opendir(name);
	while (dir && (entry = readdir(dir))) {
		n = readlinkat(dirfd(dir), entry->d_name, to, sizeof(to) - 1);
		if (n <= 0)
			continue;
		to[n] = '\0';
		if (!hv_ends_with(to, tail) || !is_of_mount(dirfd(dir), entry->d_name, 0))
			continue;
		nr++;
		if (fn)
			fn(pid, atoi(entry->d_name));
	}
	return nr;
}

static void make_direct(pid_t pid, int fd)
{
	HV_AUTO_FD int process = (int)syscall(SYS_pidfd_open, pid, 0);
	HV_AUTO_FD int file = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, fd, 0);

	/* The descriptor may have changed since it was examined. */
	if (file >= 0 && is_of_mount(file, "", AT_EMPTY_PATH))
		fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_DIRECT);
}

bool thread_is_gone(pid_t pid)
{
	return pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;
}

/* The inspector. */

struct question {
	uint64_t id;
	enum inspector_job job;
	pid_t pid;
	char tail[TAIL_MAX];
};

static struct inspector_view answer_to(const struct question *q)
{
	struct inspector_view view = {.id = q->id, .state = CLOSER_UNKNOWN};

	switch (q->job) {
	case INSPECTOR_LOOK:
		view.state = look(q->pid);
		view.has_open =
			view.state == CLOSER_LIVES && for_each_open(q->pid, q->tail, NULL) > 0;
		break;
	case INSPECTOR_MAKE_DIRECT:
		view.has_open = for_each_open(process_of(q->pid), q->tail, make_direct) > 0;
		break;
	case INSPECTOR_NOTHING:
		break;
	}
	return view;
}

static void look_for_others(int fd)
{
	struct question q;

	while (recv(fd, &q, sizeof(q), 0) == sizeof(q)) {
		struct inspector_view view;

		q.tail[TAIL_MAX - 1] = '\0';
		view = answer_to(&q);
		if (send(fd, &view, sizeof(view), MSG_NOSIGNAL) != sizeof(view))
			return;
	}
}

static _Noreturn void become(int fd, dev_t device)
{
	HV_AUTO_ERR struct hv_err *err = hv_capabilities_keep(INSPECTOR_NEEDS);

	prctl(PR_SET_NAME, "hvtrace:inspect");
	mount_device = device;
	if (fd != SOCKET_FD)
		dup3(fd, SOCKET_FD, O_CLOEXEC);
	close_range(SOCKET_FD + 1, ~0u, 0);
	if (!err)
		look_for_others(SOCKET_FD);
	_exit(err != NULL);
}

/* In the helper. */

pid_t inspector_fork(dev_t device, int *ret_fd)
{
	int fds[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
		return -1;
	pid = fork();
	if (pid == 0)
		become(fds[1], device);
	close(fds[1]);
	if (pid < 0)
		close(fds[0]);
	else
		*ret_fd = fds[0];
	return pid;
}

bool inspector_runs(pid_t pid)
{
	char stat[1024];
	const char *name_end;

	if (pid <= 0 || !read_small(pid, "stat", stat, sizeof(stat)))
		return false;
	name_end = strrchr(stat, ')');
	return name_end && hv_starts_with(name_end, ") R");
}

/* In the server. */

bool inspector_has_ended(const struct inspector *h)
{
	struct pollfd fd = {h->pidfd, POLLIN, 0};

	return h->pid <= 0 || h->pidfd < 0 || poll(&fd, 1, 0) != 0;
}

void inspector_close(struct inspector *h)
{
	hv_close_at(&h->fd);
	hv_close_at(&h->pidfd);
	*h = INSPECTOR_NONE;
}

bool inspector_ask(const struct inspector *h, enum inspector_job job, uint64_t id, pid_t pid,
		   const char *tail)
{
	struct question q = {.id = id, .job = job, .pid = pid};

	if ((size_t)snprintf(q.tail, sizeof(q.tail), "%s", tail) >= sizeof(q.tail))
		return false;
	return send(h->fd, &q, sizeof(q), MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(q);
}

bool inspector_has_answered(const struct inspector *h)
{
	char peek;

	return recv(h->fd, &peek, 1, MSG_DONTWAIT | MSG_PEEK) > 0;
}

bool inspector_answer(const struct inspector *h, struct inspector_view *ret)
{
	return recv(h->fd, ret, sizeof(*ret), MSG_DONTWAIT) == sizeof(*ret);
}
