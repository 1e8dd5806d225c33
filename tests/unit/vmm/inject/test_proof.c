/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls in a process whose threads have the filters of Firecracker or cloud-hypervisor: the keeper
 * makes them only where every filter allows them, and the process lives on, also if the keeper is
 * killed at any step. Any call that a filter does not allow would end the process. Without
 * permission to trace a child and to read its filters, the test is skipped. */
#include <check.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <linux/memfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/lib/vmm_filters.h"
#include "tests/unit/vmm/inject/real_keeper.h"
#include "vmm/inject/kvm.h"
#include "vmm/inject/keeper.h"

#define ENOUGH_NS (20 * HV_NS_PER_S)
#define LEN	  4096

struct kind {
	const char *name;
	const struct allowed *vmm, *vcpu;
	size_t nr_vmm, nr_vcpu;
	unsigned nr_sleepers; /* other threads, without a filter, which sleep */
	bool has_worker;      /* the kernel has started a thread for io_uring, without a filter */
	time_t vcpu_wait_s;   /* how long the vCPU's thread waits; 0: without a limit */
};

#define KIND(name)                                                                                 \
	{                                                                                          \
#name, name##_vmm, name##_vcpu, HV_ARRAY_LEN(name##_vmm),                          \
			HV_ARRAY_LEN(name##_vcpu)                                                  \
	}
static const struct kind kinds[] = {KIND(firecracker), KIND(cloud_hypervisor)};
static const struct allowed no_memfd[] = {ANY(epoll_pwait), ANY(read),	       ANY(futex),
					  ANY(close),	    ANY(rt_sigreturn), ANY(ftruncate),
					  ANY(mmap),	    ANY(write),	       IF(madvise, 2, 4)};

static const struct kind without_memfd = {.vmm = no_memfd,
					  .vcpu = firecracker_vcpu,
					  .nr_vmm = HV_ARRAY_LEN(no_memfd),
					  .nr_vcpu = HV_ARRAY_LEN(firecracker_vcpu)};

static struct shared {
	volatile uint32_t wake; /* the vCPU thread waits for its change */
	volatile uint64_t rounds, vcpu_rounds;
	volatile pid_t vcpu;
} * shared;

struct vmm {
	struct kind kind;
	pid_t pid;
	int pidfd;
	int feed;
	struct hv_call_code code;
	struct hv_keeper *keeper;
};

/* Waits like a halted vCPU. Raw calls, because the filter allows no others. */
static void *vcpu_main(void *arg)
{
	const struct kind *kind = arg;
	const struct timespec wait = {.tv_sec = kind->vcpu_wait_s};
	uint32_t seen = shared->wake;

	shared->vcpu = (pid_t)syscall(SYS_gettid);
	if (filter_enter(kind->vcpu, kind->nr_vcpu) != 0)
		_exit(2);
	for (;;) {
		syscall(SYS_futex, &shared->wake, FUTEX_WAIT, seen, wait.tv_sec ? &wait : NULL,
			NULL, 0);
		if (shared->wake == seen)
			continue;
		seen = shared->wake;
		shared->vcpu_rounds++;
	}
}

static void *sleeper_main(void *arg)
{
	struct timespec hour = {.tv_sec = 3600};

	for (;;)
		syscall(SYS_nanosleep, &hour, &hour);
	return arg;
}

/* Makes the kernel start a thread for io_uring, if the host allows that. */
static void start_worker(void)
{
	struct io_uring_params params = {0};
	int fd = (int)syscall(SYS_io_uring_setup, 1, &params), ends[2];
	struct io_uring_sqe *request;
	static char byte;
	uint8_t *ring;

	if (fd < 0 || pipe(ends) != 0)
		return;
	ring = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQ_RING);
	request = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQES);
	*request = (struct io_uring_sqe){.opcode = IORING_OP_READ,
					 .flags = IOSQE_ASYNC,
					 .fd = ends[0],
					 .addr = (uintptr_t)&byte,
					 .len = 1};
	*(uint32_t *)(void *)(ring + params.sq_off.tail) = 1;
	syscall(SYS_io_uring_enter, fd, 1, 0, 0, NULL, 0);
}

