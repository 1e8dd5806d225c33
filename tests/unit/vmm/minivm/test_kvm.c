/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A KVM that refuses requests, or ends the guest. This program's ioctl() acts as KVM, so no
 * /dev/kvm is needed. */
#include <check.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/lib/expect.h"
#include "tests/lib/failing_call.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/vmm/minivm/boot_files.h"
#include "vmm/minivm/minivm.h"

#define RUN_BYTES 8192
#define MIB	  (UINT64_C(1) << 20)
#define KERNEL_IP UINT64_C(0xffffffff81000000)
#define GS_BASE	  0xc0000101u

/* A request that fails at its NTH use. */
struct refusal {
	unsigned long request;
	unsigned nth; /* 0: always */
	int code;     /* 0: the request returns RESULT */
	int result;
};

static struct refusal refusal;
static unsigned nr_uses;
static const char *no_memfd; /* the name of a file that cannot be made */

/* How KVM_RUN ends after the trial. */
static uint32_t exit_reason, suberror;
static uint64_t run_ns; /* CPU time that a run takes */
static struct kvm_run *last_run;

static bool is_refused(unsigned long request)
{
	return request == refusal.request && (!refusal.nth || ++nr_uses == refusal.nth);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * HV_NS_PER_S + (uint64_t)t.tv_nsec;
}

static int make_file(off_t len_bytes)
{
	int fd = (int)syscall(SYS_memfd_create, "kvm", MFD_CLOEXEC);

	ck_assert_int_eq(ftruncate(fd, len_bytes), 0);
	return fd;
}

static int make_vcpu(void)
{
	int fd = make_file(RUN_BYTES);

	if (last_run)
		munmap(last_run, RUN_BYTES);
	last_run = mmap(NULL, RUN_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(last_run, MAP_FAILED);
	last_run->exit_reason = KVM_EXIT_HLT;
	return fd;
}

static volatile bool never_stops; /* KVM_RUN ignores requests to stop */
static volatile bool is_in_run;
static uint64_t late_ns;    /* the test's CLOCK_MONOTONIC is ahead by this */
static unsigned nr_threads; /* the last of this number cannot be made; 0: all can */

/* Replace functions of the C library. While a vCPU does not stop, a wait takes no real time. */

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	int failed = (int)syscall(SYS_clock_gettime, clock, ret);

	if (clock == CLOCK_MONOTONIC)
		ret->tv_sec += (time_t)(late_ns / HV_NS_PER_S);
	return failed;
}

int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *lock, clockid_t clock,
			   const struct timespec *until)
{
	__typeof__(pthread_cond_clockwait) *wait =
		(__typeof__(wait))(uintptr_t)dlsym(RTLD_NEXT, "pthread_cond_clockwait");
	struct timespec at = *until;

	at.tv_sec -= (time_t)(late_ns / HV_NS_PER_S);
	if (!never_stops)
		return wait(cond, lock, clock, &at);
	late_ns += 6 * HV_NS_PER_S;
	return ETIMEDOUT;
}

int pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	__typeof__(pthread_create) *create =
		(__typeof__(create))(uintptr_t)dlsym(RTLD_NEXT, "pthread_create");

	return nr_threads && !--nr_threads ? EAGAIN : create(ret, attr, fn, arg);
}

static int run(void)
{
	uint64_t until_ns = cpu_ns() + run_ns;

	is_in_run = true;
	while (never_stops)
		usleep(1000);
	if (last_run->immediate_exit) {
		errno = EINTR;
		return -1;
	}
	while (cpu_ns() < until_ns)
		continue;
	if (!exit_reason)
		return 0;
	last_run->exit_reason = exit_reason;
	last_run->internal.suberror = suberror;
	if (exit_reason == KVM_EXIT_FAIL_ENTRY)
		last_run->fail_entry.hardware_entry_failure_reason = 0x80000021;
	if (exit_reason == KVM_EXIT_X86_WRMSR)
		last_run->msr.index = GS_BASE;
	return 0;
}

static int play(unsigned long request, void *arg)
{
	switch (request) {
	case KVM_GET_API_VERSION:
		return KVM_API_VERSION;
	case KVM_CHECK_EXTENSION:
		return 1;
	case KVM_GET_VCPU_MMAP_SIZE:
		return RUN_BYTES;
	case KVM_CREATE_VM:
		return make_file(0);
	case KVM_CREATE_VCPU:
		return make_vcpu();
	case KVM_GET_SUPPORTED_CPUID:
		((struct kvm_cpuid2 *)arg)->nent = 0;
		return 0;
	case KVM_SET_MSRS:
		return (int)((struct kvm_msrs *)arg)->nmsrs;
	case KVM_GET_SREGS:
		memset(arg, 0, sizeof(struct kvm_sregs));
		return 0;
	case KVM_GET_REGS:
		*(struct kvm_regs *)arg = (struct kvm_regs){.rip = KERNEL_IP};
		return 0;
	case KVM_RUN:
		return run();
	default:
		return 0;
	}
}

