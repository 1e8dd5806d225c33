/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/collect/filter.h"

#include <errno.h>
#include <seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* clang-format off */
static const int harmless[] = {
	/* files that it has */
	SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(pread64), SCMP_SYS(pwrite64),
	SCMP_SYS(lseek), SCMP_SYS(ftruncate), SCMP_SYS(fallocate), SCMP_SYS(copy_file_range),
	SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(fstatfs), SCMP_SYS(close),
	/* sockets that it has */
	SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait),
	SCMP_SYS(epoll_ctl), SCMP_SYS(accept4), SCMP_SYS(recvfrom), SCMP_SYS(recvmsg),
	SCMP_SYS(recvmmsg), SCMP_SYS(getsockopt), SCMP_SYS(shutdown),
	/* memory */
	SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
	/* time, and itself */
	SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep), SCMP_SYS(gettimeofday),
	SCMP_SYS(futex), SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getrandom),
	SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigreturn),
	SCMP_SYS(restart_syscall), SCMP_SYS(exit), SCMP_SYS(exit_group),
};
/* clang-format on */

static int allow(scmp_filter_ctx f, int call, struct scmp_arg_cmp only_if)
{
	return seccomp_rule_add_array(f, SCMP_ACT_ALLOW, call, 1, &only_if);
}

/* A name that begins with '/' is of no directory, and a filter cannot see it; what can be done with
 * such a file is what its permissions allow a process without capabilities. */
static int allow_some(scmp_filter_ctx f, int dir)
{
	const scmp_datum_t in = (scmp_datum_t)dir;
	int bad = 0;

	bad |= allow(f, SCMP_SYS(openat), SCMP_A0(SCMP_CMP_EQ, in));
	bad |= allow(f, SCMP_SYS(mkdirat), SCMP_A0(SCMP_CMP_EQ, in));
	bad |= allow(f, SCMP_SYS(renameat), SCMP_A0(SCMP_CMP_EQ, in));
	bad |= allow(f, SCMP_SYS(mmap), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	bad |= allow(f, SCMP_SYS(mprotect), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	/* abort(3) */
	bad |= allow(f, SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
	return bad;
}

struct hv_err *collect_filter(int dir)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int bad = f ? allow_some(f, dir) : -ENOMEM;

	for (size_t i = 0; !bad && i < HV_ARRAY_LEN(harmless); i++)
		bad = seccomp_rule_add(f, SCMP_ACT_ALLOW, harmless[i], 0);
	if (!bad)
		bad = seccomp_load(f);
	seccomp_release(f);
	return bad ? hv_err_new(-bad, "a filter of system calls: %s", strerror(-bad)) : NULL;
}
