/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The region's slot and address if KVM refuses some of them. This process acts as the VMM, with a
 * fake KVM. */
#include <check.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>

#include "tests/lib/run_suite.h"
#include "tests/unit/vmm/inject/fake_keeper.h"
#include "vmm/inject/state.h"
#include "vmm/qemu/machine.h"

#define MOST_BITS 40

static struct {
	unsigned phys_bits; /* of guest physical addresses */
	unsigned nr_in_use; /* used slots, from the highest one down */
	unsigned nr_asked;
	unsigned nr_too_high;
	struct kvm_userspace_memory_region made;
	int error; /* errno instead of all that; 0: none */
} kvm;
static unsigned nr_closed;

static int64_t set_memory(const struct kvm_userspace_memory_region *slot)
{
	kvm.nr_asked++;
	if (kvm.error)
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
		else
			make_call(&calls[i], data);
	for (size_t i = 0; i < nr; i++)
		nr_closed += calls[i].nr == SYS_close && calls[i].result == 0;
	return NULL;
}

struct hv_err *hv_kvm_phys_bits(const struct hv_kvm *k, struct hv_keeper *of, unsigned *ret)
{
	(void)k, (void)of;
	*ret = MOST_BITS;
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

/* An address that is too high is refused for one slot, not for each. */
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

START_TEST(nothing_that_is_reached)
{
	HV_AUTO_ERR struct hv_err *err = NULL;

	kvm.phys_bits = 32;
	err = hv_inject_region(&inject);
	ck_assert(err && err->code == ERANGE && strstr(err->message, "guest physical 0x"));
	ck_assert_uint_eq(kvm.nr_too_high, kvm.nr_asked);
	ck_assert_uint_eq(nr_closed, kvm.nr_asked);
	ck_assert_int_eq(inject.kvm.region_fd, -1);
}
END_TEST

/* A kill between the creation of the file and KVM's answer leaves the file. */
START_TEST(what_a_kill_has_left)
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
	ck_assert_uint_eq(kvm.nr_asked, 1);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, at_once);
	tcase_add_test(tc, fewer_bits);
	tcase_add_test(tc, slots_in_use);
	tcase_add_test(tc, nothing_that_is_reached);
	tcase_add_test(tc, what_a_kill_has_left);
	tcase_add_test(tc, another_error);
}

int main(void)
{
	return run_suite("inject_region", add_tests);
}
