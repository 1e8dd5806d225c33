/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A vCPU in system management mode at the start of a hold. A fake guardian reports a vCPU in the
 * lower half of the addresses, and the monitor reports the mode. On riscv64 the gdb stub reports
 * machine mode. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/run_suite.h"
#include "vmm/qemu/machine.h"

static struct {
	bool held;
	bool in_lower_half; /* the second vCPU, with kernel privileges */
	unsigned nr_in_smm; /* number of holds that find it in the mode */
	unsigned nr_holds;
	unsigned nr_looks;    /* number of register reads through the gdb stub */
	unsigned nr_reported; /* number of reads through the monitor */
	unsigned nr_vcpus;
	unsigned nr_flushes;
	bool misses; /* the monitor's answer lacks the mode */
} vmm;

static struct hv_machine machine;

/* The guardian: guardian.h. */

struct hv_err *hv_guardian_hold(struct hv_guardian *g hv_unused, uint64_t max_ns hv_unused,
				uint64_t *ret_ns)
{
	ck_assert(!vmm.held);
	vmm.held = true;
	vmm.nr_holds++;
	*ret_ns = 1;
	return NULL;
}

struct hv_err *hv_guardian_hold_asleep(struct hv_guardian *g, uint64_t max_ns, uint64_t *ret_ns)
{
	return hv_guardian_hold(g, max_ns, ret_ns);
}

struct hv_err *hv_guardian_release(struct hv_guardian *g hv_unused, uint64_t *ret_held_ns)
{
	ck_assert(vmm.held);
	vmm.held = false;
	*ret_held_ns = 1;
	return NULL;
}

bool hv_guardian_is_alive(const struct hv_guardian *g hv_unused)
{
	return true;
}

void hv_guardian_free(struct hv_guardian *g hv_unused)
{
}

enum hv_guardian_state hv_guardian_state(struct hv_guardian *g hv_unused)
{
	return HV_GUARDIAN_RUNS;
}

void hv_guardian_forget_stop(struct hv_guardian *g hv_unused)
{
}

struct hv_err *hv_guardian_start(const char *path hv_unused, pid_t pid hv_unused,
				 struct hv_guardian **ret hv_unused)
{
	return hv_err_new(ENOTSUP, "not here");
}

struct hv_err *hv_guardian_describe(struct hv_guardian *g hv_unused,
				    const struct hv_arch *arch hv_unused)
{
	return hv_err_new(ENOTSUP, "not here");
}

static struct hv_vcpu_regs registers_of(unsigned vcpu)
{
	struct hv_vcpu_regs regs = {.ip = {0xffffffff81000000}};

	if (vcpu == 1 && vmm.in_lower_half) {
		regs.ip.v = 0x8000;
		regs.hidden = HV_HIDDEN_MAYBE;
	}
	if (vcpu == 1 && machine.arch->hidden_keeps_root && vmm.nr_holds <= vmm.nr_in_smm) {
		regs.root = 0x9000000000082341;
		regs.hidden = HV_HIDDEN_YES;
	}
	return regs;
}

struct hv_err *hv_guardian_look(struct hv_guardian *g hv_unused, unsigned expected hv_unused,
				struct hv_vcpu_regs **ret, unsigned *ret_nr)
{
	struct hv_vcpu_regs *regs = hv_alloc(vmm.nr_vcpus * sizeof(*regs));

	ck_assert(vmm.held);
	vmm.nr_looks++;
	for (unsigned i = 0; i < vmm.nr_vcpus; i++)
		regs[i] = registers_of(i);
	*ret = regs;
	*ret_nr = vmm.nr_vcpus;
	return NULL;
}

struct hv_err *hv_guardian_flush(struct hv_guardian *g hv_unused)
{
	ck_assert(vmm.held);
	vmm.nr_flushes++;
	return NULL;
}

struct hv_err *hv_guardian_execute(struct hv_guardian *g hv_unused,
				   const struct hv_packets *packets hv_unused)
{
	return hv_err_new(ENOTSUP, "not here");
}

/* The monitor. */

static void add_vcpu(struct hv_text *text, unsigned vcpu, unsigned smm)
{
	hv_text_printf(text,
		       "CPU#%u\\r\\nRSP=0 RIP=8000 CPL=0 SMM=%u HLT=0\\r\\nIDT=     0 0\\r\\n"
		       "CR0=10 CR2=0 CR3=0 CR4=0\\r\\n",
		       vcpu, smm);
}

