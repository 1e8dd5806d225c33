/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that only x86-64 kernels need, tested with a fake kernel. See also test_clock.c,
 * test_layout.c and test_tasks.c for clocks, per-CPU variables and the contents of stacks. */
#include <check.h>

#include "kernel/arch/kernel_arch.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/tasks/fake_tasks.h"

#define THUNK	   (FK_BASE + 0x300)
#define ENTRY_AREA 0xfffffe0000001000ull

static struct fk f;
static struct ft t;

static void setup_tasks(void)
{
	ft_init(&t);
}

static void teardown_tasks(void)
{
	ft_deinit(&t);
}

/* Writes x86_cap_flags with two names, and room for the bits of boot_cpu_data. */
static uint64_t names, cpu;

static void make_flags(const char *symbol, uint64_t at)
{
	f = (struct fk){0};
	fk_init(&f);
	FK_STRUCT("cpuinfo_x86", 64, {"x86_capability", 16, 8});
	names = fk_alloc(&f, 64 * 8);
	cpu = fk_alloc(&f, 64);
	fk_u64(&f, names + 8 * 3, names + 0x800);
	fk_str(&f, names + 0x800, "ptinot");
	fk_u64(&f, names + 8 * 41, names + 0x810);
	fk_str(&f, names + 0x810, "pti");
	fk_symbol(&f, "x86_cap_flags", names);
	fk_symbol(&f, "boot_cpu_data", cpu);
	fk_symbol(&f, symbol, at);
	fk_done(&f);
}

static void setup_flags(void)
{
	make_flags("__x86_indirect_thunk_rcx", THUNK);
}

static void teardown_flags(void)
{
	fk_deinit(&f);
}

static bool has_kpti(void)
{
	return hv_kernel_arch_of(&f.k.core)->has_kpti(&f.k.core);
}

START_TEST(kpti_is_a_flag_of_the_cpu)
{
	ck_assert(!has_kpti());
	fk_u64(&f, cpu + 16, 1ull << 3);
	ck_assert(!has_kpti());
	fk_u64(&f, cpu + 16, 1ull << 41);
	ck_assert(has_kpti());
}
END_TEST

START_TEST(without_the_table_of_flags_there_is_no_kpti)
{
	fk_u64(&f, cpu + 16, 1ull << 41);
	fk_u64(&f, names + 8 * 41, 0x123456); /* not the address of a name */
	ck_assert(!has_kpti());
	fk_u64(&f, names + 8 * 41, names + 0x810);
	hv_btf_free(f.k.core.btf);
	f.k.core.btf = NULL;
	ck_assert(!has_kpti());
}
END_TEST

static bool jumps_bare(void)
{
	return hv_kernel_arch_of(&f.k.core)->jumps_bare(&f.k.core);
}

static void put_thunk(const char *code)
{
	memcpy(fk_host(&f, THUNK), code, 2);
}

START_TEST(a_kernel_jumps_bare_if_its_thunk_is_only_the_jump)
{
	put_thunk("\xff\xe1"); /* jmp *%rcx */
	ck_assert(jumps_bare());
	put_thunk("\xe8\x01"); /* a retpoline */
	ck_assert(!jumps_bare());
}
END_TEST

START_TEST(a_kernel_that_tracks_branches_does_not_jump_bare)
{
	fk_deinit(&f);
	make_flags("ibt_selftest", THUNK);
	ck_assert(!jumps_bare()); /* no flag has the name ibt */
	fk_str(&f, names + 0x800, "ibt");
	ck_assert(jumps_bare());
	fk_u64(&f, cpu + 16, 1ull << 3);
	ck_assert(!jumps_bare());
}
END_TEST

START_TEST(unknown_thunks_prevent_bare_jumps)
{
	fk_deinit(&f);
	make_flags("__x86_indirect_thunk_array", THUNK);
	ck_assert(!jumps_bare());
}
END_TEST

START_TEST(a_kernel_without_thunks_jumps_bare)
{
	fk_deinit(&f);
	make_flags("its_own", THUNK);
	ck_assert(jumps_bare());
}
END_TEST

static void check_refused(struct hv_err *err, const char *message)
{
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EOPNOTSUPP);
	ck_assert_str_eq(err->message, message);
	hv_err_free(err);
}

/* Trampolines recognize exception stacks by their addresses. */
START_TEST(exception_stacks_are_in_the_entry_area)
{
	ft_percpu(&t, FT_CEA, 0, ENTRY_AREA);
	ck_assert_ptr_null(hv_kernel_need_exception_stacks(&t.f.k));
	ft_percpu(&t, FT_CEA, 0, 0xffff888000000000);
	check_refused(hv_kernel_need_exception_stacks(&t.f.k),
		      "stacks of exceptions are at 0xffff888000000000, where trampolines do not "
		      "expect them");
	t.f.k.core.symbols.nr = 0;
	check_refused(hv_kernel_need_exception_stacks(&t.f.k),
		      "no symbol cea_exception_stacks: stacks of exceptions cannot be recognised");
}
END_TEST

