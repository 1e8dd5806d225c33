/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernels whose sections cannot be measured: their idle loop or their entries are not found. */
#include <check.h>

#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/tasks/fake_orc.h"
#include "tracer/events/decoder.h"
#include "tracer/guest/tracee.h"
#include "tracer/sections/section_tracer.h"

#define IDLE	  (FK_BASE + 0x2000) /* do_idle */
#define ENTER	  (FK_BASE + 0x3000)
#define EXIT	  (FK_BASE + 0x4000)
#define SYSCALL	  (FK_BASE + 0x5000)
#define ENTRY	  (FK_BASE + 0x6000)
#define ENTRY_END (FK_BASE + 0x7000)

static struct fo o;
static struct hv_tracee tracee;
static struct hv_decoder decoder;
static struct hv_section_tracer *tracer;

static void add_more(struct fk *f)
{
	uint32_t ops = FK_STRUCT("pv_irq_ops", 16, {"irq_disable", 0, 8}, {"irq_enable", 8, 8});

	FK_STRUCT("paravirt_patch_template", 32, {"irq", 16, 16, ops});
	fk_symbol(f, "do_idle", IDLE);
	fk_symbol(f, "tick_nohz_idle_enter", ENTER);
	fk_symbol(f, "tick_nohz_idle_exit", EXIT);
	fk_symbol(f, "do_syscall_64", SYSCALL);
	fk_symbol(f, "__entry_text_start", ENTRY);
	fk_symbol(f, "error_return", ENTRY + 0x100);
	fk_symbol(f, "swapgs_restore_regs_and_return_to_usermode", ENTRY + 0x140);
	fk_symbol(f, "__entry_text_end", ENTRY_END);
}

static void put_call(uint64_t at, uint64_t target)
{
	ck_assert(hv_arch_x86_64.encode_call(hv_gva(at), hv_gva(target), fk_host(&o.f, at)));
}

static void setup(void)
{
	fo_more = add_more;
	fo_init(&o, FO_END);
	expect_success(fo_derive(&o));
	memset(fk_host(&o.f, IDLE), 0xc3, FK_DATA - IDLE); /* ret */
	put_call(IDLE, ENTER);
	put_call(IDLE + 5, EXIT);
	o.f.k.layout.has_task_line = true;
	tracee = (struct hv_tracee){.guest = o.f.machine.guest, .kernel = &o.f.k};
	tracee.region = (struct hv_region){.host = hv_alloc(HV_REGION_LEN_MIN),
					   .len_bytes = HV_REGION_LEN_MIN};
	tracee.patcher = hv_patcher_new(&o.f.k.core.as, o.f.k.core.image.all, &tracee.region);
	tracer = hv_section_tracer_new(&tracee, NULL, &decoder);
}

static void teardown(void)
{
	hv_section_tracer_free(tracer);
	hv_patcher_free(tracee.patcher);
	free(tracee.region.host);
	fo_deinit(&o);
}

START_TEST(an_idle_loop_that_is_not_found)
{
	memset(fk_host(&o.f, IDLE + 5), 0x90, 5);
	expect_error(
		hv_section_tracer_start(tracer, HV_SECTION_IRQ), EOPNOTSUPP,
		"the start or end of this kernel's idle loop was not found, or cannot be changed");
}
END_TEST

/* Nothing in the entry code calls do_syscall_64(). */
START_TEST(an_entry_that_is_not_found)
{
	struct hv_err *err = hv_section_tracer_start(tracer, HV_SECTION_IRQ);

	ck_assert(err && err->facts & HV_ERR_NEEDS_FORCE);
	expect_error(err, EOPNOTSUPP, "1 of this kernel's entry points cannot be covered");
}
END_TEST

START_TEST(a_kernel_without_priorities_and_uid)
{
	o.f.k.layout.has_task_line = false;
	expect_error(hv_section_tracer_start(tracer, HV_SECTION_IRQ), EOPNOTSUPP,
		     "BTF: cannot find a task's priorities and uid");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, an_idle_loop_that_is_not_found);
	tcase_add_test(tc, an_entry_that_is_not_found);
	tcase_add_test(tc, a_kernel_without_priorities_and_uid);
}

int main(void)
{
	return run_suite("section_plan", add_tests);
}
