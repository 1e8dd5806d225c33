/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A nested guest for an arm64 guest: one vCPU of KVM that executes a loop until this process is
 * killed, in EL0 with the argument "user", else in EL1. A repeated signal makes it exit, so that
 * the kernel functions around the guest return and are called again. */
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>

#define PAGE_BYTES   4096u
#define CODE_GPA     0x10000u
#define BRANCH_TO_IT 0x14000000u /* b . */
#define SIGNAL_US    20000
#define MASKED_EL1H  0x3c5u
#define MASKED_EL0T  0x3c0u
#define CORE_REG(reg)                                                                              \
	(KVM_REG_ARM64 | KVM_REG_SIZE_U64 | KVM_REG_ARM_CORE | KVM_REG_ARM_CORE_REG(reg))

static int do_ioctl(int fd, unsigned long request, void *argument)
{
	int result = ioctl(fd, request, argument);

	if (result < 0) {
		perror("ioctl");
		exit(1);
	}
	return result;
}

static void set(int vcpu, uint64_t id, uint64_t value)
{
	struct kvm_one_reg reg = {.id = id, .addr = (uintptr_t)&value};

	do_ioctl(vcpu, KVM_SET_ONE_REG, &reg);
}

static void wake(int number)
{
	(void)number;
}

int main(int argc, char **argv)
{
	int kvm = open("/dev/kvm", O_RDWR);
	int vm = do_ioctl(kvm, KVM_CREATE_VM, NULL);
	uint32_t *code =
		mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct kvm_userspace_memory_region memory = {.guest_phys_addr = CODE_GPA,
						     .memory_size = PAGE_BYTES,
						     .userspace_addr = (uintptr_t)code};
	struct kvm_vcpu_init target;
	struct itimerval often = {{0, SIGNAL_US}, {0, SIGNAL_US}};
	struct sigaction handler = {.sa_handler = wake};
	int vcpu;

	code[0] = BRANCH_TO_IT;
	do_ioctl(vm, KVM_SET_USER_MEMORY_REGION, &memory);
	vcpu = do_ioctl(vm, KVM_CREATE_VCPU, NULL);
	do_ioctl(vm, KVM_ARM_PREFERRED_TARGET, &target);
	do_ioctl(vcpu, KVM_ARM_VCPU_INIT, &target);
	set(vcpu, CORE_REG(regs.pc), CODE_GPA);
	set(vcpu, CORE_REG(regs.pstate),
	    argc > 1 && !strcmp(argv[1], "user") ? MASKED_EL0T : MASKED_EL1H);
	puts("runs");
	fflush(stdout);
	sigaction(SIGALRM, &handler, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (ioctl(vcpu, KVM_RUN, NULL) == 0 || errno == EINTR)
		;
	perror("KVM_RUN");
	return 1;
}
