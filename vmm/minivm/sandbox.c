/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/minivm/sandbox.h"

#include <fcntl.h>
#include <linux/kvm.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/guard.h"
#include "vmm/warden/sandbox.h"

/* What is allowed whatever the arguments. None of these names a file, another process or a network
 * address, or makes memory executable. */
/* clang-format off */
static const int harmless[] = {
	/* files that it has, and memory that is a file */
	SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(pread64),
	SCMP_SYS(pwrite64), SCMP_SYS(lseek), SCMP_SYS(fstat), SCMP_SYS(newfstatat),
	SCMP_SYS(close), SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(memfd_create),
	SCMP_SYS(ftruncate),
	/* sockets that it has */
	SCMP_SYS(recvfrom), SCMP_SYS(sendto), SCMP_SYS(shutdown),
	/* memory */
	SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
	/* time */
	SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep),
	SCMP_SYS(gettimeofday),
	/* itself: threads, signals, children that have ended */
	SCMP_SYS(futex), SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity),
	SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(getpid), SCMP_SYS(gettid),
	SCMP_SYS(getpgrp), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid),
	SCMP_SYS(getegid), SCMP_SYS(getrandom), SCMP_SYS(sysinfo), SCMP_SYS(uname),
	SCMP_SYS(wait4), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack),
	SCMP_SYS(restart_syscall), SCMP_SYS(exit), SCMP_SYS(exit_group),
};

/* What the VMM asks of KVM, and the console of the terminal. */
static const unsigned long controls[] = {
	KVM_RUN, KVM_GET_REGS, KVM_SET_REGS, KVM_GET_SREGS, KVM_SET_MSRS, KVM_TRANSLATE,
	KVM_IRQ_LINE, KVM_CHECK_EXTENSION, KVM_ENABLE_CAP, KVM_X86_SET_MSR_FILTER,
	TCGETS, TCSETS, TCSETSW, TCSETSF, TIOCGPGRP,
};
/* clang-format on */

static struct hv_err *failed(int code)
{
	return hv_err_new(code, "giving up rights: a filter of system calls: %s", strerror(code));
}

static int allow(scmp_filter_ctx f, int call, struct scmp_arg_cmp only_if)
{
	return seccomp_rule_add_array(f, SCMP_ACT_ALLOW, call, 1, &only_if);
}

/* What is allowed with some arguments. The flags of clone3 cannot be seen here; without it the C
 * library uses clone. */
static int allow_some(scmp_filter_ctx f, int warden)
{
	const int copies[] = {F_GETFL, F_SETFL, F_DUPFD_CLOEXEC, F_ADD_SEALS};
	int bad = 0;

	for (size_t i = 0; i < HV_ARRAY_LEN(controls); i++)
		bad |= allow(f, SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, controls[i]));
	for (size_t i = 0; i < HV_ARRAY_LEN(copies); i++)
		bad |= allow(f, SCMP_SYS(fcntl), SCMP_A1(SCMP_CMP_EQ, (scmp_datum_t)copies[i]));
	bad |= allow(f, SCMP_SYS(mmap), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	bad |= allow(f, SCMP_SYS(mprotect), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	bad |= allow(f, SCMP_SYS(sendmsg), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)warden));
	bad |= allow(f, SCMP_SYS(recvmsg), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)warden));
	bad |= allow(f, SCMP_SYS(prctl), SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME));
	bad |= allow(f, SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
	bad |= allow(f, SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
	bad |= seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	return bad;
}

static struct hv_err *leave_system_calls(int warden)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int bad = f ? allow_some(f, warden) : -ENOMEM;

	for (size_t i = 0; !bad && i < HV_ARRAY_LEN(harmless); i++)
		bad = seccomp_rule_add(f, SCMP_ACT_ALLOW, harmless[i], 0);
	/* looked at first: a vCPU makes this one most often */
	if (!bad)
		bad = seccomp_syscall_priority(f, SCMP_SYS(ioctl), UINT8_MAX);
	if (!bad)
		bad = seccomp_load(f);
	seccomp_release(f);
	return bad ? failed(-bad) : NULL;
}

struct hv_err *hv_minivm_sandbox_enter(int warden)
{
	struct hv_err *err;

	if (geteuid() != 0)
		return NULL;
	err = hv_sandbox_leave_root();
	return err ? err : leave_system_calls(warden);
}
