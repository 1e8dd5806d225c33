/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The region's slot and address if KVM refuses some of them. This process acts as the VMM, with a
 * fake KVM. */
#include <check.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>

#include "base/text.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/vmm/inject/fake_keeper.h"
#include "vmm/inject/state.h"
#include "vmm/qemu/machine.h"
#include "vmm/shared_memory.h"

#define MOST_BITS 40

static struct {
	unsigned phys_bits; /* of guest physical addresses */
	unsigned nr_in_use; /* used slots, from the highest one down */
	unsigned nr_asked;
	unsigned nr_too_high;
	struct kvm_userspace_memory_region made;
	int error;	       /* errno instead of a result; 0: none */
	long failing;	       /* the system call that fails with ERROR; 0: none */
	unsigned long request; /* if FAILING is ioctl(): only this request */
	bool is_unaligned;     /* the VMM maps files at addresses that no huge page can have */
} kvm;
static unsigned nr_closed;
static unsigned most_bits;

static int64_t set_memory(const struct kvm_userspace_memory_region *slot)
{
	kvm.nr_asked++;
	if (kvm.error && !kvm.failing)
		return -kvm.error;
	if (slot->guest_phys_addr + slot->memory_size > 1ull << kvm.phys_bits) {
		kvm.nr_too_high++;
		return -EFAULT;
	}
	if (slot->slot + kvm.nr_in_use >= hv_kvm_nr_slots())
		return -EINVAL;
	kvm.made = *slot;
	return 0;
}

struct hv_err *hv_keeper_calls(struct hv_keeper *k, struct hv_call *calls, size_t nr, void *data,
			       size_t len_bytes)
{
	(void)k, (void)len_bytes;
	for (size_t i = 0; i < nr; i++)
		if (calls[i].nr == SYS_ioctl && calls[i].args[1] == KVM_SET_USER_MEMORY_REGION)
			calls[i].result = set_memory(data);
		else if (kvm.failing && calls[i].nr == kvm.failing)
			calls[i].result =
				!kvm.request || calls[i].args[1] == kvm.request ? -kvm.error : 0;
		else if (kvm.is_unaligned && calls[i].nr == SYS_mmap)
			calls[i].result = HV_REGION_ALIGN + 4096;
		else
			make_call(&calls[i], data);
	for (size_t i = 0; i < nr; i++)
		nr_closed += calls[i].nr == SYS_close && calls[i].result == 0;
	return NULL;
}

struct hv_err *hv_kvm_phys_bits(const struct hv_kvm *k, struct hv_keeper *of, unsigned *ret)
{
	(void)k, (void)of;
	*ret = most_bits;
	return NULL;
}

static struct hv_machine machine;
static struct hv_inject inject;
static pid_t tid;
static struct kvm_run run;
static uint64_t run_hva;

static struct hv_err *transact(void *self, const char *request, char **ret)
{
	char answer[160];

	(void)self;
	if (strstr(request, "query-cpus-fast"))
		snprintf(answer, sizeof(answer), "{\"return\": [{\"thread-id\": %d}]}",
			 (int)getpid());
	else
		snprintf(answer, sizeof(answer), "{\"return\": \"%s\"}",
			 strstr(request, "info mtree") ? "  0000000040000000-000000005fffffff"
							 " (prio 0, ram): ram\\n"
						       : "");
	*ret = hv_strdup(answer);
	return NULL;
}

static void free_nothing(void *self)
{
	(void)self;
}

static const struct hv_monitor_ops ops = {.free = free_nothing, .transact = transact};

