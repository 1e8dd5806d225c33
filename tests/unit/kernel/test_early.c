/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel that is starting, and one that has started. */
#include <check.h>

#include "kernel/early.h"
#include "tests/lib/part_guest.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/fake_kernel.h"

#define FTRACE_STUB (FK_BASE + 0x300)
#define THUNK	    (FK_BASE + 0x700)

static struct fk f;
static uint64_t state;

static void setup(void)
{
	f = (struct fk){0};
	fk_init(&f);
	enumerator("SYSTEM_BOOTING", 0);
	enumerator("SYSTEM_RUNNING", 3);
	state = fk_alloc(&f, 4);
	fk_symbol(&f, "ftrace_stub", FTRACE_STUB);
	fk_symbol(&f, "system_state", state);
	fk_done(&f);
	f.k.is_starting = true;
	*fk_host(&f, FTRACE_STUB) = 0xc3;
}

static void teardown(void)
{
	fk_deinit(&f);
}

static void jump_to_thunk(void)
{
	*fk_host(&f, FTRACE_STUB) = 0xe9;
	fk_u32(&f, FTRACE_STUB + 1, THUNK - (FTRACE_STUB + 5));
}

static bool settled(void)
{
	bool changed = false;
	struct hv_err *err = hv_kernel_settle(&f.k, &changed);

	ck_assert_msg(!err, "%s", err ? err->message : "");
	return changed;
}

START_TEST(a_starting_kernel_does_not_settle)
{
	jump_to_thunk();
	for (uint32_t s = 0; s < 3; s++) {
		fk_u32(&f, state, s);
		ck_assert(!hv_early_is_up(&f.k.core));
		ck_assert(!settled());
		ck_assert(f.k.is_starting);
		ck_assert_uint_eq(f.k.return_thunk.v, 0);
	}
}
END_TEST

START_TEST(a_started_kernel_settles_once)
{
	fk_u32(&f, state, 3);
	jump_to_thunk();
	ck_assert(settled());
	ck_assert_uint_eq(f.k.return_thunk.v, THUNK);
	ck_assert(!f.k.is_starting);
	*fk_host(&f, FTRACE_STUB) = 0xc3;
	ck_assert(!settled()); /* it settles only once */
	ck_assert_uint_eq(f.k.return_thunk.v, THUNK);
}
END_TEST

START_TEST(a_bare_return_stays_a_bare_return)
{
	fk_u32(&f, state, 4);
	ck_assert(!settled());
	ck_assert(!f.k.is_starting);
}
END_TEST

START_TEST(unknown_code_does_not_settle)
{
	bool changed;

	fk_u32(&f, state, 3);
	*fk_host(&f, FTRACE_STUB) = 0x90;
	expect_error(hv_kernel_settle(&f.k, &changed), ENOTSUP,
		     "unknown return instructions in this kernel's ftrace_stub 0xffffffff81000300");
	ck_assert(f.k.is_starting);
}
END_TEST

/* Without ftrace the empty functions show it: most of them return in the same way. */
START_TEST(returns_of_a_kernel_without_ftrace)
{
	struct hv_symbols *s = &f.k.core.symbols;
	bool changed;

	s->nr = 0;
	fk_symbol(&f, "code", FK_BASE + 0x100);
	fk_symbol(&f, "first", FTRACE_STUB);
	fk_symbol(&f, "second", FTRACE_STUB + 0x10);
	fk_symbol(&f, "third", FTRACE_STUB + 0x20);
	fk_symbol(&f, "srso_return_thunk", THUNK);
	fk_symbol(&f, "system_state", state);
	hv_symbols_index(s);
	fk_u32(&f, state, 3);
	memset(fk_host(&f, FK_BASE), 0x53, 0x1000);
	expect_error(hv_kernel_settle(&f.k, &changed), ENOTSUP,
		     "no function of this kernel shows how functions return");
	for (uint64_t at = FTRACE_STUB; at < FTRACE_STUB + 0x20; at += 0x10) {
		*fk_host(&f, at) = 0xe9;
		fk_u32(&f, at + 1, (uint32_t)(THUNK - (at + 5)));
	}
	*fk_host(&f, FTRACE_STUB + 0x20) = 0xc3;
	ck_assert(settled());
	ck_assert_uint_eq(f.k.return_thunk.v, THUNK);
}
END_TEST

