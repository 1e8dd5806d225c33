/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A vCPU in system management mode when a hold by the monitor begins: a fake guardian holds, its
 * gdb stub shows a vCPU in the lower half of the addresses, and the monitor tells the mode.
 * Likewise riscv64's machine mode, which the gdb stub tells. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/run_suite.h"
#include "vmm/qemu/machine.h"

static struct {
	bool held;
	bool in_lower_half; /* the second vCPU is, and has the kernel's privileges */
	unsigned nr_in_smm; /* holds that find it in the mode */
	unsigned nr_holds;
	unsigned nr_exchanges;
	unsigned nr_registers; /* how often the gdb stub was asked for them */
	unsigned nr_told;      /* how often the monitor was */
	unsigned listed;
	unsigned selected;
	bool misses; /* the monitor does not say what it is asked */
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

#define SATP 0x9f
#define PRIV 0x15

/* rip and cs of the g packet; all else is 0. */
static void add_registers(struct hv_packets *answers)
{
	uint8_t g[268] = {0};
	uint64_t rip = 0xffffffff81000000;
	HV_AUTO_TEXT struct hv_text hex = {0};

	if (vmm.selected == 2 && vmm.in_lower_half)
		rip = 0x8000;
	memcpy(g + 128, &rip, sizeof(rip));
	for (size_t i = 0; i < sizeof(g); i++)
		hv_text_printf(&hex, "%02x", g[i]);
	hv_packets_add(answers, hex.data);
	vmm.nr_registers++;
}

static void answer(const char *packet, struct hv_packets *answers)
{
	char text[32] = "OK";

	if (!strcmp(packet, "qfThreadInfo"))
		vmm.listed = 0;
	if (strstr(packet, "ThreadInfo")) {
		vmm.listed++;
		snprintf(text, sizeof(text), vmm.listed <= 2 ? "m%02x" : "l", vmm.listed);
	}
	if (!strcmp(packet, "p9f"))
		snprintf(text, sizeof(text), "4123080000000090");
	if (!strcmp(packet, "p15"))
		snprintf(text, sizeof(text), "0%u00000000000000",
			 vmm.selected == 2 && vmm.nr_holds <= vmm.nr_in_smm ? 3 : 1);
	if (sscanf(packet, "Hg%x", &vmm.selected) != 1 && !strcmp(packet, "g"))
		add_registers(answers);
	else
		hv_packets_add(answers, text);
}

struct hv_err *hv_guardian_exchange(struct hv_guardian *g hv_unused,
				    const struct hv_packets *packets, struct hv_packets *answers)
{
	const char *packet = packets->bytes.data;

	ck_assert(vmm.held);
	vmm.nr_exchanges++;
	for (size_t i = 0; i < packets->nr; i++, packet += strlen(packet) + 1)
		answer(packet, answers);
	return NULL;
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
	vmm.nr_told++;
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
	hv_machine_forget_threads(&machine);
	hv_parser_free(machine.monitor);
	free(machine.held_regs);
}

START_TEST(the_monitor_is_not_asked_in_vain)
{
	struct hv_vcpu_regs regs[2];

	vmm.nr_in_smm = 1;
	ck_assert_ptr_null(hv_machine_hold_begin(&machine, 1000000));
	ck_assert_uint_eq(vmm.nr_told, 0);
	/* The patcher reads the registers in each hold; they are read once. */
	ck_assert_ptr_null(hv_machine_hold_registers(&machine, regs, 2));
	ck_assert_uint_eq(regs[1].ip.v, 0xffffffff81000000);
	ck_assert_uint_eq(vmm.nr_registers, 2);
	ck_assert_ptr_null(hv_machine_hold_end(&machine));
	ck_assert_ptr_null(machine.held_regs);
}
END_TEST

/* A vCPU that was not started, or that is in the kernel's first instructions. */
START_TEST(the_lower_half_alone_is_no_reason)
{
	vmm.in_lower_half = true;
	ck_assert_ptr_null(hv_machine_hold_begin(&machine, 1000000));
	ck_assert_uint_eq(vmm.nr_told, 1);
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
	ck_assert_ptr_nonnull(strstr(err->message, "vCPU 1 is in system management mode"));
	ck_assert_uint_eq(vmm.nr_holds, 100);
	ck_assert(!vmm.held && !machine.held);
}
END_TEST

START_TEST(what_the_monitor_does_not_tell_is_refused)
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
	machine.named_registers[0] = SATP;
	machine.named_registers[1] = PRIV;
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

/* The vCPUs are listed in one exchange, and asked in another. */
START_TEST(machine_mode_does_not_always_matter)
{
	struct hv_vcpu_regs regs[2];

	of_riscv64(UINT32_MAX);
	ck_assert_ptr_null(hv_machine_hold_begin_anywhere(&machine, 1000000));
	ck_assert_uint_eq(vmm.nr_holds, 1);
	ck_assert_ptr_null(hv_machine_hold_registers(&machine, regs, 2));
	ck_assert_uint_eq(vmm.nr_exchanges, 2);
	ck_assert_int_eq(regs[0].hidden, HV_HIDDEN_NO);
	ck_assert_int_eq(regs[1].hidden, HV_HIDDEN_YES);
	ck_assert_uint_eq(regs[1].root, 0x9000000000082341);
	ck_assert_ptr_null(hv_machine_hold_end(&machine));
}
END_TEST

/* In system management mode the registers do not tell whether the kernel is still the same. */
START_TEST(system_management_mode_always_does)
{
	vmm.in_lower_half = true;
	vmm.nr_in_smm = 2;
	ck_assert_ptr_null(hv_machine_hold_begin_anywhere(&machine, 1000000));
	ck_assert_uint_eq(vmm.nr_holds, 3);
	ck_assert_ptr_null(hv_machine_hold_end(&machine));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_monitor_is_not_asked_in_vain);
	tcase_add_test(tc, the_lower_half_alone_is_no_reason);
	tcase_add_test(tc, a_hold_waits_until_the_mode_is_left);
	tcase_add_test(tc, a_vcpu_that_stays_in_it_is_refused);
	tcase_add_test(tc, what_the_monitor_does_not_tell_is_refused);
	tcase_add_test(tc, machine_mode_is_waited_for);
	tcase_add_test(tc, machine_mode_does_not_always_matter);
	tcase_add_test(tc, system_management_mode_always_does);
}

int main(void)
{
	return run_suite("smm", add_tests);
}