/* Replaces the function of the C library. */
int ioctl(int fd hv_unused, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (!is_refused(request))
		return play(request, arg);
	errno = refusal.code;
	return refusal.code ? -1 : refusal.result;
}

int memfd_create(const char *name, unsigned flags)
{
	errno = EMFILE;
	return no_memfd && !strcmp(name, no_memfd) ? -1
						   : (int)syscall(SYS_memfd_create, name, flags);
}

/* -- machines ---------------------------------------------------------------------------------- */

static bool has_kvm;
static char kernel[64];
static struct hv_minivm_config config;
static struct hv_minivm *vm;

/* Replaces the function of the C library: /dev/kvm is an empty file. */
int open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	if (strcmp(path, "/dev/kvm") != 0)
		return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
	errno = ENOENT;
	return has_kvm ? make_file(0) : -1;
}

static void setup(void)
{
	uint8_t *file = of_bzimage();
	FILE *f;

	snprintf(kernel, sizeof(kernel), "/tmp/hvtrace-test-%d-kvm", (int)getpid());
	f = fopen(kernel, "we");
	ck_assert(f && fwrite(file, OF_LEN, 1, f) == 1 && fclose(f) == 0);
	free(file);
	config = (struct hv_minivm_config){
		.name = "own",
		.kernel_path = kernel,
		.append = "",
		.memory_bytes = 64 * MIB,
		.nr_vcpus = 1,
		.console_in_fd = -1,
		.console_out_fd = STDERR_FILENO,
	};
	refusal = (struct refusal){0};
	nr_uses = 0;
	no_memfd = NULL;
	exit_reason = suberror = 0;
	run_ns = 0;
	has_kvm = true;
	vm = NULL;
}

static void teardown(void)
{
	hv_minivm_free(vm);
	unlink(kernel);
}

static const struct {
	struct refusal refusal;
	const char *message;
	int code;
} refusals[] = {
	{{KVM_GET_API_VERSION, 0, 0, 11},
	 "/dev/kvm: the version of its interface is not 12",
	 ENOTSUP},
	{{KVM_CHECK_EXTENSION, 1, 0, 0},
	 "/dev/kvm: this KVM lacks interrupt controllers, a timer or immediate exits",
	 ENOTSUP},
	/* the trial */
	{{KVM_CREATE_VM, 1, ENOMEM, 0}, "/dev/kvm: KVM_CREATE_VM: Cannot allocate memory", ENOMEM},
	{{KVM_SET_USER_MEMORY_REGION, 1, EINVAL, 0},
	 "/dev/kvm: KVM_SET_USER_MEMORY_REGION: Invalid argument",
	 EINVAL},
	{{KVM_CREATE_VCPU, 1, EMFILE, 0}, "/dev/kvm: KVM_CREATE_VCPU: Too many open files", EMFILE},
	{{KVM_GET_SUPPORTED_CPUID, 1, E2BIG, 0},
	 "/dev/kvm: KVM_GET_SUPPORTED_CPUID: Argument list too long",
	 E2BIG},
	{{KVM_SET_CPUID2, 1, EINVAL, 0}, "/dev/kvm: KVM_SET_CPUID2: Invalid argument", EINVAL},
	{{KVM_SET_MSRS, 1, EFAULT, 0}, "/dev/kvm: KVM_SET_MSRS: Bad address", EFAULT},
	{{KVM_SET_MSRS, 1, 0, 1}, "/dev/kvm: KVM_SET_MSRS: KVM refuses register 0x2ff", EIO},
	{{KVM_GET_SREGS, 1, EIO, 0}, "/dev/kvm: KVM_GET_SREGS: Input/output error", EIO},
	{{KVM_SET_SREGS, 1, EINVAL, 0}, "/dev/kvm: KVM_SET_SREGS: Invalid argument", EINVAL},
	{{KVM_SET_REGS, 1, EINVAL, 0}, "/dev/kvm: KVM_SET_REGS: Invalid argument", EINVAL},
	{{KVM_RUN, 0, EINVAL, 0},
	 "/dev/kvm: this KVM cannot run a machine: KVM_RUN: Invalid argument",
	 ENOTSUP},
	/* the machine */
	{{KVM_CREATE_VM, 2, ENOMEM, 0}, "/dev/kvm: KVM_CREATE_VM: Cannot allocate memory", ENOMEM},
	{{KVM_SET_IDENTITY_MAP_ADDR, 1, EEXIST, 0},
	 "/dev/kvm: KVM_SET_IDENTITY_MAP_ADDR: File exists",
	 EEXIST},
	{{KVM_SET_TSS_ADDR, 1, EINVAL, 0}, "/dev/kvm: KVM_SET_TSS_ADDR: Invalid argument", EINVAL},
	{{KVM_CREATE_IRQCHIP, 1, EEXIST, 0}, "/dev/kvm: KVM_CREATE_IRQCHIP: File exists", EEXIST},
	{{KVM_CREATE_PIT2, 1, EEXIST, 0}, "/dev/kvm: KVM_CREATE_PIT2: File exists", EEXIST},
	{{KVM_SET_USER_MEMORY_REGION, 2, ENOSPC, 0},
	 "/dev/kvm: memory at guest physical 0x0: No space left on device",
	 ENOSPC},
	{{KVM_GET_VCPU_MMAP_SIZE, 2, EINVAL, 0},
	 "/dev/kvm: KVM_GET_VCPU_MMAP_SIZE: Invalid argument",
	 EINVAL},
	{{KVM_CREATE_VCPU, 2, E2BIG, 0},
	 "/dev/kvm: KVM_CREATE_VCPU: vCPU 0: Argument list too long",
	 E2BIG},
	{{KVM_SET_CPUID2, 2, EINVAL, 0},
	 "vCPU 0: /dev/kvm: KVM_SET_CPUID2: Invalid argument",
	 EINVAL},
};

