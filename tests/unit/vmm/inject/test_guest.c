/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest that is reached by injection, from its first check to a hold. This process acts as the
 * VMM: it replaces functions of the C library, so that its files and mappings look like KVM's. */
#include <check.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/prefix.h"
#include "base/text.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/vmm/inject/fake_keeper.h"
#include "vmm/inject/state.h"

#define PAGE 4096u

static int vm_fd, vcpu_fd;
static struct kvm_run *run; /* of the vCPU; a page */
static bool has_shadow_stack, has_no_code;
static const char *status;  /* of the threads; NULL: the real one */
static unsigned nr_threads; /* of vCPUs, as the monitor reports them */

/* -- the process, as /proc shows it ------------------------------------------------------------- */

ssize_t readlinkat(int dir, const char *name, char *to, size_t len)
{
	const char *target = atoi(name) == vm_fd     ? "anon_inode:kvm-vm"
			     : atoi(name) == vcpu_fd ? "anon_inode:kvm-vcpu:0"
						     : NULL;

	if (!target)
		return syscall(SYS_readlinkat, dir, name, to, len);
	ck_assert_uint_ge(len, strlen(target));
	memcpy(to, target, strlen(target));
	return (ssize_t)strlen(target);
}

static bool ends_with(const char *path, const char *end)
{
	return strlen(path) >= strlen(end) && !strcmp(path + strlen(path) - strlen(end), end);
}

/* Opens a copy of the mappings in which the vCPU's page has KVM's name. */
static int open_maps(const char *path)
{
	int from = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
	int to = memfd_create("maps", MFD_CLOEXEC);
	HV_AUTO_FREE char *page = hv_format("%lx-", (unsigned long)(uintptr_t)run);
	HV_AUTO_FREE char *line = NULL;
	FILE *f = fdopen(from, "r");
	size_t cap = 0;

	while (!has_no_code && getline(&line, &cap, f) > 0) {
		if (hv_starts_with(line, page))
			dprintf(to, "%s%lx rw-s 00000000 00:0e 7 anon_inode:kvm-vcpu:0\n", page,
				(unsigned long)(uintptr_t)run + PAGE);
		else
			dprintf(to, "%s", line);
	}
	fclose(f);
	lseek(to, 0, SEEK_SET);
	return to;
}

