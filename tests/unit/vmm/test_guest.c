/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The number of vCPUs that a VMM reports is limited, and no caller's buffer is overrun. */
#include <check.h>
#include <string.h>

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

static void check_code(struct hv_err *err, int code)
{
	ck_assert_msg(err && err->code == code, "%s", err ? err->message : "no error");
	hv_err_free(err);
}

static void check_none(struct hv_err *err)
{
	ck_assert_msg(!err, "%s", err ? err->message : "");
}

START_TEST(vcpus_come_and_go)
{
	struct hv_guest *g = open_guest();
	struct hv_vcpu_regs regs[3];

	check_none(hv_guest_registers(g, regs, 2));
	nr_claimed = 3;
	check_code(hv_guest_registers(g, regs, 2), E2BIG);
	check_none(hv_guest_count_vcpus(g));
	ck_assert_uint_eq(hv_guest_info(g)->nr_vcpus, 3);
	check_none(hv_guest_registers(g, regs, 3));
	nr_claimed = 1;
	check_code(hv_guest_registers(g, regs, 3), EAGAIN);
	hv_guest_free(g);
}
END_TEST

START_TEST(a_count_is_bounded)
{
	struct hv_guest *g = open_guest();
	struct hv_hold *hold = NULL;

	nr_claimed = HV_VCPUS_MAX + 1;
	check_code(hv_guest_count_vcpus(g), E2BIG);
	check_code(hv_hold_begin(g, 1, &hold), E2BIG);
	nr_claimed = 0;
	check_code(hv_guest_count_vcpus(g), EPROTO);
	ck_assert_uint_eq(hv_guest_info(g)->nr_vcpus, 2);
	nr_claimed = HV_VCPUS_MAX;
	check_none(hv_guest_count_vcpus(g));
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
	check_none(hv_machine_registers(&m, regs, 2));
	nr_claimed = 3;
	check_code(hv_machine_registers(&m, regs, 2), E2BIG);
	nr_claimed = 1;
	check_code(hv_machine_registers(&m, regs, 2), EAGAIN);
	nr_claimed = HV_VCPUS_MAX + 1;
	check_code(hv_machine_count_vcpus(&m, &nr), E2BIG);
	check_code(hv_machine_first_threads(&m, tids, HV_VCPUS_MAX, &nr_tids), E2BIG);
	ck_assert_uint_eq(m.nr_vcpus, 2);
	hv_parser_free(m.monitor);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, vcpus_come_and_go);
	tcase_add_test(tc, a_count_is_bounded);
	tcase_add_test(tc, a_monitor_is_bounded);
}

int main(void)
{
	return run_suite("guest", add);
}