START_TEST(an_interrupt_stack_is_needed)
{
	ck_assert_ptr_null(hv_kernel_need_irq_stack(&t.f.k));
	t.f.k.core.symbols.nr = 0;
	check_refused(hv_kernel_need_irq_stack(&t.f.k),
		      "no symbol hardirq_stack_ptr: stacks of interrupts cannot be recognised");
}
END_TEST

/* KVM raises the version of each record that it writes. */
START_TEST(steal_time_needs_a_nonzero_version)
{
	struct hv_layout *layout = &t.f.k.layout;

	check_refused(hv_kernel_need_steal_time(&t.f.k),
		      "the kernel has no steal time (struct kvm_steal_time): the host cannot report"
		      " how long a vCPU did not run");
	layout->has_steal_time = true;
	layout->nr_cpus = FK_NR_CPUS;
	layout->steal_version_percpu = FK_PERCPU(FT_PVCLOCK);
	ft_percpu(&t, FT_PVCLOCK, 0, 0);
	check_refused(
		hv_kernel_need_steal_time(&t.f.k),
		"the host does not report steal time to the guest: TCG has none, and under KVM"
		" the VMM can switch it off");
	ft_percpu(&t, FT_PVCLOCK, 0, 2);
	ck_assert_ptr_null(hv_kernel_need_steal_time(&t.f.k));
}
END_TEST

/* Before 5.12, hardirq_stack_ptr is the end of the stack, not its last word. */
START_TEST(an_interrupt_stack_found_by_its_end)
{
	struct hv_cpu_stack list[HV_CPU_STACKS_MAX];
	size_t nr = 0;

	ft_percpu(&t, FT_IRQ_PTR, 1, t.irq_stacks[1] + FT_IRQ);
	hv_err_free(hv_kernel_arch_of(&t.f.k.core)->read_stacks(&t.f.k.core, 1, list, &nr));
	ck_assert_uint_ge(nr, 1);
	ck_assert_uint_eq(list[0].range.start.v, t.irq_stacks[1]);
	ck_assert_uint_eq(list[0].range.end.v, t.irq_stacks[1] + FT_IRQ);
}
END_TEST

START_TEST(stacks_of_a_cpu)
{
	struct hv_cpu_stack list[HV_CPU_STACKS_MAX];
	size_t nr = 0;
	struct hv_err *err = hv_kernel_arch_of(&t.f.k.core)->read_stacks(&t.f.k.core, 1, list, &nr);

	ck_assert_ptr_null(err);
	ck_assert_uint_eq(nr, 4);
	ck_assert_str_eq(list[0].name, "irq stack");
	ck_assert_int_eq(list[0].kind, HV_CPU_STACK_INTERRUPT);
	ck_assert_uint_eq(list[0].range.start.v, t.irq_stacks[1]);
	ck_assert_uint_eq(list[0].range.end.v, t.irq_stacks[1] + FT_IRQ);
	ck_assert_str_eq(list[1].name, "NMI stack");
	ck_assert_int_eq(list[1].kind, HV_CPU_STACK_EXCEPTION);
	ck_assert_uint_eq(list[1].range.start.v, t.estacks[1] + FT_NMI);
	ck_assert_str_eq(list[2].name, "debug stack");
	ck_assert_str_eq(list[3].name, "entry stack");
	ck_assert_uint_eq(list[3].range.start.v, t.estacks[1] - FT_AREA_ESTACKS + FT_AREA_ENTRY);
}
END_TEST

static void rename_symbol(const char *name, const char *to)
{
	struct hv_symbols *s = &t.f.k.core.symbols;

	for (size_t i = 0; i < s->nr; i++)
		if (!strcmp(s->by_addr[i].name, name))
			s->by_addr[i].name = to;
	hv_symbols_index(s);
}

#define IST_0 (ENTRY_AREA + 0x5000)

/* The exception stacks of Linux 4.19, of 4, 4, 8 and 4 KiB, and the entry stack of 512 bytes. */
static void make_old_stacks(unsigned nr)
{
	static const uint64_t ends[] = {IST_0, IST_0 + 0x1000, IST_0 + 0x3000, IST_0 + 0x4000};
	const uint64_t area = t.f.areas[nr], tss = area + FK_PERCPU(FT_CYC2NS);

	rename_symbol("cea_exception_stacks", "orig_ist");
	rename_symbol("hardirq_stack_ptr", "old");
	rename_symbol("irq_stack_ptr", "old");
	rename_symbol("old", "irq_stack_ptr");
	rename_symbol("cyc2ns", "cpu_tss_rw");
	memset(fk_host(&t.f, tss), 0, 0x100);
	memset(fk_host(&t.f, area + FK_PERCPU(FT_CEA)), 0, 0x100);
	for (unsigned i = 0; i < 4; i++) {
		fk_u64(&t.f, area + FK_PERCPU(FT_CEA) + 8 * i, ends[i]);
		fk_u64(&t.f, tss + 36 + 8 * i, ends[i]);
	}
	fk_u64(&t.f, tss + 4, ENTRY_AREA + 0x1200);
}

