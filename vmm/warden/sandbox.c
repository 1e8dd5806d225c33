/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/warden/sandbox.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
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
	if (chdir(EMPTY_ROOT) != 0)
		return failed("an empty file system");
	/* The old root goes from this namespace: its mounts must not stay mounted for our sake. A
	 * host that runs from its initramfs cannot leave that root (EINVAL). */
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
	SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(pread64), SCMP_SYS(pwrite64), SCMP_SYS(lseek),
	SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(fstatfs), SCMP_SYS(close),
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
	bad |= allow(f, SCMP_SYS(read), SCMP_A0(SCMP_CMP_LT, HV_WINDOW_FD_MIN));
	bad |= allow(f, SCMP_SYS(readv), SCMP_A0(SCMP_CMP_LT, HV_WINDOW_FD_MIN));
	bad |= allow(f, SCMP_SYS(sendmsg), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)warden));
	bad |= allow(f, SCMP_SYS(recvmsg), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)warden));
	bad |= allow(f, SCMP_SYS(prctl), SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME));
	/* abort(3) */
	bad |= allow(f, SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
	return bad;
}

/* Of the VMM's memory only the windows can be read. libseccomp is not used for this: for a range
 * that crosses 4 GiB, version 2.5.4 did not end. The kernel takes the low 32 bits of a file's
 * number, and 64 bits of the offset and the length. */

#define LOW(arg)  (uint32_t)(offsetof(struct seccomp_data, args) + 8 * (arg))
#define HIGH(arg) (LOW(arg) + 4)
#define RULE_LEN  11 /* instructions for a window */

enum { ARG_FILE = 0, ARG_LENGTH = 2, ARG_OFFSET = 3 };

static struct sock_filter load(uint32_t at)
{
	return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at);
}

static struct sock_filter jump(uint16_t condition, uint32_t value, uint8_t if_so, uint8_t if_not)
{
	return (struct sock_filter)BPF_JUMP(BPF_JMP | condition | BPF_K, value, if_so, if_not);
}

static struct sock_filter give(uint32_t result)
{
	return (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, result);
}

/* Allows the call if its offset is in [OFF, END), else goes on behind these instructions. */
static void add_window(struct sock_filter *f, uint64_t off, uint64_t end)
{
	const struct sock_filter rule[RULE_LEN] = {
		load(HIGH(ARG_OFFSET)),
		jump(BPF_JGT, (uint32_t)(off >> 32), 3, 0),
		jump(BPF_JEQ, (uint32_t)(off >> 32), 0, 8),
		load(LOW(ARG_OFFSET)),
		jump(BPF_JGE, (uint32_t)off, 0, 6),
		load(HIGH(ARG_OFFSET)),
		jump(BPF_JGT, (uint32_t)(end >> 32), 4, 0),
		jump(BPF_JEQ, (uint32_t)(end >> 32), 0, 2),
		load(LOW(ARG_OFFSET)),
		jump(BPF_JGE, (uint32_t)end, 1, 0),
		give(SECCOMP_RET_ALLOW),
	};

	memcpy(f, rule, sizeof(rule));
}

static struct hv_err *leave_other_memory(const struct hv_windows *w)
{
	const struct sock_filter head[] = {
		load(offsetof(struct seccomp_data, nr)),
		jump(BPF_JEQ, SYS_pread64, 1, 0),
		give(SECCOMP_RET_ALLOW),
		load(LOW(ARG_FILE)),
		jump(BPF_JGE, HV_WINDOW_FD_MIN, 1, 0),
		give(SECCOMP_RET_ALLOW),
		load(HIGH(ARG_LENGTH)),
		jump(BPF_JEQ, 0, 0, 2),
		load(LOW(ARG_LENGTH)),
		jump(BPF_JGT, HV_WINDOW_READ_BYTES, 0, 1),
		give(SECCOMP_RET_ERRNO | EPERM),
	};
	struct sock_filter f[HV_ARRAY_LEN(head) + HV_WARDEN_RAM_MAX * RULE_LEN + 1];
	struct sock_fprog program = {HV_ARRAY_LEN(head), f};

	memcpy(f, head, sizeof(head));
	for (size_t i = 0; i < w->nr; i++) {
		const struct hv_window *window = &w->list[i];

		if (window->host || window->len_bytes <= HV_WINDOW_READ_BYTES)
			continue;
		add_window(f + program.len, window->off,
			   window->off + window->len_bytes - HV_WINDOW_READ_BYTES);
		program.len += RULE_LEN;
	}
	f[program.len++] = give(SECCOMP_RET_ERRNO | EPERM);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		return failed("a filter of reads");
	return NULL;
}

static struct hv_err *leave_system_calls(int warden)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int bad = f ? allow_some(f, warden) : -ENOMEM;

	for (size_t i = 0; !bad && i < HV_ARRAY_LEN(harmless); i++)
		bad = seccomp_rule_add(f, SCMP_ACT_ALLOW, harmless[i], 0);
	if (!bad)
		bad = seccomp_load(f);
	seccomp_release(f);
	errno = -bad;
	return bad ? failed("a filter of system calls") : NULL;
}

struct hv_err *hv_sandbox_keep(int *warden)
{
	int fd = fcntl(*warden, F_DUPFD_CLOEXEC, HV_WINDOW_FD_MIN);

	if (fd < 0)
		return failed("the warden's socket");
	close(*warden);
	*warden = fd;
	return NULL;
}

struct hv_err *hv_sandbox_leave_root(void)
{
	const struct passwd *user;
	struct hv_err *err;

	tzset(); /* it reads a file */
	user = getpwnam(USER);
	err = leave_file_system();
	return err ? err : leave_user(user ? user->pw_uid : NOBODY, user ? user->pw_gid : NOBODY);
}

struct hv_err *hv_sandbox_enter(int warden, const struct hv_windows *windows)
{
	struct hv_err *err;

	if (geteuid() != 0)
		return NULL;
	if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){HV_WINDOW_FD_MIN, HV_WINDOW_FD_MIN}) != 0)
		return failed("number of files");
	if (setrlimit(RLIMIT_FSIZE, &(struct rlimit){FILE_BYTES_MAX, FILE_BYTES_MAX}) != 0)
		return failed("size of files");
	err = hv_sandbox_leave_root();
	if (!err)
		err = leave_other_memory(windows);
	return err ? err : leave_system_calls(warden);
}