static void setup(void)
{
	keeper = (struct keeper_of_ours){0};
	kvm = (__typeof__(kvm)){.phys_bits = MOST_BITS};
	nr_closed = 0;
	most_bits = MOST_BITS;
	machine = (struct hv_machine){.monitor = hv_parser_relay(hv_monitor_new(&ops, NULL)),
				      .nr_vcpus = 1,
				      .region.fd = -1};
	machine.process.pid = getpid();
	machine.pidfd = pidfd_open(getpid(), 0);
	tid = getpid();
	run_hva = (uint64_t)(uintptr_t)&run;
	inject = (struct hv_inject){
		.vmm = hv_machine_vmm(&machine),
		.region.fd = -1,
		.tids = &tid,
		.kvm = {.pid = getpid(),
			.vm_fd = 1000,
			.nr_vcpus = 1,
			.run_hvas = &run_hva,
			.region_fd = -1,
			.pin_fd = -1},
	};
	hv_shadow_init(&inject.shadow);
}

static void teardown(void)
{
	hv_inject_drop_region(&inject);
	if (inject.kvm.region_fd >= 0)
		close(inject.kvm.region_fd);
	hv_shadow_deinit(&inject.shadow);
	hv_parser_free(machine.monitor);
	close(machine.pidfd);
}

START_TEST(at_once)
{
	ck_assert_ptr_null(hv_inject_region(&inject));
	ck_assert_uint_eq(kvm.nr_asked, 1);
	ck_assert_uint_eq(kvm.made.slot, hv_kvm_nr_slots() - 1);
	ck_assert_uint_eq(kvm.made.guest_phys_addr, inject.region.gpa.v);
	ck_assert_uint_ge(inject.region.gpa.v, 1ull << (MOST_BITS - 1));
	ck_assert_uint_eq(nr_closed, 0);
}
END_TEST

/* An address that is too high is tried with one slot, not with each. */
START_TEST(fewer_bits)
{
	kvm.phys_bits = 37;
	ck_assert_ptr_null(hv_inject_region(&inject));
	ck_assert_uint_eq(kvm.nr_too_high, MOST_BITS - 37);
	ck_assert_uint_eq(kvm.nr_asked, MOST_BITS - 37 + 1);
	ck_assert_uint_eq(nr_closed, MOST_BITS - 37);
	ck_assert_uint_lt(kvm.made.guest_phys_addr, 1ull << 37);
	ck_assert_uint_ge(kvm.made.guest_phys_addr, 1ull << 36);
}
END_TEST

START_TEST(slots_in_use)
{
	kvm.phys_bits = 39;
	kvm.nr_in_use = 2;
	ck_assert_ptr_null(hv_inject_region(&inject));
	ck_assert_uint_eq(kvm.nr_asked, 4);
	ck_assert_uint_eq(kvm.made.slot, hv_kvm_nr_slots() - 3);
	ck_assert_uint_lt(kvm.made.guest_phys_addr, 1ull << 39);
}
END_TEST

START_TEST(unreachable_addresses)
{
	HV_AUTO_FREE char *message = NULL;
	struct hv_err *err;

	kvm.phys_bits = 32;
	err = hv_inject_region(&inject);
	message = hv_format("inject: KVM_SET_USER_MEMORY_REGION: slot %u, guest physical 0x%llx: "
			    "Bad address",
			    inject.kvm.region.slot, (unsigned long long)inject.kvm.region.gpa.v);
	expect_error(err, ERANGE, message);
	ck_assert_uint_eq(kvm.nr_too_high, kvm.nr_asked);
	ck_assert_uint_eq(nr_closed, kvm.nr_asked);
	ck_assert_int_eq(inject.kvm.region_fd, -1);
}
END_TEST

/* A kill between the creation of the file and KVM's answer leaves the file. */
START_TEST(a_file_left_by_a_kill)
{
	kvm.phys_bits = 37;
	inject.kvm.region = (struct hv_fd_link){
		.kind = HV_FD_REGION, .slot = hv_kvm_nr_slots() - 1, .gpa = hv_gpa(1ull << 39)};
	inject.kvm.region_fd = memfd_create("hvtrace-region-left", MFD_ALLOW_SEALING);
	ck_assert_ptr_null(hv_inject_region(&inject));
	ck_assert_uint_eq(kvm.nr_asked, 1 + MOST_BITS - 37 + 1);
	ck_assert_uint_eq(kvm.made.guest_phys_addr, inject.region.gpa.v);
	ck_assert_uint_lt(inject.region.gpa.v, 1ull << 37);
}
END_TEST

