/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guests that cannot be reached by injection, and requests that a keeper refuses. */
#include <check.h>
#include <fcntl.h>
#include <sys/pidfd.h>

#include "base/clock.h"
#include "base/text.h"
#include "tests/lib/expect.h"
#include "tests/lib/failing_call.h"
#include "tests/lib/run_suite.h"
#include "vmm/inject/inject.h"
#include "vmm/inject/keeper.h"
#include "vmm/inject/kvm.h"

static struct hv_process self;

static struct hv_vmm kvm_guest(void)
{
	return (struct hv_vmm){
		.accel = HV_ACCEL_KVM, .arch = &hv_arch_x86_64, .process = &self, .pidfd = -1};
}

START_TEST(guests_that_need_the_monitor)
{
	struct hv_vmm vmm = kvm_guest();
	struct hv_guest *g = NULL;

	vmm.accel = HV_ACCEL_TCG;
	expect_error(hv_inject_guest(&vmm, &g), ENOTSUP,
		     "injection needs KVM, and the guest runs under TCG");
	vmm = kvm_guest();
	vmm.arch = &hv_arch_riscv64;
	expect_error(hv_inject_guest(&vmm, &g), ENOTSUP,
		     "injection does not support riscv64 guests");
	vmm = kvm_guest();
	vmm.stays_migratable = true;
	expect_error(
		hv_inject_guest(&vmm, &g), ENOTSUP,
		"the guest must stay migratable (-only-migratable), and a region would prevent "
		"migration");
}
END_TEST

static struct hv_err *open_guest(void *ctx hv_unused)
{
	struct hv_vmm vmm = kvm_guest();
	struct hv_guest *g = NULL;

	return hv_inject_guest(&vmm, &g);
}

START_TEST(a_vmm_that_must_not_be_traced)
{
	static const struct failing_call calls[] = {{SCMP_SYS(openat), EACCES}, {0}};
	HV_AUTO_FREE char *message =
		hv_format("no permission to ptrace the VMM, process %d: Permission denied "
			  "(CAP_SYS_PTRACE, kernel.yama.ptrace_scope)",
			  (int)getpid());

	expect_failure(calls, open_guest, NULL, EACCES, message);
}
END_TEST

START_TEST(a_process_without_a_machine)
{
	HV_AUTO_FREE char *message =
		hv_format("process %d has 0 KVM virtual machines and 0 vCPUs; exactly one machine "
			  "is supported",
			  (int)getpid());
	struct hv_kvm kvm;

	expect_error(hv_kvm_find(getpid(), &kvm), ENOENT, message);
}
END_TEST

/* The request would not fit into a message. */
START_TEST(requests_that_are_too_long)
{
	uint64_t from_ns;
	bool are_all;

	expect_error(hv_keeper_hold(NULL, NULL, HV_KEEPER_THREADS_MAX + 1, 1, &from_ns, &are_all),
		     E2BIG, "keeper: 1025 threads are too many");
	expect_error(hv_keeper_calls(NULL, NULL, HV_KEEPER_CALLS_MAX + 1, NULL, 8), E2BIG,
		     "keeper: 65 calls with 8 bytes are too many for a request");
}
END_TEST

static struct hv_keeper *start_keeper(void)
{
	static const struct hv_call_code code;
	struct hv_keeper *k = NULL;
	HV_AUTO_FD int pidfd = pidfd_open(getpid(), 0);

	expect_success(hv_keeper_start(getpid(), pidfd, &code, &k));
	return k;
}

/* A keeper that refused a hold has ended. */
START_TEST(holds_that_are_not_possible)
{
	struct hv_keeper *k = start_keeper();
	const pid_t other = getppid();
	HV_AUTO_FREE char *message =
		hv_format("hold: thread %d is not of process %d", (int)other, (int)getpid());
	uint64_t ns;
	bool are_all;

	expect_error(hv_keeper_release(k, &ns), EINVAL, "hold: the threads are not held");
	hv_keeper_free(k);
	k = start_keeper();
	expect_error(hv_keeper_hold(k, &other, 0, HV_NS_PER_S, &ns, &are_all), EBUSY,
		     "hold: the threads are already held, or no thread is given");
	hv_keeper_free(k);
	k = start_keeper();
	expect_error(hv_keeper_hold(k, &other, 1, HV_NS_PER_S, &ns, &are_all), ESRCH, message);
	hv_keeper_free(k);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, guests_that_need_the_monitor);
	tcase_add_test(tc, a_vmm_that_must_not_be_traced);
	tcase_add_test(tc, a_process_without_a_machine);
	tcase_add_test(tc, requests_that_are_too_long);
	tcase_add_test(tc, holds_that_are_not_possible);
}

int main(void)
{
	self.pid = getpid();
	return run_suite("inject_errors", add_tests);
}
