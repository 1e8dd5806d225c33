/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "vmm/minivm/cpu.h"
#include "vmm/minivm/trial.h"

#define CODE	  UINT64_C(0x100000)
#define ROUNDS	  UINT32_C(250000)
#define PER_ROUND 2

/* Limit for the CPU time of all rounds. KVM's emulation takes 0.3 s (measured: 1.6 to 1.8 million
 * instructions per second), a CPU less than a millisecond. */
#define TIME_MAX_NS (HV_NS_PER_S / 10)

struct trial {
	struct hv_minivm_memory memory;
	int kvm_fd; /* borrowed */
	int vm_fd;
	int vcpu_fd;
	struct kvm_run *run; /* owned mapping */
	size_t run_len_bytes;
};

static void trial_deinit(struct trial *t)
{
	if (t->run)
		munmap(t->run, t->run_len_bytes);
	hv_close_at(&t->vcpu_fd);
	hv_close_at(&t->vm_fd);
	hv_minivm_memory_deinit(&t->memory);
}

static struct hv_err *failed(const char *what)
{
	return hv_err_new(errno, "%s: %s", what, strerror(errno));
}

static struct hv_err *make_vcpu(struct trial *t)
{
	struct kvm_userspace_memory_region r = {
		.memory_size = t->memory.len_bytes,
		.userspace_addr = (uintptr_t)t->memory.host,
	};
	int len = ioctl(t->kvm_fd, KVM_GET_VCPU_MMAP_SIZE, 0);
	void *run;

	t->vm_fd = ioctl(t->kvm_fd, KVM_CREATE_VM, 0);
	if (t->vm_fd < 0)
		return failed("KVM_CREATE_VM");
	if (ioctl(t->vm_fd, KVM_SET_USER_MEMORY_REGION, &r) < 0)
		return failed("KVM_SET_USER_MEMORY_REGION");
	t->vcpu_fd = ioctl(t->vm_fd, KVM_CREATE_VCPU, 0);
	if (t->vcpu_fd < 0 || len < (int)sizeof(*t->run))
		return failed("KVM_CREATE_VCPU");
	run = mmap(NULL, (size_t)len, PROT_READ | PROT_WRITE, MAP_SHARED, t->vcpu_fd, 0);
	if (run == MAP_FAILED)
		return failed("KVM_CREATE_VCPU");
	t->run = run;
	t->run_len_bytes = (size_t)len;
	return hv_minivm_cpu_identify(t->kvm_fd, t->vcpu_fd, 0, 1);
}

static struct hv_err *load(struct trial *t)
{
	/* mov $ROUNDS,%ecx; 1: dec %ecx; jnz 1b; hlt */
	static const uint8_t code[] = {0xb9,
				       (uint8_t)ROUNDS,
				       (uint8_t)(ROUNDS >> 8),
				       (uint8_t)(ROUNDS >> 16),
				       (uint8_t)(ROUNDS >> 24),
				       0xff,
				       0xc9,
				       0x75,
				       0xfc,
				       0xf4};

	hv_minivm_cpu_tables(&t->memory);
	memcpy(hv_minivm_memory_at(&t->memory, hv_gpa(CODE), sizeof(code)), code, sizeof(code));
	return hv_minivm_cpu_start(t->vcpu_fd, hv_gpa(CODE));
}

static uint64_t cpu_time_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * HV_NS_PER_S + (uint64_t)t.tv_nsec;
}

static struct hv_err *execute(struct trial *t)
{
	uint64_t start_ns = cpu_time_ns(), took_ns;
	int done;

	do
		done = ioctl(t->vcpu_fd, KVM_RUN, 0);
	while (done < 0 && errno == EINTR && cpu_time_ns() - start_ns < TIME_MAX_NS);
	took_ns = cpu_time_ns() - start_ns;
	if (done < 0 && errno != EINTR)
		return hv_err_new(ENOTSUP, "/dev/kvm: this KVM cannot run a machine: KVM_RUN: %s",
				  strerror(errno));
	if (done == 0 && t->run->exit_reason != KVM_EXIT_HLT)
		return hv_err_new(ENOTSUP,
				  "/dev/kvm: this KVM cannot execute a loop of two instructions "
				  "(exit %u, %u)",
				  t->run->exit_reason, t->run->internal.suberror);
	if (took_ns < TIME_MAX_NS)
		return NULL;
	return hv_err_new(
		ENOTSUP,
		"/dev/kvm: this KVM emulates the instructions of a guest, %.1f million in "
		"a second, and cannot boot Linux: it needs a host with VMX or SVM",
		(double)ROUNDS * PER_ROUND * 1000 / (double)took_ns);
}

/* Tries a second time on failure: if this host is itself a guest, time that its own host takes away
 * counts as CPU time of this thread. That rarely happens twice in a row. */
static struct hv_err *try_twice(struct trial *t)
{
	struct hv_err *err = execute(t);

	if (!err)
		return NULL;
	hv_err_free(err);
	err = load(t);
	return err ? err : execute(t);
}

struct hv_err *hv_minivm_trial(int kvm_fd)
{
	hv_cleanup(trial_deinit) struct trial t = {.kvm_fd = kvm_fd, .vm_fd = -1, .vcpu_fd = -1};
	struct hv_err *err = hv_minivm_memory_init(&t.memory, HV_MINIVM_MEMORY_MIN);

	if (!err)
		err = make_vcpu(&t);
	if (!err)
		err = load(&t);
	return err ? err : try_twice(&t);
}
