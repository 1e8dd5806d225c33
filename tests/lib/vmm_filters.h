/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The seccomp filters of Firecracker 1.16 and cloud-hypervisor (August 2026) on x86-64, as tables of
 * the calls that each kind of thread may make, and the programs made of them. Any other call raises
 * SIGSYS. Calls that no test makes are not in the tables. */
#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/kvm.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

struct allowed {
	int nr;
	unsigned nr_conditions;
	struct {
		uint32_t arg, mask, value; /* (low half of the argument & mask) == value */
	} conditions[2];
};

#define ANY(name)                                                                                  \
	{                                                                                          \
		SYS_##name, 0,                                                                     \
		{                                                                                  \
			{                                                                          \
				0, 0, 0                                                            \
			}                                                                          \
		}                                                                                  \
	}
#define IF(name, arg, v)                                                                           \
	{                                                                                          \
		SYS_##name, 1,                                                                     \
		{                                                                                  \
			{                                                                          \
				arg, UINT32_MAX, v                                                 \
			}                                                                          \
		}                                                                                  \
	}
#define IOCTL(v) IF(ioctl, 1, v)
#define NOT_EXEC                                                                                   \
	{                                                                                          \
		2, 4 /* PROT_EXEC */, 0                                                            \
	}
#define MMAP(flags)                                                                                \
	{                                                                                          \
		SYS_mmap, 2,                                                                       \
		{                                                                                  \
			{3, UINT32_MAX, flags}, NOT_EXEC                                           \
		}                                                                                  \
	}
#define FUTEXES                                                                                    \
	IF(futex, 1, 0), IF(futex, 1, 1), IF(futex, 1, 128), IF(futex, 1, 129), IF(futex, 1, 137)

