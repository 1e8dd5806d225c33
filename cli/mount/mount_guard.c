/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/mount/mount_guard.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/text.h"
#include "vmm/warden/channel.h"

#define NAME_MAX_BYTES 16 /* longer than the names of the two file system types */
#define PATH_BYTES     4096
#define X32_BIT	       0x40000000 /* set in system call numbers of the x32 ABI */
/* With any of these flags, mount(2) creates no new file system instance. */
#define NOT_NEW	       (MS_REMOUNT | MS_BIND | MS_MOVE | MS_SHARED | MS_PRIVATE | MS_SLAVE | MS_UNBINDABLE)

enum { FD_NULL_END = 3, FD_SOCKET = 3, FD_END };

struct guard {
	const char *tracing_dir, *debug_dir;
	int notify_fd;
};

/* -- in the process that answers one call ----------------------------------------------------- */

/* The caller's directories, opened before this process enters the caller's namespaces. */
struct place {
	int mnt, root, cwd;
};

static int open_of(pid_t pid, const char *name, int flags)
{
	HV_AUTO_FREE char *path = hv_format("/proc/%d/%s", (int)pid, name);

	return open(path, flags | O_CLOEXEC);
}

/* Binds SOURCE over TARGET, both paths in the caller's namespace. Returns an errno. */
static int bind_there(const struct place *p, const char *source, const char *target)
{
	int tree;

	if (p->mnt < 0 || p->root < 0 || p->cwd < 0)
		return ESRCH;
	if (setns(p->mnt, CLONE_NEWNS) != 0)
		return errno;
	tree = open_tree(AT_FDCWD, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (tree < 0 || fchdir(p->root) != 0 || chroot(".") != 0 || fchdir(p->cwd) != 0 ||
	    move_mount(tree, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) != 0)
		return errno;
	return 0;
}

/* -- in the guard ----------------------------------------------------------------------------- */

/* Copies the string at ADDRESS of the memory FD, at most MAX - 1 bytes. */
static bool read_string(int fd, uint64_t address, char *ret, size_t max)
{
	ssize_t len = pread(fd, ret, max, (off_t)address);

	return len > 0 && memchr(ret, '\0', (size_t)len);
}

static bool has_cap_sys_admin(pid_t pid)
{
	HV_AUTO_FREE char *path = hv_format("/proc/%d/status", (int)pid);
	unsigned long long caps = 0;
	char line[256];
	FILE *f = fopen(path, "re");

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "CapEff: %llx", &caps);
	if (f)
		fclose(f);
	return caps >> CAP_SYS_ADMIN & 1;
}

static bool is_in_our_user_ns(pid_t pid)
{
	HV_AUTO_FREE char *path = hv_format("/proc/%d/ns/user", (int)pid);
	struct stat theirs, ours;

	return stat(path, &theirs) == 0 && stat("/proc/self/ns/user", &ours) == 0 &&
	       theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev;
}

/* Whether the kernel would let PID mount; the guard does not extend its rights. */
static bool may_mount(pid_t pid)
{
	return has_cap_sys_admin(pid) && is_in_our_user_ns(pid);
}

/* Returns the directory that replaces the file system type NAME. NULL: the kernel mounts it. */
static const char *stand_in(const struct guard *g, const char *name)
{
	return strcmp(name, "tracefs") == 0   ? g->tracing_dir
	       : strcmp(name, "debugfs") == 0 ? g->debug_dir
					      : NULL;
}