static _Noreturn void vmm_main(const struct kind *kind, int feed)
{
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(0);
	pthread_t thread;
	char byte;

	epoll_ctl(epoll, EPOLL_CTL_ADD, feed, &event);
	pthread_create(&thread, NULL, vcpu_main, (void *)(uintptr_t)kind);
	if (kind->has_worker)
		start_worker();
	for (unsigned i = 0; i < kind->nr_sleepers; i++)
		pthread_create(&thread, NULL, sleeper_main, NULL);
	while (!shared->vcpu)
		usleep(100);
	if (filter_enter(kind->vmm, kind->nr_vmm) != 0)
		_exit(2);
	for (;;) {
		if (syscall(SYS_epoll_pwait, epoll, &event, 1, -1, NULL, 8) != 1 ||
		    syscall(SYS_read, feed, &byte, 1) != 1)
			continue;
		shared->rounds++;
		shared->wake++;
		syscall(SYS_futex, &shared->wake, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
}

/* Checks that both threads make a round. */
static void check_lives(const struct vmm *v)
{
	uint64_t rounds = shared->rounds + 1, vcpu_rounds = shared->vcpu_rounds + 1;
	uint64_t deadline_ns = hv_now_ns() + ENOUGH_NS;

	ck_assert_int_eq(write(v->feed, "x", 1), 1);
	while ((shared->rounds < rounds || shared->vcpu_rounds < vcpu_rounds) &&
	       hv_now_ns() < deadline_ns)
		usleep(100);
	ck_assert_uint_eq(shared->rounds, rounds);
	ck_assert_uint_ge(shared->vcpu_rounds, vcpu_rounds);
}

static void start(struct vmm *v, const struct kind *kind)
{
	int ends[2];

	memset(shared, 0, sizeof(*shared));
	ck_assert_int_eq(pipe(ends), 0);
	v->kind = *kind;
	v->pid = fork();
	if (v->pid == 0)
		vmm_main(&v->kind, ends[0]);
	v->feed = ends[1];
	close(ends[0]);
	v->pidfd = pidfd_open(v->pid, 0);
	check_lives(v);
	ck_assert_ptr_null(hv_call_code_find(v->pid, &v->code));
	ck_assert_ptr_null(start_keeper_of(v->pid, v->pidfd, &v->code, &v->keeper));
}

static void end(struct vmm *v)
{
	hv_keeper_free(v->keeper); /* ends the hold */
	check_lives(v);
	kill(v->pid, SIGKILL);
	waitpid(v->pid, NULL, 0);
	close(v->feed);
	close(v->pidfd);
}

static void hold(struct vmm *v)
{
	pid_t tid = shared->vcpu;
	uint64_t from_ns = 0;
	bool in_run = true;
	struct hv_err *err =
		hv_keeper_hold(v->keeper, &tid, 1, 10 * HV_NS_PER_S, &from_ns, &in_run);

	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert(!in_run);
}

static struct hv_err *make_file(struct hv_keeper *keeper, unsigned flags, int64_t *ret)
{
	char name[16] = "injected";
	struct hv_call call = {.nr = SYS_memfd_create, .args = {0, flags}, .data_args = 1};
	struct hv_err *err = hv_keeper_calls(keeper, &call, 1, name, sizeof(name));

	*ret = call.result;
	return err;
}

/* Makes everything that a region needs but the slot. */
static struct hv_err *make_region(struct hv_keeper *keeper)
{
	static const struct hv_kvm kvm = {.vm_fd = 3, .region_fd = -1};
	int64_t fd = -1;
	struct hv_call calls[] = {
		{.nr = SYS_ftruncate, .args = {0, LEN}},
		{.nr = SYS_mmap, .args = {0, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, 0, 0}},
	};
	struct hv_call undo[] = {{.nr = SYS_munmap, .args = {0, LEN}}, {.nr = SYS_close}};
	struct hv_err *err = hv_kvm_prove_region(&kvm, keeper, LEN);

	if (!err)
		err = make_file(keeper, MFD_CLOEXEC | MFD_ALLOW_SEALING, &fd);
	calls[0].args[0] = calls[1].args[4] = undo[1].args[0] = (uint64_t)fd;
	if (!err)
		err = hv_keeper_calls(keeper, calls, 2, NULL, 0);
	undo[0].args[0] = (uint64_t)calls[1].result;
	if (!err)
		err = hv_keeper_calls(keeper, undo, 2, NULL, 0);
	ck_assert(err || (fd >= 0 && !calls[0].result && !undo[0].result && !undo[1].result));
	return err;
}

static void check_refusal(struct hv_err *err, const char *call, pid_t tid)
{
	char thread[32];

	snprintf(thread, sizeof(thread), "of thread %d", (int)tid);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EPERM);
	ck_assert_msg(strstr(err->message, call) && strstr(err->message, thread) &&
			      strstr(err->message, "filter 1 of 1"),
		      "%s", err->message);
	hv_err_free(err);
}

/* No thread at all may make CALL. */
static void check_refusal_by_all(struct hv_err *err, const char *call, pid_t tid)
{
	ck_assert_ptr_nonnull(err);
	ck_assert_ptr_nonnull(strstr(err->message, "no thread of the VMM may make the calls"));
	check_refusal(err, call, tid);
}

/* The vCPU's thread may not make a memfd, so the main thread does. */
START_TEST(an_allowed_thread_makes_the_calls)
{
	struct vmm v;
	struct hv_err *err;

	start(&v, &kinds[_i]);
	for (int i = 0; i < 3; i++) {
		hold(&v);
		err = make_region(v.keeper);
		ck_assert_msg(!err, "%s", err ? err->message : "");
		ck_assert_ptr_null(hv_keeper_release(v.keeper, NULL));
		check_lives(&v);
	}
	end(&v);
}
END_TEST

/* A call that no thread may make, and one whose arguments a filter does not allow, are not made. */
START_TEST(refused)
{
	struct hv_call call = {.nr = SYS_openat};
	struct vmm v;
	int64_t fd = 0;

	start(&v, &kinds[0]);
	hold(&v);
	check_refusal(make_file(v.keeper, MFD_CLOEXEC, &fd), "answers memfd_create with trap",
		      v.pid);
	check_refusal(hv_keeper_calls(v.keeper, &call, 1, NULL, 0), "openat", v.pid);
	call = (struct hv_call){.nr = SYS_ioctl, .args = {3, KVM_SET_SREGS}};
	check_refusal(hv_keeper_calls(v.keeper, &call, 1, NULL, 0), "ioctl 0x4138ae84", v.pid);
	/* other calls need their own proof */
	ck_assert_ptr_null(make_region(v.keeper));
	check_refusal(hv_keeper_calls(v.keeper, &call, 1, NULL, 0), "ioctl 0x4138ae84", v.pid);
	end(&v);
	start(&v, &without_memfd);
	hold(&v);
	check_refusal_by_all(make_region(v.keeper), "memfd_create", v.pid);
	end(&v);
}
END_TEST

/* An argument that a filter examines must be known. */
START_TEST(unpredictable_answers_are_refused)
{
	struct hv_call call = {.nr = SYS_madvise, .args = {0, 0, 4}, .unknown_args = 1u << 2};
	struct hv_err *err;
	struct vmm v;

	start(&v, &without_memfd);
	hold(&v);
	err = hv_keeper_prove(v.keeper, &call, 1);
	ck_assert(err && err->code == EPERM);
	ck_assert_ptr_nonnull(strstr(err->message, "cannot predict its answer to madvise"));
	hv_err_free(err);
	call.unknown_args = 0;
	ck_assert_ptr_null(hv_keeper_prove(v.keeper, &call, 1));
	end(&v);
}
END_TEST

/* The kernel continues an interrupted wait with restart_syscall(2), which the filter of the vCPU's
 * thread does not allow. hvtrace makes the wait return EINTR instead. */
START_TEST(a_wait_that_may_not_be_restarted)
{
	struct kind kind = kinds[1];
	uint64_t from_ns = 0;
	bool in_run = true;
	struct hv_err *err;
	struct vmm v;
	pid_t tid;

	kind.vcpu_wait_s = 3600;
	start(&v, &kind);
	tid = shared->vcpu;
	err = hv_keeper_hold(v.keeper, &tid, 1, HV_NS_PER_S, &from_ns, &in_run);
	expect_error(err, EBUSY, "hold: no vCPU thread is at the end of a system call; retry");
	end(&v);
}
END_TEST

/* Threads that may make the calls, but are never at the end of one. */
START_TEST(threads_that_sleep)
{
	struct kind kind = without_memfd;
	pid_t tid;
	uint64_t from_ns = 0;
	bool in_run = true;
	struct vmm v;

	kind.nr_sleepers = 24;
	start(&v, &kind);
	tid = shared->vcpu;
	ck_assert_ptr_null(hv_keeper_hold(v.keeper, &tid, 1, HV_NS_PER_S / 2, &from_ns, &in_run));
	check_refusal_by_all(make_region(v.keeper), "memfd_create", v.pid);
	/* the hold did not last longer than asked for */
	ck_assert_uint_lt(hv_now_ns() - from_ns, 2 * HV_NS_PER_S);
	ck_assert(hv_keeper_is_alive(v.keeper));
	end(&v);
}
END_TEST

/* A thread of io_uring cannot make calls. */
START_TEST(threads_of_the_kernel)
{
	struct kind kind = without_memfd;
	struct vmm v;

	kind.has_worker = true;
	start(&v, &kind);
	hold(&v);
	check_refusal_by_all(make_region(v.keeper), "memfd_create", v.pid);
	end(&v);
}
END_TEST

/* The kernel gives no filters to a tracer with a filter. Exits with 0 if hv_filters_read() reports
 * that. */
static _Noreturn void trace_with_filter(pid_t tid)
{
	static struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct sock_fprog program = {1, &allow};
	struct hv_filters *filters = NULL;
	struct hv_threads threads;
	struct hv_err *err = NULL;

	hv_threads_init(&threads, &tid, 1);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0 ||
	    hv_threads_stop(&threads, hv_now_ns() + ENOUGH_NS))
		_exit(2);
	err = hv_filters_read(tid, HV_UNREAD_REFUSE, &filters);
	if (!err || err->code != EPERM ||
	    !strstr(err->message,
		    " has seccomp filters that cannot be read (Permission denied), so "
		    "an injected call may kill the VMM"))
		_exit(3);
	_exit(hv_filters_read(tid, HV_UNREAD_ALLOW_ONE, &filters) || filters ? 4 : 0);
}