static int open_status(void)
{
	int fd = memfd_create("status", MFD_CLOEXEC);

	dprintf(fd, "%s", status);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

int open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	if (status && ends_with(path, "/status"))
		return open_status();

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	return ends_with(path, "/maps") ? open_maps(path)
					: (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
	static char features[] = "x86_Thread_features:\tshstk wrss \n";
	int fd;

	if (has_shadow_stack && ends_with(path, "/status"))
		return fmemopen(features, strlen(features), "r");
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? NULL : fdopen(fd, mode);
}

/* -- the VMM ------------------------------------------------------------------------------------ */

static struct hv_process process;
static struct hv_ram ram;

struct hv_err *hv_keeper_calls(struct hv_keeper *k, struct hv_call *calls, size_t nr, void *data,
			       size_t len_bytes)
{
	(void)k, (void)data, (void)len_bytes;
	for (size_t i = 0; i < nr; i++)
		calls[i].result = -EIO;
	return NULL;
}

static struct hv_err *succeed(void *self hv_unused)
{
	return NULL;
}

static void do_nothing(void *self hv_unused)
{
}

static bool has_no_region(void *self hv_unused)
{
	return false;
}

static struct hv_err *vcpu_threads(void *self hv_unused, pid_t *ret, size_t max, size_t *ret_nr)
{
	ck_assert_uint_le(nr_threads, max);
	for (unsigned i = 0; i < nr_threads; i++)
		ret[i] = getpid();
	*ret_nr = nr_threads;
	return NULL;
}

static const struct hv_vmm_ops ops = {
	.free = do_nothing,
	.refusal = succeed,
	.is_running = succeed,
	.vcpu_threads = vcpu_threads,
	.look_at_ram = succeed,
	.held = do_nothing,
	.released = do_nothing,
	.has_region = has_no_region,
};

static struct hv_vmm vmm;
static struct hv_guest *guest;

static void setup(void)
{
	vm_fd = memfd_create("vm", MFD_CLOEXEC);
	vcpu_fd = memfd_create("vcpu", MFD_CLOEXEC);
	run = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(run, MAP_FAILED);
	keeper = (struct keeper_of_ours){0};
	has_shadow_stack = has_no_code = false;
	status = NULL;
	nr_threads = 1;
	process.pid = getpid();
	vmm = (struct hv_vmm){
		.ops = &ops,
		.name = "web1",
		.id = "web1",
		.accel = HV_ACCEL_KVM,
		.arch = &hv_arch_x86_64,
		.nr_vcpus = 1,
		.monitor = "fake",
		.process = &process,
		.pidfd = pidfd_open(getpid(), 0),
		.ram = &ram,
	};
	guest = NULL;
}

static void teardown(void)
{
	hv_guest_free(guest);
	munmap(run, PAGE);
	close(vmm.pidfd);
	close(vm_fd);
	close(vcpu_fd);
}

/* -- cases -------------------------------------------------------------------------------------- */

START_TEST(a_vcpu_is_plugged)
{
	struct hv_hold *hold = NULL;

	vmm.nr_vcpus = 2;
	expect_error(hv_inject_guest(&vmm, &guest), EBUSY,
		     "KVM's files show 1 vCPUs and the monitor 2: retry after the hotplug");
	vmm.nr_vcpus = 1;
	expect_success(hv_inject_guest(&vmm, &guest));
	nr_threads = 3;
	expect_error(hv_hold_begin(guest, HV_NS_PER_S, &hold), EBUSY,
		     "KVM's files show 1 vCPUs and the monitor 3: retry after the hotplug");
	nr_threads = 1;
	expect_success(hv_hold_begin(guest, HV_NS_PER_S, &hold));
	expect_success(hv_hold_end(hold, NULL));
}
END_TEST

START_TEST(a_keeper_that_was_killed)
{
	struct hv_hold *hold = NULL;

	expect_success(hv_inject_guest(&vmm, &guest));
	expect_success(hv_hold_begin(guest, HV_NS_PER_S, &hold));
	keeper.is_dead = true;
	expect_error(hv_hold_end(hold, NULL), ETIMEDOUT,
		     "hold: its keeper was killed, so the guest is running again");
	expect_success(hv_hold_begin(guest, HV_NS_PER_S, &hold));
	expect_success(hv_hold_end(hold, NULL));
}
END_TEST

START_TEST(threads_with_shadow_stacks)
{
	HV_AUTO_FREE char *message = hv_format("the VMM's threads have shadow stacks (thread %d), "
					       "so an injected call would kill them",
					       (int)getpid());

	has_shadow_stack = true;
	expect_error(hv_inject_guest(&vmm, &guest), ENOTSUP, message);
}
END_TEST

START_TEST(code_that_cannot_make_calls)
{
	HV_AUTO_FREE char *message = hv_format(
		"process %d: no system call before a return, or no rt_sigreturn, in its code",
		(int)getpid());

	has_no_code = true;
	expect_error(hv_inject_guest(&vmm, &guest), ENOTSUP, message);
}
END_TEST

START_TEST(a_vmm_that_is_debugged)
{
	HV_AUTO_FREE char *message = hv_format(
		"a debugger is attached to the VMM (process 7, thread %d)", (int)getpid());

	expect_success(hv_inject_guest(&vmm, &guest));
	expect_success(hv_guest_refusal(guest));
	status = "Name:\tvmm\nTracerPid:\t7\n";
	expect_error(hv_guest_refusal(guest), EBUSY, message);
}
END_TEST

START_TEST(a_cpu_that_kvm_does_not_describe)
{
	const struct hv_kvm kvm = {.pid = getpid(), .vcpu_fds = &vcpu_fd, .nr_vcpus = 1};
	unsigned bits;

	expect_error(hv_kvm_phys_bits(&kvm, NULL, &bits), EIO,
		     "inject: KVM_GET_CPUID2: Input/output error");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_vcpu_is_plugged);
	tcase_add_test(tc, a_keeper_that_was_killed);
	tcase_add_test(tc, threads_with_shadow_stacks);
	tcase_add_test(tc, code_that_cannot_make_calls);
	tcase_add_test(tc, a_vmm_that_is_debugged);
	tcase_add_test(tc, a_cpu_that_kvm_does_not_describe);
}

int main(void)
{
	return run_suite("inject_guest", add_tests);
}