/* An error that concerns neither slot nor address ends the search. */
START_TEST(another_error)
{
	HV_AUTO_ERR struct hv_err *err = NULL;

	kvm.error = ENOMEM;
	err = hv_inject_region(&inject);
	ck_assert(err && err->code == ENOMEM);
	ck_assert_str_eq(err->message,
			 "inject: KVM_SET_USER_MEMORY_REGION: Cannot allocate memory");
	ck_assert_uint_eq(kvm.nr_asked, 1);
}
END_TEST

START_TEST(calls_that_fail)
{
	static const struct {
		long call;
		int code;
		const char *message;
	} rows[] = {
		{SYS_memfd_create, EMFILE, "inject: memfd_create: Too many open files"},
		{SYS_ftruncate, ENOSPC, "inject: ftruncate: No space left on device"},
		{SYS_mmap, ENOMEM, "inject: mmap: Cannot allocate memory"},
	};

	kvm.failing = rows[_i].call;
	kvm.error = rows[_i].code;
	expect_error(hv_inject_region(&inject), rows[_i].code, rows[_i].message);
	ck_assert_ptr_null(inject.region.host);
}
END_TEST

/* The VMM maps the region again at another address. */
START_TEST(a_mapping_that_cannot_be_undone)
{
	kvm.failing = SYS_munmap;
	kvm.error = ENOMEM;
	kvm.is_unaligned = true;
	expect_error(hv_inject_region(&inject), ENOMEM, "inject: munmap: Cannot allocate memory");
}
END_TEST

/* The VMM has mapped the region, but hvtrace has too many mappings. */
START_TEST(a_region_that_is_not_mapped_here)
{
	HV_AUTO_FD int fd = memfd_create("other", MFD_CLOEXEC);
	static uint8_t *hosts[1025];
	struct hv_err *err = NULL;
	size_t nr = 0;

	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	for (; !err && nr < HV_ARRAY_LEN(hosts); nr += !err)
		err = hv_shared_map(fd, 0, 4096, PROT_READ, &hosts[nr]);
	expect_error(err, ENOSPC, "more than 1024 mappings of other processes' memory");
	expect_error(hv_inject_region(&inject), ENOSPC,
		     "inject: mapping the region: more than 1024 mappings of other processes' "
		     "memory");
	ck_assert_ptr_null(inject.region.host);
	while (nr)
		hv_shared_unmap(hosts[--nr], 4096);
}
END_TEST

/* All addresses are RAM, according to what the VMM answered before. */
START_TEST(an_address_that_is_in_use)
{
	static const char message[] = "inject: the VMM reports that guest physical 0x%llx is free, "
				      "but it is in use%n";
	static struct hv_ram_range all = {.len_bytes = 1ull << MOST_BITS};
	HV_AUTO_ERR struct hv_err *err = NULL;
	unsigned long long gpa;
	int len = 0;

	machine.ram = (struct hv_ram){.ranges = &all, .nr_ranges = 1};
	err = hv_inject_region(&inject);
	ck_assert(err && err->code == EPROTO);
	ck_assert_msg(sscanf(err->message, message, &gpa, &len) == 1 && !err->message[len], "%s",
		      err->message);
	ck_assert_uint_eq(kvm.nr_asked, 0);
}
END_TEST

START_TEST(a_vcpu_in_system_management_mode)
{
	run.flags = KVM_RUN_X86_SMM;
	expect_error(hv_inject_stop(&inject), EBUSY,
		     "vCPU 0 is in system management mode each time it is stopped");
	run.flags = 0;
	expect_success(hv_inject_stop(&inject));
}
END_TEST

