/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guests that cannot be reached by injection, and requests that a keeper refuses. */
#include <check.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "base/clock.h"
#include "base/text.h"
#include "tests/lib/expect.h"
#include "tests/lib/failing_call.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/vmm/inject/real_keeper.h"
#include "vmm/inject/call.h"
#include "vmm/inject/inject.h"
#include "vmm/inject/keeper.h"
#include "vmm/inject/kvm.h"
#include "vmm/inject/state.h"

#define DATA_BYTES 8 /* of an injected call */
#define IF(n, v)                                                                                   \
	{                                                                                          \
		.arg = (n), .op = SCMP_CMP_EQ, .datum_a = (scmp_datum_t)(v)                        \
	}

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
			  (int)self.pid);

	expect_failure(calls, open_guest, NULL, EACCES, message);
}
END_TEST

/* A VMM that keeps starting threads: the list of its threads may have no end. */
START_TEST(a_vmm_with_too_many_threads)
{
	const size_t max = hv_process_threads_max;
	struct hv_inject j = {.vmm = kvm_guest()};
	HV_AUTO_FREE char *message = hv_format("/proc/%d/task: more than 2 threads", (int)self.pid);

	hv_process_threads_max = 2; /* "." and ".." */
	expect_error(hv_inject_check_shadow_stacks(&j), E2BIG, message);
	ck_assert_uint_eq(hv_process_nr_filters(self.pid), UINT_MAX);
	hv_process_threads_max = max;
	expect_success(hv_inject_check_shadow_stacks(&j));
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

	expect_success(start_keeper_of(getpid(), pidfd, &code, &k));
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

/* -- calls in a thread of another process ------------------------------------------------------ */

/* A child process whose thread receives injected calls. */
struct victim {
	pid_t pid;
	int feed; /* the child reads from its other end */
};

static void lose_root(int signo hv_unused)
{
	if (setresuid(65534, 65534, 65534) != 0)
		_exit(1);
}

static struct victim start_victim(bool is_busy)
{
	int ends[2];
	struct victim v;

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	v.feed = ends[1];
	v.pid = fork();
	if (v.pid == 0) {
		char byte;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
		signal(SIGUSR1, lose_root);
		close(ends[1]);
		for (volatile unsigned i = 0; is_busy || read(ends[0], &byte, 1) < 0; i++)
			;
		_exit(0);
	}
	ck_assert_int_gt(v.pid, 0);
	close(ends[0]);
	return v;
}

static void end_victim(const struct victim *v)
{
	kill(v->pid, SIGKILL);
	waitpid(v->pid, NULL, 0);
	close(v->feed);
}

static struct hv_err *inject(void *ctx)
{
	const struct victim *v = ctx;
	const uint64_t until_ns = hv_now_ns() + 20 * HV_NS_PER_S;
	struct hv_call call = {.nr = SYS_getpid};
	struct hv_threads threads;
	struct hv_call_code code;
	char data[DATA_BYTES] = "data";
	struct hv_err *err = hv_call_code_find(v->pid, &code);

	if (err)
		return err;
	hv_threads_init(&threads, &v->pid, 1);
	err = hv_threads_stop(&threads, until_ns);
	if (!err)
		err = hv_call_run(v->pid, threads.list, &code, &call, 1, data, sizeof(data),
				  until_ns);
	hv_threads_release(&threads);
	hv_threads_deinit(&threads);
	return err;
}

/* The calls that fail, and the message about thread %d. */
static const struct {
	struct failing_call calls[2];
	int code;
	const char *message;
} injections[] = {
	{{{SCMP_SYS(ptrace), EPERM, IF(0, PTRACE_SEIZE)}},
	 EPERM,
	 "thread %d: cannot be traced: Operation not permitted"},
	{{{SCMP_SYS(ptrace), EIO, IF(0, PTRACE_GETSIGMASK)}},
	 EIO,
	 "thread %d: its signal mask cannot be read: Input/output error"},
	{{{SCMP_SYS(ptrace), EIO, IF(0, PTRACE_GETREGSET)}},
	 ENOTSUP,
	 "thread %d: its FPU state cannot be read: Input/output error"},
	{{{SCMP_SYS(ptrace), EIO, IF(0, PTRACE_SETREGS)}},
	 EIO,
	 "thread %d: its registers cannot be set: Input/output error"},
	{{{SCMP_SYS(ptrace), EIO, IF(0, PTRACE_GET_SYSCALL_INFO)}},
	 EIO,
	 "thread %d: its system call cannot be read: Input/output error"},
};

START_TEST(injections_that_fail)
{
	struct victim v = start_victim(false);
	HV_AUTO_FREE char *message = NULL;

	usleep(20000); /* until the victim waits */
	message = hv_format(injections[_i].message, (int)v.pid);
	expect_failure(injections[_i].calls, inject, &v, injections[_i].code, message);
	end_victim(&v);
}
END_TEST

/* Like inject(), but without the address in the message. */
static struct hv_err *inject_without_address(void *ctx)
{
	HV_AUTO_ERR struct hv_err *err = inject(ctx);
	uint64_t at;

	if (!err || sscanf(err->message, "process %*d: its stack at 0x%" SCNx64, &at) != 1)
		return err ? hv_err_new(err->code, "%s", err->message) : NULL;
	return hv_err_new(err->code, "%s", strstr(err->message, " cannot be "));
}

/* -- registers --------------------------------------------------------------------------------- */

#define XSTATE_FEATURES 464 /* offsets in the FPU state of PTRACE_GETREGSET */
#define XSTATE_USED	512
#define TILES		(UINT64_C(1) << 18) /* feature of AMX */

/* The NTH REQUEST fails with CODE, or CHANGE changes its result. */
static struct {
	int request;
	unsigned nth;
	int code;
	void (*change)(void *answer);
} altered;

/* Replaces the function of the C library. */
long ptrace(enum __ptrace_request request, ...)
{
	static unsigned nr;
	bool is_altered;
	void *addr, *data;
	va_list args;
	long result;
	pid_t pid;

	va_start(args, request);
	pid = va_arg(args, pid_t);
	addr = va_arg(args, void *);
	data = va_arg(args, void *);
	va_end(args);
	is_altered = altered.nth && (int)request == altered.request && ++nr == altered.nth;
	errno = altered.code;
	if (is_altered && altered.code)
		return -1;
	result = syscall(SYS_ptrace, request, pid, addr, data);
	if (is_altered)
		altered.change(data);
	return result;
}

static void change_ip(void *answer)
{
	((struct user_regs_struct *)answer)->rip = 0x1234;
}

static void put_fpu(void *answer, uint64_t features, uint64_t used)
{
	struct iovec *state = answer;

	memcpy((uint8_t *)state->iov_base + XSTATE_FEATURES, &features, sizeof(features));
	memcpy((uint8_t *)state->iov_base + XSTATE_USED, &used, sizeof(used));
	state->iov_len = XSTATE_USED + 64;
}

static void use_tiles(void *answer)
{
	put_fpu(answer, TILES | 3, TILES | 3);
}

static void use_unknown(void *answer)
{
	put_fpu(answer, 3, 7);
}

/* Like inject(), but without the thread's original position in the message. */
static struct hv_err *inject_without_position(void *ctx)
{
	HV_AUTO_ERR struct hv_err *err = inject(ctx);
	const char *position = err ? strstr(err->message, ", not 0x") : NULL;
	size_t len = position ? (size_t)(position - err->message) : err ? strlen(err->message) : 0;

	return err ? hv_err_new(err->code, "%.*s", (int)len, err->message) : NULL;
}

static const struct {
	__typeof__(altered) altered;
	int code;
	const char *message;
} registers[] = {
	{{PTRACE_GETREGS, 2, ESRCH, NULL},
	 ESRCH,
	 "thread %d: its registers cannot be read: No such process"},
	{{PTRACE_GETREGS, 2, 0, change_ip}, EPROTO, "thread %d: returned to 0x1234"},
	{{PTRACE_GETREGSET, 1, 0, use_tiles},
	 ENOTSUP,
	 "thread %d uses AMX tiles, which an injected call would erase"},
	{{PTRACE_GETREGSET, 1, 0, use_unknown},
	 ENOTSUP,
	 "thread %d: its FPU state of 576 bytes does not fit its features 0x3"},
};

START_TEST(registers_that_cannot_be_kept)
{
	static const struct failing_call none[] = {{0}};
	struct victim v = start_victim(false);
	HV_AUTO_FREE char *message = hv_format(registers[_i].message, (int)v.pid);

	usleep(20000); /* until the victim waits */
	altered = registers[_i].altered;
	expect_failure(none, inject_without_position, &v, registers[_i].code, message);
	altered = (__typeof__(altered)){0};
	end_victim(&v);
}
END_TEST

START_TEST(stacks_that_cannot_be_used)
{
	static const struct failing_call calls[] = {{SCMP_SYS(process_vm_writev), EFAULT}, {0}};
	struct victim v = start_victim(false);

	expect_failure(calls, inject_without_address, &v, EFAULT, " cannot be written");
	end_victim(&v);
}
END_TEST

static bool is_data_lost; /* the data of calls cannot be read back */

/* Replaces the function of the C library. */
ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long nr_to,
			 const struct iovec *from, unsigned long nr_from, unsigned long flags)
{
	if (!is_data_lost || from->iov_len != DATA_BYTES)
		return syscall(SYS_process_vm_readv, pid, to, nr_to, from, nr_from, flags);
	errno = EFAULT;
	return -1;
}