START_TEST(stacks_of_a_cpu_of_old_kernels)
{
	static const uint64_t ranges[][2] = {{IST_0 - 0x1000, IST_0},
					     {IST_0, IST_0 + 0x1000},
					     {IST_0 + 0x1000, IST_0 + 0x3000},
					     {IST_0 + 0x3000, IST_0 + 0x4000},
					     {ENTRY_AREA + 0x1000, ENTRY_AREA + 0x1200}};
	struct hv_cpu_stack list[HV_CPU_STACKS_MAX];
	size_t nr = 0;
	struct hv_err *err;

	make_old_stacks(1);
	/* A debug exception is being handled. */
	fk_u64(&t.f, t.f.areas[1] + FK_PERCPU(FT_CYC2NS) + 36 + 16, IST_0 + 0x2000);
	err = hv_kernel_arch_of(&t.f.k.core)->read_stacks(&t.f.k.core, 1, list, &nr);
	ck_assert_ptr_null(err);
	ck_assert_uint_eq(nr, 1 + HV_ARRAY_LEN(ranges));
	ck_assert_int_eq(list[0].kind, HV_CPU_STACK_INTERRUPT);
	for (size_t i = 0; i < HV_ARRAY_LEN(ranges); i++) {
		ck_assert_int_eq(list[i + 1].kind, HV_CPU_STACK_EXCEPTION);
		ck_assert_uint_eq(list[i + 1].range.start.v, ranges[i][0]);
		ck_assert_uint_eq(list[i + 1].range.end.v, ranges[i][1]);
	}
}
END_TEST

/* A CPU that was never online has no exception stacks. */
START_TEST(cpu_without_old_stacks)
{
	struct hv_cpu_stack list[HV_CPU_STACKS_MAX];
	size_t nr = 0;
	struct hv_err *err;

	make_old_stacks(0);
	memset(fk_host(&t.f, t.f.areas[0] + FK_PERCPU(FT_CEA)), 0, 0x100);
	err = hv_kernel_arch_of(&t.f.k.core)->read_stacks(&t.f.k.core, 0, list, &nr);
	ck_assert_ptr_null(err);
	ck_assert_uint_eq(nr, 1);
}
END_TEST

START_TEST(old_stacks_need_two_proofs)
{
	const uint64_t ists = t.f.areas[0] + FK_PERCPU(FT_CEA);
	static const char message[] =
		"cpu 0: the stack of exceptions that ends at 0xfffffe0000009000"
		" is not in the TSS, or not after the one before it";

	make_old_stacks(0);
	ck_assert_ptr_null(hv_kernel_need_exception_stacks(&t.f.k));
	fk_u64(&t.f, t.f.areas[0] + FK_PERCPU(FT_CYC2NS) + 36 + 16, IST_0 + 0x4000);
	check_refused(hv_kernel_need_exception_stacks(&t.f.k), message);
	make_old_stacks(0);
	fk_u64(&t.f, ists + 8, IST_0 + 0x3000); /* no room between two of them */
	check_refused(hv_kernel_need_exception_stacks(&t.f.k), message);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup_flags, teardown_flags);
	tcase_add_test(tc, kpti_is_a_flag_of_the_cpu);
	tcase_add_test(tc, without_the_table_of_flags_there_is_no_kpti);
	tcase_add_test(tc, a_kernel_jumps_bare_if_its_thunk_is_only_the_jump);
	tcase_add_test(tc, a_kernel_that_tracks_branches_does_not_jump_bare);
	tcase_add_test(tc, unknown_thunks_prevent_bare_jumps);
	tcase_add_test(tc, a_kernel_without_thunks_jumps_bare);
	tcase_add_checked_fixture(tc, setup_tasks, teardown_tasks);
	tcase_add_test(tc, exception_stacks_are_in_the_entry_area);
	tcase_add_test(tc, an_interrupt_stack_is_needed);
	tcase_add_test(tc, steal_time_needs_a_nonzero_version);
	tcase_add_test(tc, an_interrupt_stack_found_by_its_end);
	tcase_add_test(tc, stacks_of_a_cpu);
	tcase_add_test(tc, stacks_of_a_cpu_of_old_kernels);
	tcase_add_test(tc, cpu_without_old_stacks);
	tcase_add_test(tc, old_stacks_need_two_proofs);
}

int main(void)
{
	return run_suite("kernel_arch", add_tests);
}
