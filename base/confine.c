/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/confine.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/capabilities.h"
#include "base/guard.h"

#define USER   "hvtrace"
#define NOBODY 65534

#define EMPTY_ROOT "/proc" /* an existing directory; an empty file system is mounted over it */
#define FILES	   "/files"

static struct hv_err *failed(const char *what)
{
	return hv_err_new(errno, "cannot drop privileges: %s: %s", what, strerror(errno));
}

/* -- user and root directory ------------------------------------------------------------------- */

/* Makes the capabilities needed to change the file system user effective again. */
static bool raise_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = {0};
	uint32_t wanted = HV_CAP(SETUID) | HV_CAP(SETGID);

	if (syscall(SYS_capget, &header, caps) != 0)
		return false;
	caps[0].effective = caps[0].permitted & wanted;
	return syscall(SYS_capset, &header, caps) == 0;
}

/* Makes file accesses use the owner of the directory FD. The other user ids of the process do not
 * change. */
static struct hv_err *read_as_owner(int fd)
{
	struct stat st;

	if (fstat(fd, &st) != 0 || !raise_capabilities())
		return failed("user for file access");
	setfsgid(st.st_gid);
	setfsuid(st.st_uid);
	return NULL;
}

/* Enters a new root directory that contains only the directory FD. */
static struct hv_err *enter_root_of(int fd)
{
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

	/* Use the working directory: unshare() moves it to the new namespace, unlike open files. */
	if (fchdir(fd) != 0 || unshare(CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", EMPTY_ROOT, "tmpfs", flags, "size=8k,nr_inodes=4,mode=0755") != 0 ||
	    mkdir(EMPTY_ROOT FILES, 0755) != 0 ||
	    mount(".", EMPTY_ROOT FILES, NULL, MS_BIND, NULL) != 0 ||
	    mount(NULL, EMPTY_ROOT FILES, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | flags, NULL) !=
		    0 ||
	    mount(NULL, EMPTY_ROOT, NULL, MS_REMOUNT | MS_RDONLY | flags, NULL) != 0 ||
	    chdir(EMPTY_ROOT) != 0 || chroot(".") != 0)
		return failed("new root directory (the kernel has no Landlock)");
	return NULL;
}

static long landlock_version(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
}

const char *hv_confined_path(const char *path)
{
	return geteuid() == 0 && landlock_version() <= 0 ? FILES : path;
}

/* Changes to the unprivileged user. Does nothing if setresgid() fails with EINVAL: then the user
 * namespace maps no other user, and its root is an unprivileged user of the host. */
static struct hv_err *leave_user(const struct hv_confinement *c)
{
	const struct passwd *user = getpwnam(USER);
	uid_t uid = user ? user->pw_uid : NOBODY;
	gid_t gid = user ? user->pw_gid : NOBODY;
	struct hv_err *err = NULL;

	if (c->dir_fd >= 0 && landlock_version() <= 0)
		err = enter_root_of(c->dir_fd);
	if (err)
		return err;
	if (setresgid(gid, gid, gid) != 0)
		return errno == EINVAL ? NULL : failed("group");
	if (setgroups(0, NULL) != 0)
		return failed("groups");
	if (c->dir_fd >= 0 && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0)
		return failed("user");
	if (setresuid(uid, uid, uid) != 0)
		return failed("user");
	return c->dir_fd >= 0 ? read_as_owner(c->dir_fd) : NULL;
}

/* -- Landlock ---------------------------------------------------------------------------------- */

/* The headers of Debian 12 lack some of these constants. */

#define ACCESS_READ_FILE (1ull << 2)
#define ACCESS_READ_DIR	 (1ull << 3)
#define RULE_PATH	 1

struct ruleset {
	uint64_t access_fs, access_net, scoped;
};

struct path_rule {
	uint64_t access;
	int32_t parent_fd;
} __attribute__((packed));

/* Returns all accesses that a kernel of version ABI can restrict
 * (Documentation/userspace-api/landlock.rst). */
static struct ruleset all_of(long abi)
{
	static const unsigned nr_fs[] = {0, 13, 14, 15, 15, 16};
	long last = (long)HV_ARRAY_LEN(nr_fs) - 1;

	return (struct ruleset){
		.access_fs = (1ull << nr_fs[abi < last ? abi : last]) - 1,
		.access_net = abi >= 4 ? 3 : 0, /* TCP bind and connect */
		.scoped = abi >= 6 ? 3 : 0,	/* abstract sockets, signals */
	};
}

static size_t size_of(long abi)
{
	return abi < 4 ? 8 : abi < 6 ? 16 : sizeof(struct ruleset);
}

/* Readable directories, opened before the process gives up its rights. */
struct readable {
	int fds[HV_CONFINE_READABLE_MAX + 1]; /* owned; -1: missing, so it needs no rule */
};

static void readable_close(struct readable *r)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(r->fds); i++)
		hv_close_at(&r->fds[i]);
}