START_TEST(results_that_cannot_be_read)
{
	static const struct failing_call none[] = {{0}};
	struct victim v = start_victim(false);

	usleep(20000); /* until the victim waits */
	is_data_lost = true;
	expect_failure(none, inject_without_address, &v, EFAULT, " cannot be read");
	is_data_lost = false;
	end_victim(&v);
}
END_TEST

START_TEST(threads_outside_of_system_calls)
{
	static const struct failing_call none[] = {{0}};
	struct victim v = start_victim(true);
	HV_AUTO_FREE char *message =
		hv_format("thread %d is not at the end of a system call", (int)v.pid);

	usleep(20000);
	expect_failure(none, inject, &v, EBUSY, message);
	end_victim(&v);
}
END_TEST

static struct hv_keeper *hold_victim(const struct victim *v, uint64_t max_ns)
{
	HV_AUTO_FD int pidfd = pidfd_open(v->pid, 0);
	struct hv_call_code code = {0};
	struct hv_keeper *k = NULL;
	uint64_t ns;
	bool are_all;

	usleep(20000); /* until the victim waits */
	expect_success(hv_call_code_find(v->pid, &code));
	expect_success(start_keeper_of(v->pid, pidfd, &code, &k));
	expect_success(hv_keeper_hold(k, &v->pid, 1, max_ns, &ns, &are_all));
	return k;
}

