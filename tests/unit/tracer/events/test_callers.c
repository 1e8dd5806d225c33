/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernels and architectures whose stacks cannot be recorded. */
#include <check.h>

#include "arch/arm64/arm64.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/tasks/fake_tasks.h"
#include "tracer/events/callers.h"

/* The kernel's interrupt stacks are not tested here. */
struct hv_err *__wrap_hv_kernel_need_irq_stack(const struct hv_kernel *k);

struct hv_err *__wrap_hv_kernel_need_irq_stack(const struct hv_kernel *k hv_unused)
{
	return NULL;
}

static struct ft t;
static struct hv_callers *callers;

static void setup(void)
{
	ft_init(&t);
	callers = hv_callers_new(&t.f.k, NULL);
}

static void teardown(void)
{
	hv_callers_free(callers);
	ft_deinit(&t);
}

START_TEST(a_task_without_the_address_of_its_stack)
{
	t.f.k.layout.has_task_stack = false;
	expect_error(hv_callers_check(callers), EOPNOTSUPP,
		     "BTF: no member stack in struct task_struct");
	expect_error(hv_callers_prepare(callers), EOPNOTSUPP,
		     "BTF: no member stack in struct task_struct");
}
END_TEST

/* An architecture with frame records, but no trampoline that follows them. */
START_TEST(an_architecture_without_the_trampoline)
{
	struct hv_arch arch = hv_arch_x86_64;

	t.f.k.layout.has_task_stack = true;
	arch.name = "m68k";
	arch.frame_register = hv_arch_arm64.frame_register;
	arch.trampolines.function_stack_off = 0;
	t.f.k.core.as.arch = &arch;
	expect_error(hv_callers_check(callers), EOPNOTSUPP,
		     "stacks are not supported yet for m68k guests");
	arch.trampolines.function_stack_off = hv_arch_x86_64.trampolines.function_stack_off;
	expect_success(hv_callers_check(callers));
	t.f.k.core.as.arch = &hv_arch_x86_64;
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_task_without_the_address_of_its_stack);
	tcase_add_test(tc, an_architecture_without_the_trampoline);
}

int main(void)
{
	return run_suite("callers", add_tests);
}
