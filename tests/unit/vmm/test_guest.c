/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The number of vCPUs that a VMM reports is limited, no caller's buffer is overrun, and errors name
 * the operation that a VMM lacks. */
#include <check.h>
#include <string.h>

#include "tests/lib/expect.h"
#include "tests/lib/part_guest.h"
#include "tests/lib/run_suite.h"
#include "vmm/qemu/machine.h"

static unsigned nr_claimed;

static struct hv_err *count(void *self hv_unused, unsigned *ret)
{
	*ret = nr_claimed;
	return NULL;
}

static struct hv_err *registers(void *self hv_unused, struct hv_vcpu_regs *ret, size_t nr)
{
	struct hv_err *err = hv_vcpus_check_room(nr_claimed, nr);

	if (!err)
		memset(ret, 0, nr * sizeof(*ret));
	return err;
}

static struct hv_err *begin(void *self hv_unused, uint64_t max_ns hv_unused)
{
	return NULL;
}

/* QEMU's monitor. */
static struct hv_err *transact(void *self hv_unused, const char *request, char **ret)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	bool is_list = strstr(request, "query-cpus-fast");

	hv_text_add(&text, is_list ? "{\"return\": [" : "{\"return\": \"");
	for (unsigned i = 0; i < nr_claimed; i++)
		if (is_list)
			hv_text_printf(&text, "%s{\"thread-id\": 1}", i ? ", " : "");
		else
			hv_text_printf(&text,
				       "CPU#%u\\r\\nRSP=0 RIP=8000 CPL=0 SMM=0 HLT=0\\r\\n"
				       "IDT=     0 0\\r\\nCR0=10 CR2=0 CR3=0 CR4=0\\r\\n",
				       i);
	hv_text_add(&text, is_list ? "]}" : "\"}");
	*ret = hv_text_take(&text);
	return NULL;
}

static void free_nothing(void *self hv_unused)
{
}

static const struct hv_monitor_ops monitor_ops = {.free = free_nothing, .transact = transact};

static struct hv_guest_ops ops = {
	.count_vcpus = count,
	.registers = registers,
	.hold_registers = registers,
	.hold_begin = begin,
};

static struct hv_guest *open_guest(void)
{
	const struct hv_guest_info info = {.name = "g", .id = "g", .nr_vcpus = 2};

	nr_claimed = 2;
	return part_guest_new(&ops, NULL, &info);
}

START_TEST(vcpus_come_and_go)
{
	struct hv_guest *g = open_guest();
	struct hv_vcpu_regs regs[3];

	expect_success(hv_guest_registers(g, regs, 2));
	nr_claimed = 3;
	expect_error(hv_guest_registers(g, regs, 2), E2BIG, "the guest has 3 vCPUs now, not 2");
	expect_success(hv_guest_count_vcpus(g));
	ck_assert_uint_eq(hv_guest_info(g)->nr_vcpus, 3);
	expect_success(hv_guest_registers(g, regs, 3));
	nr_claimed = 1;
	expect_error(hv_guest_registers(g, regs, 3), EAGAIN, "the guest has 1 vCPUs now, not 3");
	hv_guest_free(g);
}
END_TEST

START_TEST(a_count_is_bounded)
{
	static const char too_many[] =
		"the VMM reports a guest with 4097 vCPUs; at most 4096 are supported";
	struct hv_guest *g = open_guest();
	struct hv_hold *hold = NULL;

	nr_claimed = HV_VCPUS_MAX + 1;
	expect_error(hv_guest_count_vcpus(g), E2BIG, too_many);
	expect_error(hv_hold_begin(g, 1, &hold), E2BIG, too_many);
	nr_claimed = 0;
	expect_error(hv_guest_count_vcpus(g), EPROTO, "the VMM reports a guest without vCPUs");
	ck_assert_uint_eq(hv_guest_info(g)->nr_vcpus, 2);
	nr_claimed = HV_VCPUS_MAX;
	expect_success(hv_guest_count_vcpus(g));
	ck_assert_uint_eq(hv_guest_info(g)->nr_vcpus, HV_VCPUS_MAX);
	hv_guest_free(g);
}
END_TEST

