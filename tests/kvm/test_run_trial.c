/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `hvtrace run` must report a KVM that cannot boot Linux within a second, before it creates the
 * machine and reads the kernel. To find out whether this KVM can, the test measures a loop in its
 * own machine. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "tests/kvm/machine.h"
#include "tests/lib/run_suite.h"
#include "vmm/minivm/minivm.h"

#define ROUNDS	100000u
#define SLOW_NS (HV_NS_PER_S / 25) /* for the rounds; a CPU needs a hundredth of it */

static uint64_t cpu_time_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * HV_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Returns whether this KVM executes instructions as slowly as an emulator. */
static bool is_slow(struct machine *m)
{
	/* 1: dec %ecx; jnz 1b; hlt */
	static const uint8_t code[] = {0xff, 0xc9, 0x75, 0xfc, 0xf4};
	struct kvm_regs regs = {.rip = machine_gva(MACHINE_TEXT_OFF).v, .rcx = ROUNDS, .rflags = 2};
	uint64_t start_ns = cpu_time_ns();
	unsigned port;

	memcpy(m->memory + MACHINE_TEXT_OFF, code, sizeof(code));
	machine_set_regs(m, &regs, hv_gva(0));
	ck_assert_int_eq(machine_run(m, &port), MACHINE_HALT);
	return cpu_time_ns() - start_ns > SLOW_NS;
}

START_TEST(a_kvm_too_slow_is_reported_early)
{
	const struct hv_minivm_config config = {.name = "test",
						.kernel_path = "/nowhere",
						.append = "",
						.memory_bytes = 64 << 20,
						.nr_vcpus = 1,
						.console_in_fd = -1,
						.console_out_fd = -1};
	const char *lack;
	struct machine *m = machine_new(&lack);
	uint64_t start_ns;
	struct hv_minivm *vm = NULL;
	struct hv_err *err;
	bool slow;

	ck_assert_ptr_nonnull(m);
	slow = is_slow(m);
	machine_free(m);
	start_ns = cpu_time_ns();
	err = hv_minivm_new(&config, &vm);
	ck_assert_ptr_nonnull(err);
	printf("%s\n", err->message);
	ck_assert_uint_lt(cpu_time_ns() - start_ns, HV_NS_PER_S);
	ck_assert_int_eq(err->code, slow ? ENOTSUP : ENOENT);
	hv_err_free(err);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, a_kvm_too_slow_is_reported_early);
	tcase_set_timeout(tc, 60);
}

int main(void)
{
	const char *lack;
	struct machine *m = machine_new(&lack);

	if (!m) {
		printf("skip: %s\n", lack);
		return 77;
	}
	machine_free(m);
	return run_suite("run_trial", add_tests);
}
