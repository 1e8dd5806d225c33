/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace exec, hvtrace sh: run programs that see a guest's tracefs instead of the host's. */
#include <fcntl.h>
#include <limits.h>
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

#include "base/err.h"
#include "base/guard.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/mount/fusefs.h"
#include "cli/mount/mounter.h"
#include "cli/mountpoint.h"
#include "cli/verbs/verb.h"
#include "vmm/broker/channel.h"

#define ENTER_TRACING "/sys/kernel/tracing"

/* -- guard of mount(2) ------------------------------------------------------------------------- */

/* Intercepts mount(2) in programs that see a guest's tracefs, so that a mount of tracefs or debugfs
 * shows the guest's tree instead of the host's. A seccomp filter forwards each new mount to a root
 * process, the guard, which lives as long as any program under the filter. It leaves mounts of
 * other types, bind mounts, moves and remounts to the kernel. fsopen(2) of the two types fails with
 * EPERM. Root's programs can still leave the mount namespace in other ways, such as setns(2): the
 * guard only prevents accidental use of the host's tracing. */

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
struct caller_dirs {
	int mnt, root, cwd;
};

static int open_of(pid_t pid, const char *name, int flags)
{
	HV_AUTO_FREE char *path = hv_format("/proc/%d/%s", (int)pid, name);

	return open(path, flags | O_CLOEXEC);
}

/* Binds SOURCE over TARGET, both paths in the caller's namespace. Returns an errno. */
static int bind_there(const struct caller_dirs *p, const char *source, const char *target)
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
static const char *replacement(const struct guard *g, const char *name)
{
	return strcmp(name, "tracefs") == 0   ? g->tracing_dir
	       : strcmp(name, "debugfs") == 0 ? g->debug_dir
					      : NULL;
}