START_TEST(a_request_that_kvm_refuses)
{
	refusal = refusals[_i].refusal;
	expect_error(hv_minivm_new(&config, &vm), refusals[_i].code, refusals[_i].message);
	ck_assert_ptr_null(vm);
}
END_TEST

START_TEST(a_kvm_that_cannot_run_machines)
{
	exit_reason = KVM_EXIT_INTERNAL_ERROR;
	suberror = 3;
	expect_error(hv_minivm_new(&config, &vm), ENOTSUP,
		     "/dev/kvm: this KVM cannot execute a loop of two instructions (exit 17, 3)");
	exit_reason = 0;
	run_ns = HV_NS_PER_S / 10;
	expect_error(hv_minivm_new(&config, &vm), ENOTSUP,
		     " million in a second, and cannot boot Linux: it needs a host with VMX or "
		     "SVM");
	has_kvm = false;
	expect_error(hv_minivm_new(&config, &vm), ENOENT,
		     "/dev/kvm: No such file or directory: KVM is needed to run a machine");
}
END_TEST

START_TEST(machines_that_cannot_be)
{
	uint64_t host_mib =
		(uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGE_SIZE) / MIB;
	HV_AUTO_FREE char *too_much =
		hv_format("%llu MiB of memory: this host has %llu MiB",
			  (unsigned long long)host_mib + 1, (unsigned long long)host_mib);

	config.nr_vcpus = 65;
	expect_error(hv_minivm_new(&config, &vm), EINVAL, "65 vCPUs: 1 to 64 are possible");
	config.nr_vcpus = 1;
	config.memory_bytes = MIB;
	expect_error(hv_minivm_new(&config, &vm), EINVAL,
		     "1024 KiB of memory: at least 64 MiB are needed");
	config.memory_bytes = 64 * MIB + 1;
	expect_error(hv_minivm_new(&config, &vm), EINVAL,
		     "67108865 bytes of memory: this is not a multiple of 4 KiB");
	config.memory_bytes = (host_mib + 1) * MIB;
	expect_error(hv_minivm_new(&config, &vm), EINVAL, too_much);
}
END_TEST

START_TEST(files_of_a_machine_that_cannot_be_made)
{
	no_memfd = "hvtrace-region";
	expect_error(hv_minivm_new(&config, &vm), EMFILE,
		     "cannot make the region: Too many open files");
	no_memfd = "hvtrace-shadow";
	config.shadow = true;
	expect_error(hv_minivm_new(&config, &vm), EMFILE,
		     "cannot copy pages of the kernel's text: Too many open files");
}
END_TEST

static struct hv_err *make(void *ctx hv_unused)
{
	return hv_minivm_new(&config, &vm);
}