static struct hv_err *transact(void *self hv_unused, const char *request, char **ret)
{
	HV_AUTO_TEXT struct hv_text text = {0};

	if (strstr(request, "query-status")) {
		*ret = hv_strdup("{\"return\": {\"status\": \"running\", \"running\": true}}");
		return NULL;
	}
	ck_assert_ptr_nonnull(strstr(request, "info registers -a"));
	ck_assert(vmm.held);
	vmm.nr_reported++;
	hv_text_add(&text, "{\"return\": \"");
	if (!vmm.misses)
		add_vcpu(&text, 0, 0);
	add_vcpu(&text, 1, vmm.nr_holds <= vmm.nr_in_smm);
	hv_text_add(&text, "\"}");
	*ret = hv_text_take(&text);
	return NULL;
}

static void free_nothing(void *self hv_unused)
{
}

static const struct hv_monitor_ops ops = {.free = free_nothing, .transact = transact};

static void setup(void)
{
	memset(&vmm, 0, sizeof(vmm));
	vmm.nr_vcpus = 2;
	machine = (struct hv_machine){
		.arch = hv_arch_find("x86_64"),
		.accel = HV_ACCEL_TCG,
		.nr_vcpus = 2,
		.prepared = true,
		.guardian = (struct hv_guardian *)&vmm,
		.monitor = hv_parser_relay(hv_monitor_new(&ops, NULL)),
		.region.fd = -1,
	};
}

static void teardown(void)
{
	hv_parser_free(machine.monitor);
	free(machine.held_regs);
}

START_TEST(the_monitor_is_asked_only_if_needed)
{
	struct hv_vcpu_regs regs[2];

	vmm.nr_in_smm = 1;
	ck_assert_ptr_null(hv_machine_hold_begin(&machine, 1000000));
	ck_assert_uint_eq(vmm.nr_reported, 0);
	/* The patcher needs the registers in each hold; they are read once. */
	ck_assert_ptr_null(hv_machine_hold_registers(&machine, regs, 2));
	ck_assert_uint_eq(regs[1].ip.v, 0xffffffff81000000);
	ck_assert_uint_eq(vmm.nr_looks, 1);
	ck_assert_ptr_null(hv_machine_hold_end(&machine));
	ck_assert_ptr_null(machine.held_regs);
}
END_TEST

/* A vCPU that was not started, or that executes the kernel's first instructions. */
START_TEST(an_address_in_the_lower_half_is_allowed)
{
	vmm.in_lower_half = true;
	ck_assert_ptr_null(hv_machine_hold_begin(&machine, 1000000));
	ck_assert_uint_eq(vmm.nr_reported, 1);
	ck_assert_uint_eq(vmm.nr_holds, 1);
	ck_assert_ptr_null(hv_machine_hold_end(&machine));
}
END_TEST

START_TEST(a_hold_waits_until_the_mode_is_left)
{
	vmm.in_lower_half = true;
	vmm.nr_in_smm = 3;
	ck_assert_ptr_null(hv_machine_hold_begin(&machine, 1000000));
	ck_assert_uint_eq(vmm.nr_holds, 4);
	ck_assert(vmm.held && machine.held);
	ck_assert_ptr_null(hv_machine_hold_end(&machine));
}
END_TEST

START_TEST(a_vcpu_that_stays_in_it_is_refused)
{
	HV_AUTO_ERR struct hv_err *err = NULL;

	vmm.in_lower_half = true;
	vmm.nr_in_smm = UINT32_MAX;
	err = hv_machine_hold_begin(&machine, 1000000);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EBUSY);
	ck_assert_ptr_nonnull(strstr(err->message, "vCPU 1 is in system management mode each "
						   "time it is stopped"));
	ck_assert_uint_eq(vmm.nr_holds, 100);
	ck_assert(!vmm.held && !machine.held);
}
END_TEST

START_TEST(missing_monitor_answers_are_refused)
{
	HV_AUTO_ERR struct hv_err *err = NULL;

	vmm.in_lower_half = true;
	vmm.misses = true;
	err = hv_machine_hold_begin(&machine, 1000000);
	ck_assert_ptr_nonnull(err);
	ck_assert(!vmm.held && !machine.held);
}
END_TEST

static void of_riscv64(unsigned nr_in_firmware)
{
	machine.arch = hv_arch_find("riscv64");
	vmm.nr_in_smm = nr_in_firmware;
}