/* It has patched its code when it leaves SYSTEM_BOOTING. */
START_TEST(a_kernel_without_btf)
{
	hv_btf_free(f.k.core.btf);
	f.k.core.btf = NULL;
	fk_u32(&f, state, 0);
	ck_assert(!hv_early_is_up(&f.k.core));
	fk_u32(&f, state, 1);
	ck_assert(hv_early_is_up(&f.k.core));
}
END_TEST

START_TEST(a_kernel_without_a_state_counts_as_up)
{
	f.k.core.symbols.nr = 0;
	hv_symbols_index(&f.k.core.symbols);
	ck_assert(hv_early_is_up(&f.k.core));
}
END_TEST

static struct hv_vcpu_regs told;

static struct hv_err *report_registers(void *self hv_unused, struct hv_vcpu_regs *ret, size_t nr)
{
	struct hv_err *err = hv_vcpus_check_room(1, nr);

	if (!err)
		*ret = told;
	return err;
}

/* Makes a guest with one vCPU that is stopped in the fake kernel. */
static struct hv_guest *stopped(uint64_t ip, uint64_t sp)
{
	static struct hv_guest_ops ops = {
		.read = xm_read,
		.free = xm_free,
		.registers = report_registers,
	};
	struct hv_guest_info info = *hv_guest_info(f.machine.guest);

	info.nr_vcpus = 1;
	told = (struct hv_vcpu_regs){
		.ip = hv_gva(ip), .sp = hv_gva(sp), .root = f.k.core.as.root.v, .levels = 4};
	return part_guest_new(&ops, &f.machine, &info);
}

START_TEST(where_a_function_will_return_to)
{
	uint64_t stack = fk_alloc(&f, 4096);
	HV_AUTO_GUEST struct hv_guest *g = stopped(FK_BASE + 0x100, stack + 0x80);
	struct hv_gva at = {0};
	struct hv_err *err;

	fk_u64(&f, stack + 0x80, FK_BASE + 0x4321);
	ck_assert_ptr_null(hv_early_return(g, &at));
	ck_assert_uint_eq(at.v, FK_BASE + 0x4321);
	told.sp = hv_gva(0xffffc90000000080);
	err = hv_early_return(g, &at);
	ck_assert_ptr_nonnull(err);
	ck_assert_str_eq(err->message, "nothing is mapped at 0xffffc90000000080");
	ck_assert_uint_eq(at.v, FK_BASE + 0x4321);
	hv_err_free(err);
	told.sp = hv_gva(stack + 0x80);
	fk_u64(&f, stack + 0x80, 0x4321); /* not in kernel text */
	expect_error(hv_early_return(g, &at), EINVAL, "vCPU 0: no return address at 0xffffffff8");
	told.levels = 0;
	expect_error(hv_early_return(g, &at), ENOENT, "vCPU 0: no page tables");
}
END_TEST

START_TEST(code_and_traps_of_a_kernel)
{
	HV_AUTO_GUEST struct hv_guest *g = stopped(0x7fff12345678, 0x7fff00000000);

	ck_assert(!hv_early_in_kernel(g));
	told.trap_table = hv_gva(0x7e00); /* the boot loader's */
	ck_assert(!hv_early_in_kernel(g));
	told.trap_table = hv_gva(0xfffffe0000000000);
	ck_assert(hv_early_in_kernel(g));
	told.trap_table = hv_gva(0);
	told.ip = hv_gva(FK_BASE);
	ck_assert(hv_early_in_kernel(g));
	told.levels = 0;
	ck_assert(!hv_early_in_kernel(g));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_starting_kernel_does_not_settle);
	tcase_add_test(tc, a_started_kernel_settles_once);
	tcase_add_test(tc, a_bare_return_stays_a_bare_return);
	tcase_add_test(tc, returns_of_a_kernel_without_ftrace);
	tcase_add_test(tc, unknown_code_does_not_settle);
	tcase_add_test(tc, a_kernel_without_btf);
	tcase_add_test(tc, a_kernel_without_a_state_counts_as_up);
	tcase_add_test(tc, where_a_function_will_return_to);
	tcase_add_test(tc, code_and_traps_of_a_kernel);
}

int main(void)
{
	return run_suite("early", add_tests);
}