static void open_readable(const struct hv_confinement *c, struct readable *ret)
{
	const size_t last = HV_ARRAY_LEN(ret->fds) - 1;

	for (size_t i = 0; i <= last; i++) {
		const char *path = i < last ? c->readable[i] : hv_sanitizer_readable;

		ret->fds[i] = path ? open(path, O_PATH | O_CLOEXEC) : -1;
	}
}

static bool allow_reading(int rules, int fd)
{
	struct path_rule rule = {ACCESS_READ_FILE | ACCESS_READ_DIR, fd};

	return fd < 0 || syscall(SYS_landlock_add_rule, rules, RULE_PATH, &rule, 0) == 0;
}

/* Without Landlock in the kernel, only file permissions limit access to files. */
static struct hv_err *leave_file_system(const struct hv_confinement *c,
					const struct readable *readable)
{
	long abi = landlock_version();
	struct ruleset all = all_of(abi < 0 ? 0 : abi);
	HV_AUTO_FD int rules = -1;
	bool ok;

	if (abi <= 0)
		return NULL;
	rules = (int)syscall(SYS_landlock_create_ruleset, &all, size_of(abi), 0);
	if (rules < 0)
		return failed("Landlock");
	ok = allow_reading(rules, c->dir_fd);
	for (size_t i = 0; i < HV_ARRAY_LEN(readable->fds) && ok; i++)
		ok = allow_reading(rules, readable->fds[i]);
	if (!ok || syscall(SYS_landlock_restrict_self, rules, 0) != 0)
		return failed("Landlock");
	return NULL;
}

/* -- system calls ------------------------------------------------------------------------------ */

/* Allowed with any arguments. None of these opens a file, reaches another process or a network
 * address, or makes memory executable. */
/* clang-format off */
static const int harmless[] = {
	/* open files */
	SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(pread64),
	SCMP_SYS(pwrite64), SCMP_SYS(lseek), SCMP_SYS(ftruncate), SCMP_SYS(fallocate),
	SCMP_SYS(copy_file_range), SCMP_SYS(fsync), SCMP_SYS(fdatasync), SCMP_SYS(fstat),
	SCMP_SYS(fstatfs), SCMP_SYS(close), SCMP_SYS(close_range), SCMP_SYS(dup), SCMP_SYS(dup3),
	SCMP_SYS(pipe2), SCMP_SYS(eventfd2), SCMP_SYS(getdents64), SCMP_SYS(fadvise64),
	SCMP_SYS(ppoll), SCMP_SYS(pselect6), SCMP_SYS(epoll_create1), SCMP_SYS(epoll_pwait),
	SCMP_SYS(epoll_ctl),
	/* open sockets */
	SCMP_SYS(recvfrom), SCMP_SYS(recvmsg), SCMP_SYS(recvmmsg), SCMP_SYS(sendmsg),
	SCMP_SYS(sendmmsg), SCMP_SYS(getsockopt), SCMP_SYS(setsockopt), SCMP_SYS(shutdown),
	SCMP_SYS(getsockname), SCMP_SYS(getpeername),
	/* memory */
	SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
	/* time */
	SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep), SCMP_SYS(gettimeofday),
	/* this process and its children */
	SCMP_SYS(futex), SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(getpid),
	SCMP_SYS(getppid), SCMP_SYS(gettid), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid),
	SCMP_SYS(getegid), SCMP_SYS(getrandom), SCMP_SYS(sysinfo), SCMP_SYS(uname),
	SCMP_SYS(wait4), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigtimedwait), SCMP_SYS(rt_sigpending), SCMP_SYS(sigaltstack),
	SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(restart_syscall), SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	/* x86-64 only; libseccomp ignores them on other architectures */
	SCMP_SYS(poll), SCMP_SYS(select), SCMP_SYS(dup2), SCMP_SYS(epoll_wait), SCMP_SYS(pipe),
};

/* Terminal requests. TIOCSTI is excluded because it could type commands into root's shell. */
static const scmp_datum_t terminal_requests[] = {
	TCGETS, TCSETS, TCSETSW, TCSETSF, TIOCGWINSZ, TCFLSH, FIONREAD,
};

static const int readers[] = {
	SCMP_SYS(readlinkat), SCMP_SYS(faccessat), SCMP_SYS(faccessat2), SCMP_SYS(statx),
	SCMP_SYS(readlink), SCMP_SYS(access), SCMP_SYS(getcwd),
};
/* clang-format on */

#define NEW_NAMESPACES                                                                             \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET)

static int allow_if(scmp_filter_ctx f, int call, struct scmp_arg_cmp only_if)
{
	return seccomp_rule_add_array(f, SCMP_ACT_ALLOW, call, 1, &only_if);
}

static int allow_all(scmp_filter_ctx f, const int *calls, size_t nr)
{
	int bad = 0;

	for (size_t i = 0; !bad && i < nr; i++)
		if (calls[i] >= 0)
			bad = seccomp_rule_add(f, SCMP_ACT_ALLOW, calls[i], 0);
	return bad;
}

