/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds a VMM's vCPUs by its files and mappings, as in QEMU. This process acts as the VMM and has
 * no guest. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "tests/lib/run_suite.h"
#include "vmm/inject/kvm.h"

static const unsigned ids[] = {0, 1, 4}; /* with a gap, as sockets of three cores have */
#define NR HV_ARRAY_LEN(ids)

static int kvm_fd, vm_fd;
static int fds[NR];
static void *runs[NR];
static size_t len;

static bool make_machine(void)
{
	kvm_fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	vm_fd = kvm_fd < 0 ? -1 : ioctl(kvm_fd, KVM_CREATE_VM, 0);
	len = vm_fd < 0 ? 0 : (size_t)ioctl(kvm_fd, KVM_GET_VCPU_MMAP_SIZE, 0);
	for (unsigned i = 0; i < NR; i++) {
		fds[i] = vm_fd < 0 ? -1 : ioctl(vm_fd, KVM_CREATE_VCPU, ids[i]);
		if (fds[i] < 0)
			return false;
		runs[i] = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fds[i], 0);
		if (runs[i] == MAP_FAILED)
			return false;
	}
	return true;
}

static void has(const struct hv_kvm *k, unsigned nr, unsigned vcpu, unsigned of)
{
	ck_assert_uint_eq(k->nr_vcpus, nr);
	ck_assert_int_eq(k->vcpu_fds[vcpu], fds[of]);
	ck_assert_uint_eq(k->run_hvas[vcpu], (uint64_t)(uintptr_t)runs[of]);
}

static void ok(struct hv_err *err)
{
	ck_assert_msg(!err, "%s", err ? err->message : "");
}

/* When QEMU unplugs a vCPU, it keeps the file and unmaps the memory. */
START_TEST(unplugged_and_plugged)
{
	struct hv_kvm k;

	ok(hv_kvm_find(getpid(), &k));
	ck_assert_int_eq(k.vm_fd, vm_fd);
	has(&k, 3, 1, 1);
	has(&k, 3, 2, 2);
	ck_assert_int_eq(munmap(runs[1], len), 0);
	ok(hv_kvm_find_vcpus(&k));
	has(&k, 2, 0, 0);
	has(&k, 2, 1, 2);
	ck_assert_int_eq(k.vm_fd, vm_fd);
	runs[1] = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0);
	ok(hv_kvm_find_vcpus(&k));
	has(&k, 3, 1, 1);
	hv_kvm_deinit(&k);
}
END_TEST

/* KVM sets this flag when KVM_RUN returns. */
START_TEST(in_system_management_mode)
{
	struct kvm_run *run = runs[2];
	unsigned vcpu = 77;
	struct hv_kvm k;

	ok(hv_kvm_find(getpid(), &k));
	ck_assert(!hv_sync_is_in_smm(&k, &vcpu));
	run->flags = KVM_RUN_X86_SMM;
	ck_assert(hv_sync_is_in_smm(&k, &vcpu));
	ck_assert_uint_eq(vcpu, 2);
	run->flags = 0;
	ck_assert(!hv_sync_is_in_smm(&k, &vcpu));
	hv_kvm_deinit(&k);
}
END_TEST

START_TEST(no_vcpu_is_mapped)
{
	HV_AUTO_ERR struct hv_err *err = NULL;
	struct hv_kvm k;

	for (unsigned i = 0; i < NR; i++)
		ck_assert_int_eq(munmap(runs[i], len), 0);
	err = hv_kvm_find(getpid(), &k);
	ck_assert(err && err->code == ENOENT);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, unplugged_and_plugged);
	tcase_add_test(tc, in_system_management_mode);
	tcase_add_test(tc, no_vcpu_is_mapped);
}

int main(void)
{
	if (!make_machine()) {
		printf("skip: no machine of %zu vCPUs by /dev/kvm: %s\n", NR, strerror(errno));
		return 77;
	}
	/* The files belong to the process that created the machine, so tests must not fork. */
	return run_suite_in(CK_NOFORK, "kvm_files", add_tests);
}
