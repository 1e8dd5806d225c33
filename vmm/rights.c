/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/rights.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/guard.h"

#define USER	   "hvtrace"
#define NOBODY	   65534
#define EMPTY_ROOT "/proc" /* an existing directory, over which an empty file system is mounted */

struct hv_err *hv_rights_failed(const char *what, int code)
{
	return hv_err_new(code, "giving up rights: %s: %s", what, strerror(code));
}

static struct hv_err *failed(const char *what)
{
	return hv_rights_failed(what, errno);
}

/* Enters a new mount namespace whose root is an empty, read-only directory. */
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
	if (chdir(EMPTY_ROOT) != 0)
		return failed("an empty file system");
	/* Detach the old root, so that this process does not keep its mounts busy. A host that runs
	 * from its initramfs cannot replace that root (EINVAL). */
	if (syscall(SYS_pivot_root, ".", ".") == 0) {
		if (umount2(".", MNT_DETACH) != 0)
			return failed("the old root");
	} else if (errno != EINVAL || chroot(".") != 0) {
		return failed("pivot_root");
	}
	if (chdir("/") != 0)
		return failed("an empty file system");
	return NULL;
}

static struct hv_err *leave_user(uid_t uid, gid_t gid)
{
	for (unsigned long cap = 0; cap <= CAP_LAST_CAP; cap++)
		prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	/* Changing the user clears the effective and permitted sets. */
	if (setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 ||
	    setresuid(uid, uid, uid) != 0)
		return failed("user");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return failed("no_new_privs");
	return NULL;
}

struct hv_err *hv_rights_leave_root(void)
{
	const struct passwd *user;
	struct hv_err *err;

	tzset(); /* reads a file */
	user = getpwnam(USER);
	err = leave_file_system();
	return err ? err : leave_user(user ? user->pw_uid : NOBODY, user ? user->pw_gid : NOBODY);
}

/* System calls that every sandbox needs, allowed with any arguments. */
/* clang-format off */
static const int harmless[] = {
	/* open files */
	SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(pread64), SCMP_SYS(pwrite64), SCMP_SYS(lseek),
	SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(close), SCMP_SYS(poll), SCMP_SYS(ppoll),
	/* open sockets */
	SCMP_SYS(recvfrom), SCMP_SYS(sendto), SCMP_SYS(shutdown),
	/* memory */
	SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
	/* time */
	SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep),
	SCMP_SYS(gettimeofday),
	/* the process itself, and its ended children */
	SCMP_SYS(futex), SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(getpid),
	SCMP_SYS(gettid), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid),
	SCMP_SYS(getegid), SCMP_SYS(getrandom), SCMP_SYS(sysinfo), SCMP_SYS(uname),
	SCMP_SYS(wait4), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack), SCMP_SYS(restart_syscall), SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};
/* clang-format on */

static int allow_all(scmp_filter_ctx f, const int *calls, size_t nr)
{
	int bad = 0;

	for (size_t i = 0; !bad && i < nr; i++)
		bad = seccomp_rule_add(f, SCMP_ACT_ALLOW, calls[i], 0);
	return bad;
}

static int allow_some(scmp_filter_ctx f, const struct hv_syscall_if *some, size_t nr)
{
	int bad = 0;

	for (size_t i = 0; !bad && i < nr; i++)
		bad = seccomp_rule_add_array(f, SCMP_ACT_ALLOW, some[i].call, 1, &some[i].only_if);
	return bad;
}

/* Allows clone() for threads. A filter cannot check the flags of clone3(); if that fails, the C
 * library uses clone(). */
static int allow_threads(scmp_filter_ctx f)
{
	const struct hv_syscall_if thread = {
		SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD)};
	int bad = allow_some(f, &thread, 1);

	return bad ? bad : seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

static int allow(scmp_filter_ctx f, int broker, const struct hv_syscalls *allowed)
{
	const struct hv_syscall_if some[] = {
		{SCMP_SYS(mmap), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)},
		{SCMP_SYS(mprotect), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)},
		{SCMP_SYS(fcntl), SCMP_A1(SCMP_CMP_EQ, F_GETFL)},
		{SCMP_SYS(fcntl), SCMP_A1(SCMP_CMP_EQ, F_SETFL)},
		{SCMP_SYS(sendmsg), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)broker)},
		{SCMP_SYS(recvmsg), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)broker)},
		{SCMP_SYS(prctl), SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME)},
		/* abort(3) */
		{SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid())},
	};
	int bad = allow_some(f, some, HV_ARRAY_LEN(some));

	if (!bad)
		bad = allow_some(f, allowed->some, allowed->nr_some);
	if (!bad)
		bad = allow_all(f, harmless, HV_ARRAY_LEN(harmless));
	if (!bad)
		bad = allow_all(f, allowed->calls, allowed->nr_calls);
	if (!bad && allowed->makes_threads)
		bad = allow_threads(f);
	if (!bad && allowed->most_frequent >= 0)
		bad = seccomp_syscall_priority(f, allowed->most_frequent, UINT8_MAX);
	return bad;
}

struct hv_err *hv_rights_leave_calls(int broker, const struct hv_syscalls *allowed)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	/* Return the kernel's own errors instead of ECANCELED. */
	int bad = f ? seccomp_attr_set(f, SCMP_FLTATR_API_SYSRAWRC, 1) : -ENOMEM;

	if (!bad)
		bad = allow(f, broker, allowed);
	if (!bad)
		bad = seccomp_load(f);
	seccomp_release(f);
	return bad ? hv_rights_failed("a filter of system calls", -bad) : NULL;
}