static int allow_some(scmp_filter_ctx f)
{
	static const scmp_datum_t files[] = {F_GETFL, F_SETFL, F_GETFD, F_SETFD, F_DUPFD_CLOEXEC};
	scmp_datum_t executable = hv_sanitizer_maps_code ? 0 : PROT_EXEC;
	int bad = 0;

	bad |= allow_if(f, SCMP_SYS(mmap), SCMP_A2(SCMP_CMP_MASKED_EQ, executable, 0));
	bad |= allow_if(f, SCMP_SYS(mprotect), SCMP_A2(SCMP_CMP_MASKED_EQ, executable, 0));
	for (size_t i = 0; i < HV_ARRAY_LEN(files); i++)
		bad |= allow_if(f, SCMP_SYS(fcntl), SCMP_A1(SCMP_CMP_EQ, files[i]));
	for (size_t i = 0; i < HV_ARRAY_LEN(terminal_requests); i++)
		bad |= allow_if(f, SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, terminal_requests[i]));
	/* fstat(3) uses it */
	bad |= allow_if(f, SCMP_SYS(newfstatat),
			SCMP_A3(SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, AT_EMPTY_PATH));
	/* without an address: only on connected sockets */
	bad |= allow_if(f, SCMP_SYS(sendto), SCMP_A4(SCMP_CMP_EQ, 0));
	bad |= allow_if(f, SCMP_SYS(prctl), SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME));
	bad |= allow_if(f, SCMP_SYS(prctl), SCMP_A0(SCMP_CMP_EQ, PR_SET_PDEATHSIG));
	/* raise(3), abort(3) */
	bad |= allow_if(f, SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
	return bad;
}

/* Allows clone(2) without new namespaces. Makes clone3(2) fail with ENOSYS, so that libc falls back
 * to clone(2): a filter cannot check the flags of clone3(2), which are in memory. */
static int allow_starting(scmp_filter_ctx f)
{
	int bad = allow_if(f, SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, NEW_NAMESPACES, 0));

	return bad | seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

static int allow_reading_files(scmp_filter_ctx f)
{
	const scmp_datum_t writing = O_ACCMODE | O_CREAT | O_TRUNC;
	int bad = allow_if(f, SCMP_SYS(openat), SCMP_A2(SCMP_CMP_MASKED_EQ, writing, 0));

	bad |= seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 0);
	return bad | allow_all(f, readers, HV_ARRAY_LEN(readers));
}

static struct hv_err *leave_system_calls(const struct hv_confinement *c)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	/* Makes libseccomp return the kernel's errors instead of ECANCELED. */
	int bad = f ? seccomp_attr_set(f, SCMP_FLTATR_API_SYSRAWRC, 1) : -ENOMEM;

	if (!bad)
		bad = allow_some(f);
	if (!bad)
		bad = allow_all(f, harmless, HV_ARRAY_LEN(harmless));
	if (!bad)
		bad = allow_all(f, hv_sanitizer_calls, hv_nr_sanitizer_calls);
	if (!bad && c->may & HV_MAY_START)
		bad = allow_starting(f);
	if (!bad && c->may & HV_MAY_READ)
		bad = allow_reading_files(f);
	if (!bad && c->may & HV_MAY_LISTEN)
		bad = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(accept4), 0);
	if (!bad && c->may & HV_MAY_PROBE)
		bad = allow_if(f, SCMP_SYS(kill), SCMP_A1(SCMP_CMP_EQ, 0));
	if (!bad)
		bad = seccomp_load(f);
	seccomp_release(f);
	errno = -bad;
	return bad ? failed("system call filter") : NULL;
}

/* -- limits, and all steps in order ------------------------------------------------------------ */

/* A LIMIT of 0 changes nothing. */
static bool lower(int what, rlim_t limit)
{
	struct rlimit now;

	if (!limit || (getrlimit(what, &now) == 0 && now.rlim_max <= limit))
		return true;
	return setrlimit(what, &(struct rlimit){limit, limit}) == 0;
}

struct hv_err *hv_limit_memory(size_t len_bytes)
{
	if (!hv_sanitizer_maps_code && !lower(RLIMIT_DATA, len_bytes))
		return failed("memory");
	return NULL;
}

static struct hv_err *limit(const struct hv_confinement *c)
{
	if (setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}) != 0)
		return failed("core dumps");
	if (!lower(RLIMIT_NOFILE, c->nr_files))
		return failed("number of files");
	return hv_limit_memory(c->memory_bytes);
}

struct hv_err *hv_confine(const struct hv_confinement *c)
{
	hv_cleanup(readable_close) struct readable readable;
	struct hv_err *err = limit(c);

	tzset(); /* reads a file, so call it now */
	open_readable(c, &readable);
	if (!err)
		err = hv_capabilities_keep(HV_CAP(SETUID) | HV_CAP(SETGID) | HV_CAP(SYS_CHROOT) |
					   HV_CAP(SYS_ADMIN));
	if (!err && geteuid() == 0)
		err = leave_user(c);
	if (!err)
		err = hv_capabilities_keep(0);
	if (!err && prctl(PR_SET_DUMPABLE, hv_sanitizer_traces_itself, 0, 0, 0) != 0)
		err = failed("PR_SET_DUMPABLE");
	if (!err)
		err = leave_file_system(c, &readable);
	return err ? err : leave_system_calls(c);
}