/* Performs a mount with SOURCE as replacement. Returns an errno. */
static int mount_stand_in(const struct seccomp_notif *call, int memory, const char *source)
{
	char target[PATH_BYTES];
	struct place p;
	int status = 0;
	pid_t pid;

	if (!read_string(memory, call->data.args[1], target, sizeof(target)))
		return EFAULT;
	pid = fork();
	if (pid == 0) {
		p = (struct place){open_of((pid_t)call->pid, "ns/mnt", O_RDONLY),
				   open_of((pid_t)call->pid, "root", O_PATH),
				   open_of((pid_t)call->pid, "cwd", O_PATH)};
		_exit(bind_there(&p, source, target));
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid < 0 || !WIFEXITED(status) ? EAGAIN : WEXITSTATUS(status);
}

static void answer(const struct guard *g, const struct seccomp_notif *call,
		   struct seccomp_notif_resp *ret)
{
	HV_AUTO_FD int memory = open_of((pid_t)call->pid, "mem", O_RDONLY);
	bool is_mount = (call->data.nr & ~X32_BIT) != SCMP_SYS(fsopen);
	bool may = may_mount((pid_t)call->pid);
	char name[NAME_MAX_BYTES];
	const char *source;

	ret->id = call->id;
	ret->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	/* If the caller no longer waits, its PID may have been reused and this data may be another
	 * process's. */
	if (memory < 0 || !may || seccomp_notify_id_valid(g->notify_fd, call->id) != 0)
		return;
	if (!read_string(memory, call->data.args[is_mount ? 2 : 0], name, sizeof(name)))
		return;
	source = stand_in(g, name);
	if (!source)
		return;
	ret->flags = 0;
	ret->error = is_mount ? -mount_stand_in(call, memory, source) : -EPERM;
}

static void serve(const struct guard *g)
{
	struct seccomp_notif *call = NULL;
	struct seccomp_notif_resp *reply = NULL;
	struct pollfd fd = {g->notify_fd, POLLIN, 0};

	if (seccomp_notify_alloc(&call, &reply) != 0)
		return;
	/* Without POLLIN, all programs under the filter have ended. */
	while (poll(&fd, 1, -1) > 0 && fd.revents & POLLIN) {
		memset(call, 0, sizeof(*call));
		memset(reply, 0, sizeof(*reply));
		if (seccomp_notify_receive(g->notify_fd, call) != 0)
			continue;
		answer(g, call, reply);
		seccomp_notify_respond(g->notify_fd, reply);
	}
	seccomp_notify_free(call, reply);
}

static void keep_only(int socket)
{
	int kept = fcntl(socket, F_DUPFD, 10);
	int null = open("/dev/null", O_RDWR);

	if (kept < 0 || null < 0)
		_exit(1);
	for (int fd = 0; fd < FD_NULL_END; fd++)
		dup2(null, fd);
	dup3(kept, FD_SOCKET, O_CLOEXEC);
	close_range(FD_END, ~0u, 0);
}

static _Noreturn void run(struct guard *g, int socket)
{
	struct hv_message m = {0};

	keep_only(socket);
	if (chdir("/") != 0)
		_exit(1);
	prctl(PR_SET_NAME, "hvtrace:guard");
	if (hv_channel_receive(FD_SOCKET, &m) || m.nr_fds != 1)
		_exit(1);
	close(FD_SOCKET);
	g->notify_fd = m.fds[0];
	serve(g);
	_exit(0);
}

/* -- in the process that gets the filter ------------------------------------------------------ */

/* Forks a grandchild, so that no program finds a child that it did not start. */
static struct hv_err *fork_guard(struct guard *g, const int sockets[2])
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		close(sockets[0]);
		setsid();
		pid = fork();
		if (pid == 0)
			run(g, sockets[1]);
		_exit(pid < 0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid < 0 || status ? hv_err_new(EAGAIN, "fork: no process to answer mounts") : NULL;
}

static void filter_release_at(scmp_filter_ctx *filter)
{
	if (*filter)
		seccomp_release(*filter);
}

/* 32-bit programs make these calls with other numbers. */
static int add_other_abis(scmp_filter_ctx filter)
{
	switch (seccomp_arch_native()) {
	case SCMP_ARCH_X86_64:
		return seccomp_arch_add(filter, SCMP_ARCH_X86) |
		       seccomp_arch_add(filter, SCMP_ARCH_X32);
	case SCMP_ARCH_AARCH64:
		return seccomp_arch_add(filter, SCMP_ARCH_ARM);
	default:
		return 0;
	}
}

/* *RET_FD -1: a guard exists already; the kernel permits one per program. */
static struct hv_err *load_filter(int *ret_fd)
{
	hv_cleanup(filter_release_at) scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int code = filter ? 0 : -ENOMEM;

	if (!code)
		code = seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0);
	if (!code)
		code = add_other_abis(filter);
	if (!code)
		code = seccomp_rule_add(filter, SCMP_ACT_NOTIFY, SCMP_SYS(mount), 1,
					SCMP_A3_64(SCMP_CMP_MASKED_EQ, NOT_NEW, 0));
	if (!code)
		code = seccomp_rule_add(filter, SCMP_ACT_NOTIFY, SCMP_SYS(fsopen), 0);
	if (code)
		return hv_err_new(-code, "the filter that answers mounts: %s", strerror(-code));
	errno = 0;
	/* libseccomp 2.5 returns EFAULT for all kernel errors. */
	if (seccomp_load(filter) != 0)
		return errno == EBUSY ? NULL
				      : hv_err_new(errno ? errno : EINVAL,
						   "the filter that answers mounts: %s",
						   strerror(errno ? errno : EINVAL));
	*ret_fd = seccomp_notify_fd(filter);
	return NULL;
}

struct hv_err *mount_guard_start(const char *tracing_dir, const char *debug_dir)
{
	struct guard g = {tracing_dir, debug_dir, -1};
	HV_AUTO_FD int notify_fd = -1;
	int sockets[2];
	struct hv_message m = {0};
	struct hv_err *err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
		return hv_err_new(errno, "socketpair: %s", strerror(errno));
	err = fork_guard(&g, sockets);
	close(sockets[1]);
	if (!err)
		err = load_filter(&notify_fd);
	if (!err && notify_fd >= 0) {
		m.fds[m.nr_fds++] = notify_fd;
		err = hv_channel_send(sockets[0], &m);
	}
	close(sockets[0]);
	return err;
}