START_TEST(a_monitor_is_bounded)
{
	struct hv_machine m = {.arch = hv_arch_find("x86_64"),
			       .nr_vcpus = 2,
			       .monitor = hv_parser_relay(hv_monitor_new(&monitor_ops, NULL))};
	HV_AUTO_FREE struct hv_vcpu_regs *regs = hv_alloc(2 * sizeof(*regs));
	HV_AUTO_FREE pid_t *tids = hv_alloc(HV_VCPUS_MAX * sizeof(*tids));
	unsigned nr = 0;
	size_t nr_tids = 0;

	nr_claimed = 2;
	expect_success(hv_machine_registers(&m, regs, 2));
	nr_claimed = 3;
	expect_error(hv_machine_registers(&m, regs, 2), E2BIG, "the guest has 3 vCPUs now, not 2");
	nr_claimed = 1;
	expect_error(hv_machine_registers(&m, regs, 2), EAGAIN, "the guest has 1 vCPUs now, not 2");
	nr_claimed = HV_VCPUS_MAX + 1;
	expect_error(hv_machine_count_vcpus(&m, &nr), E2BIG, "at most 4096 are supported");
	expect_error(hv_machine_first_threads(&m, tids, HV_VCPUS_MAX, &nr_tids), E2BIG,
		     "at most 4096");
	ck_assert_uint_eq(m.nr_vcpus, 2);
	hv_parser_free(m.monitor);
}
END_TEST

START_TEST(an_operation_that_a_vmm_lacks_is_named)
{
	struct hv_guest *g = open_guest();
	struct hv_host_threads threads = {0};
	HV_AUTO_TEXT struct hv_text text = {0};
	const struct {
		struct hv_err *err;
		const char *message;
	} rows[] = {
		{hv_guest_want_shadow(g),
		 "g: hvtrace has no way to replace pages of the guest's text here"},
		{hv_guest_tsc(g, 0, NULL),
		 "g: hvtrace has no way to read the offset of the guest's clock here"},
		{hv_guest_vcpu_threads(g, NULL, 0, NULL),
		 "g: hvtrace has no way to name the threads of vCPUs here"},
		{hv_guest_host_formats(g, &text),
		 "g: hvtrace has no way to record events of the host here"},
		{hv_guest_host_trace(g, 1, &threads),
		 "g: hvtrace has no way to record events of the host here"},
		{hv_guest_host_pipes(g, 0, NULL, 0, NULL, NULL),
		 "g: hvtrace has no way to record events of the host here"},
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(rows); i++)
		expect_error(rows[i].err, ENOTSUP, rows[i].message);
	hv_guest_free(g);
}
END_TEST

START_TEST(a_guest_is_held_once)
{
	struct hv_guest *g = open_guest();
	struct hv_hold *hold = NULL, *second = NULL;

	expect_success(hv_hold_begin(g, 1, &hold));
	expect_error(hv_hold_begin(g, 1, &second), EBUSY, "g: the guest is already held");
	ck_assert_ptr_null(second);
	expect_success(hv_hold_end(hold, NULL));
	hv_guest_free(g);
}
END_TEST

/* A later write could follow the end of the hold, which times out. */
START_TEST(three_quarters_of_a_hold_are_for_writes)
{
	struct hv_guest *g = open_guest();
	struct hv_hold *hold = NULL;

	expect_success(hv_hold_begin(g, 0, &hold));
	expect_error(hv_hold_check(hold), ETIMEDOUT,
		     "hold: it began 0 ms ago, too long ago for a write");
	expect_success(hv_hold_end(hold, NULL));
	expect_success(hv_hold_begin(g, UINT64_MAX, &hold));
	expect_success(hv_hold_check(hold));
	expect_success(hv_hold_end(hold, NULL));
	hv_guest_free(g);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, vcpus_come_and_go);
	tcase_add_test(tc, a_count_is_bounded);
	tcase_add_test(tc, a_monitor_is_bounded);
	tcase_add_test(tc, an_operation_that_a_vmm_lacks_is_named);
	tcase_add_test(tc, a_guest_is_held_once);
	tcase_add_test(tc, three_quarters_of_a_hold_are_for_writes);
}

int main(void)
{
	return run_suite("guest", add);
}
