/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/minivm/minivm.h"

#include <fcntl.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/guard.h"
#include "vmm/rights.h"

/* clang-format off */
static const int calls[] = {
	/* open files, and memory in files */
	SCMP_SYS(read), SCMP_SYS(memfd_create), SCMP_SYS(ftruncate),
	/* threads */
	SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(getpgrp),
};

/* The VMM's requests to KVM, and the terminal of the console. */
static const scmp_datum_t controls[] = {
	KVM_RUN, KVM_GET_REGS, KVM_SET_REGS, KVM_GET_SREGS, KVM_SET_MSRS, KVM_TRANSLATE,
	KVM_IRQ_LINE, KVM_CHECK_EXTENSION, KVM_ENABLE_CAP, KVM_X86_SET_MSR_FILTER,
	TCGETS, TCSETS, TCSETSW, TCSETSF, TIOCGPGRP,
};
/* clang-format on */

static const scmp_datum_t copies[] = {F_DUPFD_CLOEXEC, F_ADD_SEALS};

#define NR_SOME (HV_ARRAY_LEN(controls) + HV_ARRAY_LEN(copies) + 1)

static struct hv_err *leave_system_calls(int broker, int client)
{
	struct hv_syscall_if some[NR_SOME];
	size_t nr = 0;

	for (size_t i = 0; i < HV_ARRAY_LEN(controls); i++)
		some[nr++] =
			(struct hv_syscall_if){SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, controls[i])};
	for (size_t i = 0; i < HV_ARRAY_LEN(copies); i++)
		some[nr++] =
			(struct hv_syscall_if){SCMP_SYS(fcntl), SCMP_A1(SCMP_CMP_EQ, copies[i])};
	/* lib/conn.c sends requests in two parts. */
	some[nr++] = (struct hv_syscall_if){SCMP_SYS(sendmsg),
					    SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)client)};
	return hv_rights_leave_calls(broker, &(struct hv_syscalls){
						     .calls = calls,
						     .nr_calls = HV_ARRAY_LEN(calls),
						     .some = some,
						     .nr_some = nr,
						     /* for KVM_RUN */
						     .most_frequent = SCMP_SYS(ioctl),
						     .makes_threads = true,
					     });
}

struct hv_err *hv_minivm_sandbox_enter(int broker, int client)
{
	struct hv_err *err;

	if (geteuid() != 0)
		return NULL;
	err = hv_rights_leave_root();
	return err ? err : leave_system_calls(broker, client);
}
