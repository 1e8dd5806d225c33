/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/warden/sandbox.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define USER	       "hvtrace"
#define FILE_BYTES_MAX (128ull << 20) /* its log and its dumps cannot fill a file system */
#define NOBODY	       65534
#define EMPTY_ROOT     "/proc" /* a directory that is there, and is covered by an empty one */

static struct hv_err *failed(const char *what)
{
	return hv_err_new(errno, "giving up rights: %s: %s", what, strerror(errno));
}

/* In a mount namespace of its own, the root is an empty directory that nobody can write to. */
static struct hv_err *leave_file_system(void)
{
	if (unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP) !=
	    0)
		return failed("namespaces");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", EMPTY_ROOT, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  "size=4k,nr_inodes=2,mode=0555") != 0 ||
	    mount(NULL, EMPTY_ROOT, NULL, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  NULL) != 0)
		return failed("an empty file system");
	if (chroot(EMPTY_ROOT) != 0 || chdir("/") != 0)
		return failed("chroot");
	return NULL;
}

static struct hv_err *leave_user(uid_t uid, gid_t gid)
{
	for (unsigned long cap = 0; cap <= CAP_LAST_CAP; cap++)
		prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	/* the effective and permitted ones go with the user */
	if (setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 ||
	    setresuid(uid, uid, uid) != 0)
		return failed("user");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return failed("no_new_privs");
	return NULL;
}

/* What is allowed whatever the arguments. None of these names a file, another process or a
 * network address, or makes memory executable. */
/* clang-format off */
static const int harmless[] = {
	/* files that it has */
	SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(pwrite64), SCMP_SYS(lseek), SCMP_SYS(fstat),
	SCMP_SYS(newfstatat), SCMP_SYS(fstatfs), SCMP_SYS(ftruncate), SCMP_SYS(close),
	SCMP_SYS(close_range), SCMP_SYS(poll), SCMP_SYS(ppoll),
	/* sockets that it has */
	SCMP_SYS(accept4), SCMP_SYS(recvfrom), SCMP_SYS(sendto), SCMP_SYS(shutdown),
	SCMP_SYS(getsockopt),
	/* memory */
	SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
	/* time */
	SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep),
	SCMP_SYS(gettimeofday),
	/* itself */
	SCMP_SYS(futex), SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(getpid),
	SCMP_SYS(gettid), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid),
	SCMP_SYS(getegid), SCMP_SYS(getrandom), SCMP_SYS(sysinfo), SCMP_SYS(uname),
	SCMP_SYS(wait4), SCMP_SYS(pidfd_open), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack), SCMP_SYS(restart_syscall), SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};
/* clang-format on */

static int allow(scmp_filter_ctx f, int call, struct scmp_arg_cmp only_if)
{
	return seccomp_rule_add_array(f, SCMP_ACT_ALLOW, call, 1, &only_if);
}

/* What is allowed with some arguments. */
static int allow_some(scmp_filter_ctx f, int warden)
{
	int bad = 0;

	bad |= allow(f, SCMP_SYS(mmap), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	bad |= allow(f, SCMP_SYS(mprotect), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	bad |= allow(f, SCMP_SYS(fcntl), SCMP_A1(SCMP_CMP_EQ, F_GETFL));
	bad |= allow(f, SCMP_SYS(fcntl), SCMP_A1(SCMP_CMP_EQ, F_SETFL));
	bad |= allow(f, SCMP_SYS(sendmsg), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)warden));
	bad |= allow(f, SCMP_SYS(recvmsg), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)warden));
	bad |= allow(f, SCMP_SYS(prctl), SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME));
	/* abort(3) */
	bad |= allow(f, SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
	return bad;
}

/* Allows reads of file MEMORY that begin in [OFF, END): by one rule for each aligned block, since a
 * rule compares each argument once. */
static int allow_range(scmp_filter_ctx f, int memory, uint64_t off, uint64_t end)
{
	int bad = 0;

	while (!bad && off < end) {
		uint64_t len = off & -off;
		struct scmp_arg_cmp rule[3];

		while (len > end - off)
			len >>= 1;
		rule[0] = SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)memory);
		rule[1] = SCMP_A2(SCMP_CMP_LE, HV_WINDOW_READ_BYTES);
		rule[2] = SCMP_A3(SCMP_CMP_MASKED_EQ, ~(len - 1), off);
		bad = seccomp_rule_add_array(f, SCMP_ACT_ALLOW, SCMP_SYS(pread64), 3, rule);
		off += len;
	}
	return bad;
}

/* Reading from all files but the VMM's memory, and from the RAM in that. */
static int allow_reading(scmp_filter_ctx f, const struct hv_windows *w)
{
	static const int calls[] = {SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(pread64)};
	int bad = 0;

	for (size_t i = 0; i < HV_ARRAY_LEN(calls); i++)
		bad |= allow(f, calls[i], SCMP_A0(SCMP_CMP_LT, HV_WINDOW_FD_MIN));
	for (size_t i = 0; !bad && i < w->nr; i++)
		if (!w->list[i].host && w->list[i].len_bytes > HV_WINDOW_READ_BYTES)
			bad = allow_range(f, w->memory_fd, w->list[i].off,
					  w->list[i].off + w->list[i].len_bytes -
						  HV_WINDOW_READ_BYTES);
	return bad;
}

static struct hv_err *leave_system_calls(int warden, const struct hv_windows *windows)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int bad = f ? allow_some(f, warden) : -ENOMEM;

	if (!bad)
		bad = allow_reading(f, windows);
	for (size_t i = 0; !bad && i < HV_ARRAY_LEN(harmless); i++)
		bad = seccomp_rule_add(f, SCMP_ACT_ALLOW, harmless[i], 0);
	if (!bad)
		bad = seccomp_load(f);
	seccomp_release(f);
	errno = -bad;
	return bad ? failed("a filter of system calls") : NULL;
}

struct hv_err *hv_sandbox_enter(int warden, const struct hv_windows *windows)
{
	const struct passwd *user;
	struct hv_err *err;

	if (geteuid() != 0)
		return NULL;
	if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){HV_WINDOW_FD_MIN, HV_WINDOW_FD_MIN}) != 0)
		return failed("number of files");
	if (setrlimit(RLIMIT_FSIZE, &(struct rlimit){FILE_BYTES_MAX, FILE_BYTES_MAX}) != 0)
		return failed("size of files");
	tzset(); /* it reads a file */
	user = getpwnam(USER);
	err = leave_file_system();
	if (!err)
		err = leave_user(user ? user->pw_uid : NOBODY, user ? user->pw_gid : NOBODY);
	return err ? err : leave_system_calls(warden, windows);
}