START_TEST(a_hold_that_times_out)
{
	struct victim v = start_victim(false);
	struct hv_keeper *k = hold_victim(&v, 1);
	struct hv_err *err = NULL;

	while (!err) {
		struct hv_call call = {.nr = SYS_getpid};

		err = hv_keeper_calls(k, &call, 1, NULL, 0);
	}
	expect_error(err, ETIMEDOUT, "hold: timed out, so the guest is running again");
	hv_keeper_free(k);
	end_victim(&v);
}
END_TEST

/* The VMM may have executed a set-uid program, whose memory must not be written. */
START_TEST(a_process_that_changed_its_rights)
{
	struct victim v = start_victim(false);
	struct hv_keeper *k = hold_victim(&v, HV_NS_PER_S);
	HV_AUTO_FREE char *message =
		hv_format("hold: process %d has other rights than when hvtrace "
			  "found it: it may have executed another program",
			  (int)v.pid);
	uint64_t ns;
	bool are_all;

	expect_success(hv_keeper_release(k, &ns));
	if (geteuid() == 0) {
		kill(v.pid, SIGUSR1);
		while (hv_thread_status(v.pid, v.pid, "Uid:") == 0)
			usleep(1000);
		expect_error(hv_keeper_hold(k, &v.pid, 1, HV_NS_PER_S, &ns, &are_all), EPERM,
			     message);
	}
	hv_keeper_free(k);
	end_victim(&v);
}
END_TEST

/* A thread in vfork(2) stops only after its child has executed or ended. */
START_TEST(threads_that_do_not_stop)
{
	struct hv_threads threads;
	int ends[2];
	pid_t pid;

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		char byte;

		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
		close(ends[1]);
		if (vfork() == 0)
			_exit((int)read(ends[0], &byte, 1));
		_exit(0);
	}
	close(ends[0]);
	HV_AUTO_FREE char *message =
		hv_format("thread %d of the VMM does not stop: the host may be too busy", (int)pid);
	usleep(20000); /* until the victim waits for its child */
	hv_threads_init(&threads, &pid, 1);
	expect_error(hv_threads_stop(&threads, 0), ETIMEDOUT, message);
	close(ends[1]);
	hv_threads_release(&threads);
	hv_threads_deinit(&threads);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, guests_that_need_the_monitor);
	tcase_add_test(tc, a_vmm_that_must_not_be_traced);
	tcase_add_test(tc, a_vmm_with_too_many_threads);
	tcase_add_test(tc, a_process_without_a_machine);
	tcase_add_test(tc, requests_that_are_too_long);
	tcase_add_test(tc, holds_that_are_not_possible);
	tcase_add_loop_test(tc, injections_that_fail, 0, HV_ARRAY_LEN(injections));
	tcase_add_loop_test(tc, registers_that_cannot_be_kept, 0, HV_ARRAY_LEN(registers));
	tcase_add_test(tc, stacks_that_cannot_be_used);
	tcase_add_test(tc, results_that_cannot_be_read);
	tcase_add_test(tc, threads_outside_of_system_calls);
	tcase_add_test(tc, a_hold_that_times_out);
	tcase_add_test(tc, a_process_that_changed_its_rights);
	tcase_add_test(tc, threads_that_do_not_stop);
}

int main(void)
{
	self.pid = getpid();
	return run_suite("inject_errors", add_tests);
}