START_TEST(a_flush_that_fails)
{
	kvm.failing = SYS_madvise;
	kvm.error = EPERM;
	expect_error(hv_kvm_unmap((void *)&keeper, 0, 4096), EPERM,
		     "inject: madvise: Operation not permitted");
}
END_TEST

START_TEST(registers_that_kvm_does_not_give)
{
	int fd = 1000;
	struct hv_vcpu_regs regs;
	struct hv_kvm k = inject.kvm;

	k.vcpu_fds = &fd;
	kvm.failing = SYS_ioctl;
	kvm.error = EIO;
	kvm.request = KVM_GET_REGS;
	expect_error(hv_kvm_registers(&k, (void *)&keeper, &hv_arch_x86_64, &regs), EIO,
		     "inject: KVM_GET_REGS: Input/output error");
	kvm.request = KVM_GET_SREGS;
	expect_error(hv_kvm_registers(&k, (void *)&keeper, &hv_arch_x86_64, &regs), EIO,
		     "inject: KVM_GET_SREGS: Input/output error");
	kvm.request = KVM_GET_ONE_REG;
	expect_error(hv_kvm_registers(&k, (void *)&keeper, &hv_arch_arm64, &regs), EIO,
		     "inject: KVM_GET_ONE_REG: Input/output error");
}
END_TEST

/* No address is below 2^20. */
START_TEST(no_address_is_free)
{
	most_bits = 20;
	expect_error(hv_inject_region(&inject), ENOSPC,
		     "inject: no free guest-physical addresses for the region");
}
END_TEST

/* The VMM has replaced the file after KVM accepted it. */
START_TEST(another_file)
{
	expect_success(hv_inject_region(&inject));
	hv_inject_drop_region(&inject);
	close(inject.kvm.region_fd);
	inject.kvm.region_fd = memfd_create("other", 0);
	ck_assert_int_eq(ftruncate(inject.kvm.region_fd, 4096), 0);
	kvm.failing = SYS_ftruncate; /* does nothing */
	expect_error(hv_inject_region(&inject), EPROTO,
		     "inject: the region: its file has 4096 bytes instead of 67108864");
}
END_TEST

START_TEST(a_pin_that_is_another_file)
{
	HV_AUTO_FREE char *message = NULL;

	inject.kvm.pin_fd = 1001;
	expect_error(hv_inject_pin(&inject), EBADF,
		     "cannot prevent the domain's migration while it is traced: inject: the pin: "
		     "file 1001 of the VMM: Bad file descriptor");
	inject.kvm.pin_fd = memfd_create("other", 0);
	message =
		hv_format("cannot prevent the domain's migration while it is traced: inject: file "
			  "%d of the VMM is not the pin's",
			  inject.kvm.pin_fd);
	expect_error(hv_inject_pin(&inject), EBADF, message);
	close(inject.kvm.pin_fd);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, at_once);
	tcase_add_test(tc, fewer_bits);
	tcase_add_test(tc, slots_in_use);
	tcase_add_test(tc, unreachable_addresses);
	tcase_add_test(tc, a_file_left_by_a_kill);
	tcase_add_test(tc, another_error);
	tcase_add_loop_test(tc, calls_that_fail, 0, 3);
	tcase_add_test(tc, a_mapping_that_cannot_be_undone);
	tcase_add_test(tc, a_region_that_is_not_mapped_here);
	tcase_add_test(tc, an_address_that_is_in_use);
	tcase_add_test(tc, a_vcpu_in_system_management_mode);
	tcase_add_test(tc, a_flush_that_fails);
	tcase_add_test(tc, registers_that_kvm_does_not_give);
	tcase_add_test(tc, no_address_is_free);
	tcase_add_test(tc, another_file);
	tcase_add_test(tc, a_pin_that_is_another_file);
}

int main(void)
{
	return run_suite("inject_region", add_tests);
}