START_TEST(a_machine_that_could_not_be_ended)
{
	static const struct failing_call no_eventfd[] = {{SCMP_SYS(eventfd2), EMFILE}, {0}};
	static const struct failing_call no_socket[] = {{SCMP_SYS(socketpair), EMFILE}, {0}};
	static const char message[] =
		"cannot make the files that end the machine: Too many open files";

	expect_failure(no_eventfd, make, NULL, EMFILE, message);
	expect_failure(no_socket, make, NULL, EMFILE, message);
}
END_TEST

/* -- machines that run ------------------------------------------------------------------------- */

static const struct {
	uint32_t exit_reason;
	uint32_t suberror;
	struct refusal refusal;
	const char *message;
	int code;
} ends[] = {
	{KVM_EXIT_SHUTDOWN,
	 0,
	 {0},
	 "vCPU 0: triple fault: the kernel crashed and could not report it",
	 EIO},
	{KVM_EXIT_FAIL_ENTRY, 0, {0}, "vCPU 0: this KVM cannot enter the guest (0x80000021)", EIO},
	{KVM_EXIT_INTERNAL_ERROR,
	 KVM_INTERNAL_ERROR_EMULATION,
	 {0},
	 "vCPU 0: this KVM emulates instructions, and cannot emulate the one at 0xffffffff81000000",
	 EIO},
	{KVM_EXIT_INTERNAL_ERROR,
	 2,
	 {0},
	 "vCPU 0: this KVM cannot continue the guest (exit 17, 2)",
	 EIO},
	{KVM_EXIT_SHUTDOWN, 0, {KVM_RUN, 0, EFAULT, 0}, "vCPU 0: KVM_RUN: Bad address", EFAULT},
	{KVM_EXIT_X86_WRMSR,
	 0,
	 {KVM_GET_REGS, 0, EIO, 0},
	 "/dev/kvm: KVM_GET_REGS: Input/output error",
	 EIO},
	{KVM_EXIT_X86_WRMSR,
	 0,
	 {KVM_SET_MSRS, 0, 0, 0},
	 "/dev/kvm: KVM_SET_MSRS: KVM refuses register 0xc0000101",
	 EIO},
};

START_TEST(a_guest_that_ends)
{
	struct pollfd end;

	expect_success(hv_minivm_new(&config, &vm));
	exit_reason = ends[_i].exit_reason;
	suberror = ends[_i].suberror;
	refusal = ends[_i].refusal;
	expect_success(hv_minivm_start(vm));
	end = (struct pollfd){hv_minivm_end_fd(vm), POLLIN, 0};
	ck_assert_int_eq(poll(&end, 1, -1), 1);
	expect_error(hv_minivm_end_error(vm), ends[_i].code, ends[_i].message);
}
END_TEST

/* To trace a kernel from its first instruction on, KVM must stop it there. */
START_TEST(a_kernel_that_cannot_be_stopped_where_it_begins)
{
	static const struct {
		struct refusal refusal;
		const char *message;
		int code;
	} rows[] = {
		{{KVM_CHECK_EXTENSION, 1, 0, 0},
		 "this host's KVM cannot report writes of MSRs: Linux 5.10 or later is needed",
		 ENOTSUP},
		{{KVM_ENABLE_CAP, 1, EINVAL, 0},
		 "/dev/kvm: KVM_CAP_X86_USER_SPACE_MSR: Invalid argument",
		 EINVAL},
		{{KVM_X86_SET_MSR_FILTER, 1, EINVAL, 0},
		 "/dev/kvm: KVM_X86_SET_MSR_FILTER: Invalid argument",
		 EINVAL},
	};

	expect_success(hv_minivm_new(&config, &vm));
	for (size_t i = 0; i < HV_ARRAY_LEN(rows); i++) {
		refusal = rows[i].refusal;
		nr_uses = 0;
		expect_error(hv_minivm_run_to_kernel(vm), rows[i].code, rows[i].message);
	}
	refusal = (struct refusal){0};
	expect_error(hv_minivm_run_to(vm, hv_gva(KERNEL_IP)), EBUSY,
		     "the machine is not stopped where its kernel begins");
	exit_reason = KVM_EXIT_SHUTDOWN;
	expect_error(hv_minivm_run_to_kernel(vm), ECANCELED,
		     "the machine ended before its kernel could be traced");
}
END_TEST

START_TEST(an_unmapped_kernel_address)
{
	expect_success(hv_minivm_new(&config, &vm));
	exit_reason = KVM_EXIT_X86_WRMSR;
	expect_success(hv_minivm_run_to_kernel(vm));
	expect_error(hv_minivm_run_to(vm, hv_gva(KERNEL_IP)), EFAULT,
		     "nothing is mapped at 0xffffffff81000000");
	refusal = (struct refusal){KVM_TRANSLATE, 0, EINVAL, 0};
	expect_error(hv_minivm_run_to(vm, hv_gva(KERNEL_IP)), EINVAL,
		     "/dev/kvm: KVM_TRANSLATE: Invalid argument");
}
END_TEST