/* Only HV_UNREAD_ALLOW_ONE accepts an unreadable filter. */
START_TEST(filters_that_cannot_be_read)
{
	struct vmm v;
	pid_t tracer;
	int status;

	start(&v, &kinds[0]);
	tracer = fork();
	if (tracer == 0)
		trace_with_filter(shared->vcpu);
	ck_assert_int_eq(waitpid(tracer, &status, 0), tracer);
	ck_assert_int_eq(status, 0);
	end(&v);
}
END_TEST

static long steps_left;
static pid_t started_by;

static void count_down(const char *where)
{
	(void)where;
	if (getpid() != started_by && --steps_left == 0)
		kill(getpid(), SIGKILL);
}

START_TEST(killed_at_every_step)
{
	struct vmm v;
	bool all = false;
	long step = 1;

	start(&v, &kinds[0]);
	hv_inject_step = count_down;
	started_by = getpid();
	for (; !all && step < 400; step++) {
		uint64_t from_ns = 0;
		pid_t tid = shared->vcpu;
		bool in_run = false;
		struct hv_err *err;

		hv_keeper_free(v.keeper);
		steps_left = step;
		ck_assert_ptr_null(start_keeper_of(v.pid, v.pidfd, &v.code, &v.keeper));
		err = hv_keeper_hold(v.keeper, &tid, 1, 10 * HV_NS_PER_S, &from_ns, &in_run);
		if (!err)
			err = make_region(v.keeper);
		if (!err)
			err = hv_keeper_release(v.keeper, NULL);
		all = !err;
		hv_err_free(err);
		check_lives(&v);
	}
	hv_inject_step = NULL;
	ck_assert_int_gt(step, 30);
	ck_assert(all);
	end(&v);
}
END_TEST

static bool can_read_filters(void)
{
	static const struct allowed all[] = {ANY(pause)};
	bool can = false;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		filter_enter(all, 1);
		shared->vcpu = 1;
		for (;;)
			pause();
	}
	while (!shared->vcpu)
		usleep(100);
	if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) == 0 && waitpid(pid, &status, 0) == pid)
		can = ptrace(PTRACE_SECCOMP_GET_FILTER, pid, NULL, NULL) > 0;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return can;
}

static void add_tests(TCase *tc)
{
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, an_allowed_thread_makes_the_calls, 0, HV_ARRAY_LEN(kinds));
	tcase_add_test(tc, refused);
	tcase_add_test(tc, unpredictable_answers_are_refused);
	tcase_add_test(tc, a_wait_that_may_not_be_restarted);
	tcase_add_test(tc, threads_that_sleep);
	tcase_add_test(tc, threads_of_the_kernel);
	tcase_add_test(tc, filters_that_cannot_be_read);
	tcase_add_test(tc, killed_at_every_step);
}

int main(void)
{
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!can_read_filters())
		return 77;
	return run_suite("inject_proof", add_tests);
}