/* Performs a mount with SOURCE as replacement. Returns an errno. */
static int mount_stand_in(const struct seccomp_notif *call, int memory, const char *source)
{
	char target[PATH_BYTES];
	struct caller_dirs p;
	int status = 0;
	pid_t pid;

	if (!read_string(memory, call->data.args[1], target, sizeof(target)))
		return EFAULT;
	pid = fork();
	if (pid == 0) {
		p = (struct caller_dirs){open_of((pid_t)call->pid, "ns/mnt", O_RDONLY),
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
	source = replacement(g, name);
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
	return pid < 0 || status
		       ? hv_err_new(EAGAIN, "cannot start the process that answers mounts: %s",
				    strerror(EAGAIN))
		       : NULL;
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
		return hv_err_new(-code, "cannot install the filter that answers mounts: %s",
				  strerror(-code));
	errno = 0;
	/* libseccomp 2.5 returns EFAULT for all kernel errors. */
	if (seccomp_load(filter) != 0)
		return errno == EBUSY ? NULL
				      : hv_err_new(errno ? errno : EINVAL,
						   "cannot install the filter that answers mounts: "
						   "%s",
						   strerror(errno ? errno : EINVAL));
	*ret_fd = seccomp_notify_fd(filter);
	return NULL;
}

/* Puts this process and its children under a guard. DEBUG_DIR and TRACING_DIR replace debugfs and
 * tracefs in the mount namespace. Does nothing under an existing guard, which uses the directories
 * of the caller's namespace. Fails if this kernel has no such filters. */
static struct hv_err *start_guard(const char *tracing_dir, const char *debug_dir)
{
	struct guard g = {tracing_dir, debug_dir, -1};
	HV_AUTO_FD int notify_fd = -1;
	int sockets[2];
	struct hv_message m = {0};
	struct hv_err *err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
		return hv_err_new(errno, "cannot start the process that answers mounts: %s",
				  strerror(errno));
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

/* -- the namespace ----------------------------------------------------------------------------- */

/* Makes programs that know tracefs find a guest's: moves this process to a new mount namespace, in
 * which /sys/kernel/tracing and /sys/kernel/debug/tracing are the guest's tree, and the symbols,
 * the version and the number of CPUs in /proc and /sys are the guest's. The host's own tracing is
 * not reachable there, even if the tree's server has ended. Nothing outside the namespace changes.
 */

#define DEBUG	 "/sys/kernel/debug"
#define CPU	 "/sys/devices/system/cpu/"
#define SYSCTL	 "/proc/sys/kernel/stack_tracer_enabled"
#define SWITCH	 ENTER_TRACING "/stack_tracer_enabled"
#define TEXT_MAX (256u << 20) /* limit for a file of the guest's /proc */
#define FLAGS	 (MS_NOSUID | MS_NODEV | MS_NOEXEC)

/* Files that replace the host's. */
static const struct {
	const char *target;
	const char *proc; /* a file of client_open_proc(), or NULL */
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
	{SYSCTL, NULL, "0\n"}, /* for a guest whose tree has no such switch; see mount_switch() */
};

static struct hv_err *cannot(const char *what, const char *path)
{
	return hv_err_new(errno, "%s: cannot be %s: %s", path, what, strerror(errno));
}

static struct hv_err *get_proc(struct client *c, const char *name, struct hv_text *ret)
{
	struct hv_span data = {NULL, 1};
	uint32_t handle = 0;
	struct hv_err *err = client_open_proc(c, name, &handle);

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

static struct hv_err *mount_debug(void)
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

static struct hv_err *mount_files(struct client *c, const char *stage)
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
static struct hv_err *mount_tree(struct client *c, int outside_fd)
{
	int fuse_fd = -1;
	struct stat st;
	struct hv_err *err = mountpoint_mount(ENTER_TRACING, &fuse_fd);

	if (!err)
		err = mounter_serve_private(c, fuse_fd, ENTER_TRACING, outside_fd);
	if (!err && stat(ENTER_TRACING, &st) != 0)
		err = cannot("examined", ENTER_TRACING);
	return err;
}

/* Binds the switch of the guest's stack tracer over the host's sysctl. */
static struct hv_err *mount_switch(void)
{
	if (access(SYSCTL, F_OK) != 0 || access(SWITCH, F_OK) != 0)
		return NULL;
	return mount(SWITCH, SYSCTL, NULL, MS_BIND, NULL) == 0 ? NULL
							       : cannot("bound over", SYSCTL);
}

static struct hv_err *make_namespace(struct client *c, const char *stage, int outside_fd)
{
	struct hv_err *err = NULL;

	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return hv_err_new(errno, "cannot make a mount namespace: %s", strerror(errno));
	if (mount("tmpfs", stage, "tmpfs", FLAGS, "mode=755") != 0)
		return cannot("mounted on", stage);
	err = mount_files(c, stage);
	umount2(stage, MNT_DETACH);
	if (!err)
		err = mount_tree(c, outside_fd);
	if (!err)
		err = mount_switch();
	if (!err)
		err = mount_debug();
	return err ? err : start_guard(ENTER_TRACING, DEBUG);
}

/* Moves this process and its future children into the namespace. Creates a temporary directory in
 * RUN_DIR. On error the process must end. */
static struct hv_err *enter_guest(const char *run_dir, const char *spec, const char *libvirt_uri)
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
	err = make_namespace(&c, stage, outside_fd);
	rmdir(stage);
	return hv_err_in(err, "domain '%s'", spec);
}

/* -- the verbs -------------------------------------------------------------------------------- */

enum { EXIT_NOT_RUN = 126, EXIT_NOT_FOUND = 127 }; /* as in sh(1) */

static void name_guest(const char *spec)
{
	setenv("HVTRACE_DOMAIN", spec, 1);
}

/* Returns only on errors. */
static int become(const char *file, char **argv)
{
	int code;

	fflush(stdout);
	execvp(file, argv);
	code = errno;
	fprintf(stderr, "hvtrace: %s: %s\n", file, strerror(code));
	return code == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN;
}

static int run_exec(struct cli *cli, int argc, char **argv)
{
	const char *spec;
	struct hv_err *err;
	int exit_code;

	if (verb_option(cli, argc, argv, "", NULL, &exit_code) == VERB_OPTION_STOP)
		return exit_code;
	spec = argv[optind];
	if (optind < argc && optind + 1 < argc && strcmp(argv[optind + 1], "--") == 0)
		optind++;
	if (!verb_operands(cli, argc, argv, 2, argc, &exit_code))
		return exit_code;
	if (!have_root(cli))
		return EXIT_FAILED;
	err = enter_guest(cli->run_dir, spec, cli->libvirt_uri);
	if (err)
		return fail(err);
	name_guest(spec);
	return become(argv[optind + 1], argv + optind + 1);
}

static const char exec_help[] =
	"COMMAND and its child processes find the guest's tree in /sys/kernel/tracing and\n"
	"/sys/kernel/debug/tracing, and the guest's /proc/kallsyms, /proc/version and number of\n"
	"CPUs. They cannot reach the host's own tracing. The domain must be attached. The exit\n"
	"status is COMMAND's. Options come before DOMAIN. The environment variable\n"
	"HVTRACE_DOMAIN is DOMAIN.\n\n"
	"  hvtrace exec web1 trace-cmd record -p function -l 'vfs_*' sleep 2\n";

const struct verb verb_exec = {
	.name = "exec",
	.args = "DOMAIN [--] COMMAND [ARGS...]",
	.summary = "Run a program with a guest's tree as its tracefs",
	.help = exec_help,
	.options_end_after = 1,
	.run = run_exec,
};

static int run_sh(struct cli *cli, int argc, char **argv)
{
	char *words[] = {(char *)"sh", NULL, NULL, NULL};
	HV_AUTO_FD int dir = -1;
	struct hv_err *err;
	int exit_code;
	int c;

	/* -c after the domain is an option of the shell. */
	if ((c = verb_option(cli, argc, argv, "", NULL, &exit_code)) == VERB_OPTION_STOP)
		return exit_code;
	if (argc - optind >= 2 && strcmp(argv[optind + 1], "-c") == 0) {
		if (argc - optind == 2)
			return usage_error(cli, "option '-c' needs a value");
		words[1] = argv[optind + 1];
		words[2] = argv[optind + 2];
	}
	if (!verb_operands(cli, argc, argv, 1, words[1] ? 3 : 1, &exit_code))
		return exit_code;
	if (!have_root(cli))
		return EXIT_FAILED;
	err = enter_guest(cli->run_dir, argv[optind], cli->libvirt_uri);
	if (err)
		return fail(err);
	dir = open(ENTER_TRACING, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || fchdir(dir) != 0)
		return fail(cannot("entered", ENTER_TRACING));
	name_guest(argv[optind]);
	/* The shell expands the variable, but not its value again. */
	setenv("PS1", "${HVTRACE_DOMAIN}# ", 1);
	return become("/bin/sh", words);
}

static const char sh_help[] =
	"Runs /bin/sh as `hvtrace exec` would, in /sys/kernel/tracing. Options come before\n"
	"DOMAIN, except -c SCRIPT, which the shell takes.\n\n"
	"  hvtrace sh web1 -c 'echo \"vfs_*\" >set_ftrace_filter; cat trace'\n";

const struct verb verb_sh = {
	.name = "sh",
	.args = "DOMAIN [-c SCRIPT]",
	.summary = "Run a shell in a guest's tracefs tree",
	.help = sh_help,
	.options_end_after = 1,
	.run = run_sh,
};