/* -- its guest --------------------------------------------------------------------------------- */

static struct hv_err *flush_region(void *ctx)
{
	return hv_hold_flush_translations(ctx, 0, 4096);
}

/* The serial port's thread is made first. */
START_TEST(a_vcpu_without_a_thread)
{
	expect_success(hv_minivm_new(&config, &vm));
	nr_threads = 1;
	expect_error(hv_minivm_start(vm), EAGAIN, "serial port: Resource temporarily unavailable");
	nr_threads = 2;
	expect_error(hv_minivm_start(vm), EAGAIN,
		     "thread of a vCPU: Resource temporarily unavailable");
}
END_TEST

START_TEST(a_hold_that_times_out)
{
	struct hv_hold *hold = NULL;
	struct hv_vcpu_regs regs[1];
	struct hv_guest *guest;
	struct hv_err *err = NULL;

	expect_success(hv_minivm_new(&config, &vm));
	guest = hv_minivm_guest(vm);
	expect_success(hv_minivm_start(vm));
	expect_success(hv_hold_begin(guest, 1, &hold));
	while (!err)
		err = hv_hold_registers(hold, regs, 1);
	expect_error(err, ETIMEDOUT, "hold: timed out, so the guest is running again");
	expect_error(hv_hold_end(hold, NULL), ETIMEDOUT,
		     "hold: timed out, so the guest is running again");
	hv_guest_free(guest);
}
END_TEST

START_TEST(a_vcpu_that_does_not_stop)
{
	struct hv_vcpu_regs regs[1];
	struct hv_guest *guest;

	expect_success(hv_minivm_new(&config, &vm));
	guest = hv_minivm_guest(vm);
	never_stops = true;
	expect_success(hv_minivm_start(vm));
	while (!is_in_run)
		usleep(1000);
	expect_error(hv_guest_registers(guest, regs, 1), ETIMEDOUT,
		     "a vCPU did not stop within 5 s");
	never_stops = false;
	expect_success(hv_guest_registers(guest, regs, 1));
	hv_guest_free(guest);
}
END_TEST

START_TEST(a_guest_whose_vcpus_cannot_be_read)
{
	static const struct failing_call no_map[] = {
		{SCMP_SYS(mmap), ENOMEM, {3, SCMP_CMP_EQ, MAP_SHARED | MAP_FIXED, 0}}, {0}};
	struct hv_guest *guest;
	struct hv_vcpu_regs regs[1];
	struct hv_hold *hold = NULL;

	expect_success(hv_minivm_new(&config, &vm));
	guest = hv_minivm_guest(vm);
	refusal = (struct refusal){KVM_GET_REGS, 0, EIO, 0};
	expect_error(hv_guest_registers(guest, regs, 1), EIO,
		     "vCPU 0: registers: Input/output error");
	expect_success(hv_hold_begin(guest, HV_NS_PER_S, &hold));
	expect_error(hv_hold_flush_translations(hold, 65 * MIB, 1), EINVAL,
		     "offset 0x4100000 is outside the region");
	expect_failure(no_map, flush_region, hold, ENOMEM,
		       "cannot map the region again: Cannot allocate memory");
	expect_success(hv_hold_end(hold, NULL));
	hv_guest_free(guest);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, a_request_that_kvm_refuses, 0, HV_ARRAY_LEN(refusals));
	tcase_add_test(tc, a_kvm_that_cannot_run_machines);
	tcase_add_test(tc, machines_that_cannot_be);
	tcase_add_test(tc, files_of_a_machine_that_cannot_be_made);
	tcase_add_test(tc, a_machine_that_could_not_be_ended);
	tcase_add_loop_test(tc, a_guest_that_ends, 0, HV_ARRAY_LEN(ends));
	tcase_add_test(tc, a_kernel_that_cannot_be_stopped_where_it_begins);
	tcase_add_test(tc, an_unmapped_kernel_address);
	tcase_add_test(tc, a_guest_whose_vcpus_cannot_be_read);
	tcase_add_test(tc, a_vcpu_without_a_thread);
	tcase_add_test(tc, a_hold_that_times_out);
	tcase_add_test(tc, a_vcpu_that_does_not_stop);
}

int main(void)
{
	return run_suite("minivm_kvm", add_tests);
}