START_TEST(machine_mode_is_waited_for)
{
	HV_AUTO_ERR struct hv_err *err = NULL;

	of_riscv64(3);
	ck_assert_ptr_null(hv_machine_hold_begin(&machine, 1000000));
	ck_assert_uint_eq(vmm.nr_holds, 4);
	ck_assert_ptr_null(hv_machine_hold_end(&machine));
	vmm.nr_in_smm = UINT32_MAX;
	err = hv_machine_hold_begin(&machine, 1000000);
	ck_assert_ptr_nonnull(err);
	ck_assert_ptr_nonnull(strstr(err->message, "vCPU 1 is in machine mode"));
}
END_TEST

START_TEST(machine_mode_does_not_always_matter)
{
	struct hv_vcpu_regs regs[2];

	of_riscv64(UINT32_MAX);
	ck_assert_ptr_null(hv_machine_hold_begin_anywhere(&machine, 1000000));
	ck_assert_uint_eq(vmm.nr_holds, 1);
	ck_assert_ptr_null(hv_machine_hold_registers(&machine, regs, 2));
	ck_assert_uint_eq(vmm.nr_looks, 1);
	ck_assert_int_eq(regs[0].hidden, HV_HIDDEN_NO);
	ck_assert_int_eq(regs[1].hidden, HV_HIDDEN_YES);
	ck_assert_uint_eq(regs[1].root, 0x9000000000082341);
	ck_assert_ptr_null(hv_machine_hold_end(&machine));
}
END_TEST

/* Every hold waits for a vCPU in system management mode: its registers do not show whether the
 * kernel is still the same one. */
START_TEST(system_management_mode_always_does)
{
	vmm.in_lower_half = true;
	vmm.nr_in_smm = 2;
	ck_assert_ptr_null(hv_machine_hold_begin_anywhere(&machine, 1000000));
	ck_assert_uint_eq(vmm.nr_holds, 3);
	ck_assert_ptr_null(hv_machine_hold_end(&machine));
}
END_TEST

/* The caller's buffer has the size for the vCPUs of an earlier hold. */
START_TEST(a_buffer_is_not_overrun)
{
	HV_AUTO_FREE struct hv_vcpu_regs *regs = hv_alloc(2 * sizeof(*regs));
	HV_AUTO_ERR struct hv_err *more = NULL;
	HV_AUTO_ERR struct hv_err *fewer = NULL;
	HV_AUTO_ERR struct hv_err *not_held = NULL;

	vmm.nr_vcpus = 3;
	ck_assert_ptr_null(hv_machine_hold_begin(&machine, 1000000));
	more = hv_machine_hold_registers(&machine, regs, 2);
	ck_assert(more && more->code == E2BIG);
	ck_assert_ptr_null(hv_machine_hold_end(&machine));
	vmm.nr_vcpus = 1;
	ck_assert_ptr_null(hv_machine_hold_begin(&machine, 1000000));
	fewer = hv_machine_hold_registers(&machine, regs, 2);
	ck_assert(fewer && fewer->code == EAGAIN);
	ck_assert_ptr_null(hv_machine_hold_end(&machine));
	not_held = hv_machine_hold_registers(&machine, regs, 1);
	ck_assert(not_held && not_held->code == EINVAL);
}
END_TEST

START_TEST(translations_are_flushed_by_the_guardian)
{
	ck_assert_ptr_null(hv_machine_hold_begin(&machine, 1000000));
	ck_assert_ptr_null(hv_machine_hold_flush(&machine, 0, 0x1000));
	ck_assert_uint_eq(vmm.nr_flushes, 1);
	ck_assert_ptr_null(hv_machine_hold_end(&machine));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_monitor_is_asked_only_if_needed);
	tcase_add_test(tc, an_address_in_the_lower_half_is_allowed);
	tcase_add_test(tc, a_hold_waits_until_the_mode_is_left);
	tcase_add_test(tc, a_vcpu_that_stays_in_it_is_refused);
	tcase_add_test(tc, missing_monitor_answers_are_refused);
	tcase_add_test(tc, machine_mode_is_waited_for);
	tcase_add_test(tc, machine_mode_does_not_always_matter);
	tcase_add_test(tc, system_management_mode_always_does);
	tcase_add_test(tc, a_buffer_is_not_overrun);
	tcase_add_test(tc, translations_are_flushed_by_the_guardian);
}

int main(void)
{
	return run_suite("smm", add_tests);
}