/* clang-format off */
static const struct allowed firecracker_vmm[] = {
	ANY(stat), ANY(epoll_ctl), ANY(epoll_pwait), ANY(exit), ANY(exit_group), ANY(open), ANY(read),
	ANY(write), ANY(mincore), ANY(writev), ANY(readv), ANY(fsync), ANY(close), ANY(eventfd2),
	ANY(io_uring_enter), ANY(io_uring_setup), ANY(io_uring_register), ANY(brk), ANY(gettid),
	ANY(clock_gettime), ANY(connect), ANY(fstat), ANY(ftruncate), ANY(lseek), ANY(mremap),
	ANY(munmap), ANY(recvfrom), ANY(rt_sigprocmask), ANY(rt_sigreturn), ANY(sigaltstack),
	ANY(getrandom), FUTEXES, ANY(madvise), MMAP(0x32), MMAP(0x1), MMAP(0x22), MMAP(0x8001),
	MMAP(0x4001), MMAP(0x4022), MMAP(0x4011), {SYS_mmap, 2, {{3, UINT32_MAX, 0x11}, {2, UINT32_MAX, 3}}},
	IF(memfd_create, 1, 3), IF(fcntl, 1, 0x409), ANY(sendto), IF(tkill, 1, 6), IF(tkill, 1, 35),
	IF(timerfd_settime, 1, 0), IOCTL(KVM_GET_DIRTY_LOG), IOCTL(KVM_GET_IRQCHIP),
	IOCTL(KVM_GET_CLOCK), IOCTL(KVM_GET_PIT2), IOCTL(KVM_SET_USER_MEMORY_REGION),
	IOCTL(KVM_IOEVENTFD), IOCTL(KVM_IRQFD), ANY(sched_yield), ANY(sendmsg), ANY(recvmsg),
	ANY(restart_syscall), {SYS_mprotect, 1, {NOT_EXEC}},
};
static const struct allowed firecracker_vcpu[] = {
	ANY(exit), ANY(exit_group), ANY(write), ANY(open), ANY(close), ANY(eventfd2),
	ANY(io_uring_enter), ANY(epoll_ctl), ANY(fstat), ANY(brk), ANY(gettid), ANY(clock_gettime),
	ANY(mremap), ANY(munmap), ANY(rt_sigprocmask), ANY(rt_sigreturn), ANY(sigaltstack), FUTEXES,
	IF(madvise, 2, 4), MMAP(0x1), {SYS_mmap, 2, {{3, UINT32_MAX, 0x22}, {2, UINT32_MAX, 3}}},
	IF(rt_sigaction, 0, 6), IF(timerfd_settime, 1, 0), IF(tkill, 1, 6), IOCTL(KVM_RUN),
	IOCTL(KVM_GET_MP_STATE), IOCTL(KVM_GET_VCPU_EVENTS), IOCTL(KVM_GET_LAPIC),
	IOCTL(KVM_GET_SREGS), IOCTL(KVM_GET_REGS), IOCTL(KVM_GET_MSRS), IOCTL(KVM_GET_CPUID2),
	IOCTL(KVM_GET_DEBUGREGS), IOCTL(KVM_GET_XSAVE), IOCTL(KVM_GET_XCRS), IOCTL(KVM_GET_TSC_KHZ),
	IOCTL(KVM_KVMCLOCK_CTRL), ANY(sched_yield), ANY(sendmsg), ANY(restart_syscall),
	IOCTL(KVM_SET_GSI_ROUTING), IOCTL(KVM_IRQFD),
};
static const struct allowed cloud_hypervisor_vmm[] = {
	ANY(accept4), ANY(brk), ANY(clock_gettime), ANY(clone), ANY(clone3), ANY(close), ANY(dup),
	ANY(epoll_create1), ANY(epoll_ctl), ANY(epoll_pwait), ANY(epoll_wait), ANY(eventfd2), ANY(exit),
	ANY(exit_group), ANY(fallocate), ANY(fcntl), ANY(fstat), ANY(fsync), ANY(ftruncate), ANY(futex),
	ANY(getrandom), IOCTL(KVM_CHECK_EXTENSION), IOCTL(KVM_CREATE_VCPU), IOCTL(KVM_GET_REGS),
	IOCTL(KVM_GET_SREGS), IOCTL(KVM_GET_CPUID2), IOCTL(KVM_GET_MSRS), IOCTL(KVM_IOEVENTFD),
	IOCTL(KVM_IRQFD), IOCTL(KVM_RUN), IOCTL(KVM_SET_USER_MEMORY_REGION), IOCTL(KVM_KVMCLOCK_CTRL),
	ANY(lseek), ANY(madvise), ANY(mbind), ANY(memfd_create), ANY(mmap), ANY(mprotect), ANY(mremap),
	ANY(munmap), ANY(nanosleep), ANY(newfstatat), ANY(open), ANY(openat), ANY(pipe2), ANY(poll),
	ANY(prctl), ANY(pread64), ANY(pwrite64), ANY(read), ANY(readv), ANY(recvfrom), ANY(recvmsg),
	ANY(restart_syscall), ANY(rt_sigaction), ANY(rt_sigprocmask), ANY(rt_sigreturn), ANY(seccomp),
	ANY(sendmsg), ANY(sendto), ANY(sigaltstack), ANY(statx), ANY(timerfd_create),
	ANY(timerfd_settime), ANY(tgkill), ANY(wait4), ANY(write), ANY(writev),
};
static const struct allowed cloud_hypervisor_vcpu[] = {
	ANY(brk), ANY(clock_gettime), ANY(clock_nanosleep), ANY(close), ANY(dup), ANY(exit),
	ANY(epoll_ctl), IF(fallocate, 1, 3), ANY(fcntl), ANY(fstat), ANY(fsync), ANY(futex),
	ANY(getrandom), IOCTL(KVM_CHECK_EXTENSION), IOCTL(KVM_IOEVENTFD), IOCTL(KVM_IRQFD),
	IOCTL(KVM_SET_DEVICE_ATTR), IOCTL(KVM_SET_GSI_ROUTING), IOCTL(KVM_SET_USER_MEMORY_REGION),
	IOCTL(KVM_RUN), IOCTL(KVM_NMI), ANY(lseek), ANY(madvise), ANY(mmap), ANY(mprotect), ANY(mremap),
	ANY(munmap), ANY(nanosleep), ANY(newfstatat), ANY(open), ANY(pread64), ANY(pwrite64),
	ANY(recvfrom), ANY(recvmsg), ANY(rt_sigprocmask), ANY(rt_sigreturn), ANY(sched_yield),
	ANY(sendmsg), ANY(sendto), ANY(shutdown), ANY(sigaltstack), ANY(statx), ANY(write), ANY(writev),
};
/* clang-format on */

#define FILTER_LEN_MAX 1024

/* Makes the program that allows the NR entries of LIST. Returns its length. */
static inline size_t filter_make(const struct allowed *list, size_t nr,
				 struct sock_filter ret[FILTER_LEN_MAX])
{
	const struct sock_filter head[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	size_t len = sizeof(head) / sizeof(head[0]);

	memcpy(ret, head, sizeof(head));
	for (size_t i = 0; i < nr; i++) {
		const struct allowed *a = &list[i];
		uint8_t left = (uint8_t)(3 * a->nr_conditions + 1);

		ret[len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
		ret[len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							  (uint32_t)a->nr, 0, left);
		for (unsigned c = 0; c < a->nr_conditions; c++) {
			left -= 3;
			ret[len++] = (struct sock_filter)BPF_STMT(
				BPF_LD | BPF_W | BPF_ABS,
				(uint32_t)offsetof(struct seccomp_data, args) +
					8 * a->conditions[c].arg);
			ret[len++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K,
								  a->conditions[c].mask);
			ret[len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
								  a->conditions[c].value, 0, left);
		}
		ret[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	ret[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
	return len;
}

/* Puts the calling thread under the filter, for the rest of its life. */
static inline int filter_enter(const struct allowed *list, size_t nr)
{
	struct sock_filter insns[FILTER_LEN_MAX];
	struct sock_fprog program = {(unsigned short)filter_make(list, nr, insns), insns};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
			       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0
		       ? 0
		       : -1;
}
