/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guests of VMMs without a monitor that hvtrace refuses, or that are paused. This process is the VMM,
 * and the kernel's answers are those of the test. Most of it needs /dev/kvm. */
#include <check.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/guard.h"
#include "tests/lib/expect.h"
#include "tests/lib/failing_call.h"
#include "tests/lib/run_suite.h"
#include "vmm/other/kernel_kvm.h"
#include "vmm/other/vmm.h"

#define PAGE 4096

static struct hv_kernel_slot slot, second_slot;
static size_t nr_slots;
static pid_t vcpu_tid;

/* -- in place of vmm/other/kernel_kvm.c ----------------------------------------------------------- */

struct hv_err *hv_kernel_kvm_open(pid_t pid hv_unused, int vm_fd hv_unused,
				  struct hv_kernel_kvm **ret hv_unused)
{
	return NULL;
}

void hv_kernel_kvm_free(struct hv_kernel_kvm *k hv_unused)
{
}

struct hv_err *hv_kernel_kvm_slots(const struct hv_kernel_kvm *k hv_unused,
				   struct hv_kernel_slot *ret, size_t *ret_nr)
{
	ret[0] = slot;
	ret[1] = second_slot;
	*ret_nr = nr_slots;
	return NULL;
}

struct hv_err *hv_kernel_kvm_thread(const struct hv_kernel_kvm *k hv_unused, int vcpu_fd hv_unused,
				    pid_t *ret)
{
	*ret = vcpu_tid;
	return NULL;
}

/* -- tests ------------------------------------------------------------------------------------- */

struct machine {
	int kvm, vm, vcpu;
	void *run; /* mapped, as every VMM does */
	uint8_t *ram;
	struct hv_other *other;
};

/* Returns false without KVM. */
static bool make_machine(struct machine *m)
{
	*m = (struct machine){open("/dev/kvm", O_RDWR | O_CLOEXEC), -1, -1, MAP_FAILED, NULL, NULL};
	if (m->kvm >= 0)
		m->vm = ioctl(m->kvm, KVM_CREATE_VM, 0);
	if (m->vm >= 0)
		m->vcpu = ioctl(m->vm, KVM_CREATE_VCPU, 0);
	if (m->vcpu >= 0)
		m->run = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, m->vcpu, 0);
	m->ram = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	slot = (struct hv_kernel_slot){{0}, PAGE, (uintptr_t)m->ram, 0};
	nr_slots = 1;
	return m->run != MAP_FAILED;
}

static void free_machine(struct machine *m)
{
	hv_other_free(m->other);
	munmap(m->ram, PAGE);
	if (m->run != MAP_FAILED)
		munmap(m->run, PAGE);
	hv_close_at(&m->vcpu);
	hv_close_at(&m->vm);
	hv_close_at(&m->kvm);
}

static struct hv_err *is_running(const struct machine *m)
{
	struct hv_vmm vmm = hv_other_vmm(m->other);

	return vmm.ops->is_running(vmm.self);
}

static struct hv_err *open_self(void *ctx hv_unused)
{
	struct hv_other *o = NULL;

	return hv_other_open(getpid(), "pid:1", &o);
}

START_TEST(hosts_of_other_architectures)
{
	static const struct failing_call calls[] = {{SCMP_SYS(uname), EFAULT}, {0}};

	expect_failure(calls, open_self, NULL, ENOTSUP,
		       "a VMM without a monitor is supported on x86-64 hosts only");
}
END_TEST

START_TEST(machines_without_ram)
{
	struct machine m;

	if (make_machine(&m)) {
		slot.flags = KVM_MEM_READONLY;
		expect_error(open_self(NULL), EFAULT, "the machine has no RAM that can be read");
		nr_slots = 0;
		slot.flags = 0;
		expect_error(open_self(NULL), EFAULT, "the machine has no RAM that can be read");
	}
	free_machine(&m);
}
END_TEST

/* Such as the registers of a VFIO device. Here a page of KVM takes their place. */
START_TEST(memory_of_a_device_is_no_ram)
{
	struct machine m;

	if (make_machine(&m)) {
		second_slot = (struct hv_kernel_slot){{1 << 20}, PAGE, (uintptr_t)m.run, 0};
		nr_slots = 2;
		expect_success(hv_other_open(getpid(), "pid:1", &m.other));
		slot = second_slot;
		nr_slots = 1;
		expect_error(open_self(NULL), EFAULT, "the machine has no RAM that can be read");
	}
	free_machine(&m);
}
END_TEST

START_TEST(limits_of_a_vmm_without_a_monitor)
{
	struct hv_gpa gpa;
	struct machine m;
	struct hv_vmm vmm;

	if (make_machine(&m)) {
		expect_success(hv_other_open(getpid(), "pid:1", &m.other));
		vmm = hv_other_vmm(m.other);
		expect_error(vmm.ops->find_free_gpa(vmm.self, 32, PAGE, &gpa), ENOSPC,
			     "inject: no free guest-physical addresses for the region below 2^32");
		expect_error(vmm.ops->pages_are_its_own(vmm.self), ENOTSUP,
			     "cannot tell whether devices of this VMM access the guest's RAM "
			     "without the VMM's mappings");
	}
	free_machine(&m);
}
END_TEST

static void *spin(void *arg)
{
	volatile pid_t *tid = arg;

	*tid = gettid();
	while (*tid)
		;
	return NULL;
}

/* A thread that computes may run the guest; one that waits in another call than KVM_RUN does not. */
START_TEST(paused_guests)
{
	HV_AUTO_FREE char *paused =
		hv_format("the guest is paused: no vCPU thread of process %d is "
			  "in KVM_RUN",
			  (int)getpid());
	HV_AUTO_FREE char *stranger =
		hv_format("vCPU 0 is not a thread of process %d", (int)getpid());
	volatile pid_t tid = 0;
	struct machine m;
	pthread_t thread;

	if (make_machine(&m)) {
		expect_success(hv_other_open(getpid(), "pid:1", &m.other));
		vcpu_tid = getpid(); /* reads a file, so it is not in KVM_RUN */
		expect_error(is_running(&m), EBUSY, paused);
		ck_assert_int_eq(pthread_create(&thread, NULL, spin, (void *)(uintptr_t)&tid), 0);
		while (!tid)
			usleep(100);
		vcpu_tid = tid;
		expect_success(is_running(&m));
		tid = 0;
		pthread_join(thread, NULL);
		vcpu_tid = getppid();
		expect_error(is_running(&m), ESRCH, stranger);
	}
	free_machine(&m);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, hosts_of_other_architectures);
	tcase_add_test(tc, machines_without_ram);
	tcase_add_test(tc, memory_of_a_device_is_no_ram);
	tcase_add_test(tc, limits_of_a_vmm_without_a_monitor);
	tcase_add_test(tc, paused_guests);
}

int main(void)
{
	return run_suite("other_vmm", add_tests);
}
