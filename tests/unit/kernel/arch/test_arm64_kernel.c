/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that only arm64 kernels need, tested with a fake kernel. Its page tables are x86-64's, which
 * makes no difference for this code. */
#include <check.h>

#include "kernel/arch/arm64.h"
#include "kernel/clock/clock.h"
#include "kernel/arch/generic.h"
#include "kernel/layout.h"
#include "kernel/tasks/tasks.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/fake_kernel.h"

#define FUNCTION (FK_BASE + 0x300)
#define OTHER	 (FK_BASE + 0x400)
/* struct clock_data: seq, then two copies from 8 on, of 40 bytes each */
#define COPY(n)	 (clock_at + 8 + 40 * (n))

static struct fk f;
static uint64_t clock_at, kpti_at;

/* With 64 KiB pages, the stacks of tasks and of interrupts have 64 KiB. */
#define INIT_STACK (FK_BASE + 0x100000)

/* Variables: the exception level in which the kernel was started, and two for the module areas. */
static uint64_t mode_at, area_at, direct_at;
static struct hv_arch moved; /* its range begins far below the image */
#define LEVEL_CODE (FK_BASE + 0x4000)
/* The instruction that reads the CPU's offset in call_on_irq_stack(); 0: there is no such
 * function. */
static uint32_t level_code;

static void setup(void)
{
	uint32_t copy, copies;

	fk_init(&f);
	copy = FK_STRUCT("clock_read_data", 40, {"epoch_ns", 0, 8}, {"epoch_cyc", 8, 8},
			 {"sched_clock_mask", 16, 8}, {"read_sched_clock", 24, 8}, {"mult", 32, 4},
			 {"shift", 36, 4});
	copies = array(copy, 2);
	FK_STRUCT("clock_data", 104, {"seq", 0, 4}, {"read_data", 8, 80, copies}, {"rate", 88, 8},
		  {"actual_read_sched_clock", 96, 8});
	kpti_at = fk_alloc(&f, 8);
	clock_at = fk_alloc(&f, 104);
	fk_symbol(&f, "irq_stack_ptr", FK_PERCPU(1));
	fk_symbol(&f, "overflow_stack", FK_PERCPU(2));
	fk_symbol(&f, "__start_init_task", INIT_STACK);
	fk_symbol(&f, "__end_init_task", INIT_STACK + 0x10000);
	fk_symbol(&f, "arch_counter_get_cntvct", FUNCTION);
	fk_symbol(&f, "arch_counter_get_cntpct", OTHER);
	fk_symbol(&f, "call_on_irq_stack", LEVEL_CODE);
	mode_at = fk_alloc(&f, 8);
	fk_symbol(&f, "arm64_use_ng_mappings", kpti_at);
	fk_symbol(&f, "cd", clock_at);
	fk_symbol(&f, "__boot_cpu_mode", mode_at);
	fk_done(&f);
	fk_u32(&f, mode_at, ARM64_BOOTED_IN_EL1);
	moved = hv_arch_x86_64;
	moved.classify_percpu = hv_arch_arm64.classify_percpu;
	f.k.core.as.arch = &moved;
}

static void teardown(void)
{
	fk_deinit(&f);
}

static void set_copy(unsigned n, uint64_t ns, uint64_t cyc, uint32_t mult, uint32_t shift)
{
	fk_u64(&f, COPY(n), ns);
	fk_u64(&f, COPY(n) + 8, cyc);
	fk_u64(&f, COPY(n) + 24, FUNCTION);
	fk_u32(&f, COPY(n) + 32, mult);
	fk_u32(&f, COPY(n) + 36, shift);
}

static struct hv_clock_source *find_clock(void)
{
	struct hv_clock_source *source = NULL;

	ck_assert_ptr_null(hv_kernel_arch_arm64.find_clock(&f.k.core, &source));
	return source;
}

START_TEST(the_clock_is_the_copy_in_use)
{
	HV_AUTO_FREE struct hv_clock_source *source = NULL;
	struct hv_clock_scale scale = {0};

	set_copy(0, 1000, 50, 16, 1);
	set_copy(1, 2000, 150, 32, 2);
	fk_u32(&f, clock_at, 4);
	source = find_clock();
	ck_assert_ptr_nonnull(source);
	ck_assert_ptr_null(source->read(source, &f.k.core, 0, &scale));
	ck_assert_uint_eq(scale.base_ns, 1000);
	ck_assert_uint_eq(scale.base_tsc, 50);
	ck_assert_uint_eq(scale.mul, 16);
	ck_assert_uint_eq(scale.shift, 1);
	fk_u32(&f, clock_at, 5);
	ck_assert_ptr_null(source->read(source, &f.k.core, 1, &scale));
	ck_assert_uint_eq(scale.base_ns, 2000);
	ck_assert_uint_eq(scale.shift, 2);
}
END_TEST

START_TEST(an_unknown_counter_gives_no_clock)
{
	set_copy(0, 1000, 50, 16, 1);
	fk_u64(&f, COPY(0) + 24, OTHER);
	ck_assert_ptr_null(find_clock());
	hv_btf_free(f.k.core.btf);
	f.k.core.btf = NULL;
	ck_assert_ptr_null(find_clock());
}
END_TEST

/* A kernel that was started in EL2 reads the physical counter, also in EL1. */
START_TEST(the_clock_of_a_host)
{
	HV_AUTO_FREE struct hv_clock_source *source = NULL;

	fk_u32(&f, mode_at, 0xe12);
	fk_u32(&f, LEVEL_CODE, 0xd538d091); /* mrs x17, tpidr_el1 */
	set_copy(0, 1000, 50, 16, 1);
	ck_assert_ptr_null(find_clock());
	fk_u64(&f, COPY(0) + 24, OTHER);
	source = find_clock();
	ck_assert_ptr_nonnull(source);
}
END_TEST

/* The clock's data is accepted only if all its fields agree. */
START_TEST(clock_data_is_known_by_its_scale)
{
	static const struct {
		uint64_t off;
		uint32_t v;
	} wrong[] = {{88, 62500100}, {88, 62499900}, {96, 1},	  {8 + 16, 6},
		     {8 + 32, 17},   {48 + 36, 1},   {48 + 24, 1}};

	/* 62.5 MHz: 16 ns a tick */
	for (unsigned i = 0; i < 2; i++) {
		set_copy(i, 1000, 50, 16 << 20, 20);
		fk_u64(&f, COPY(i) + 16, (UINT64_C(1) << 56) - 1);
	}
	ck_assert(!hv_clock_data_is_at(&f.k.core, hv_gva(clock_at)));
	fk_u64(&f, clock_at + 88, 62500000);
	fk_u64(&f, clock_at + 96, FUNCTION);
	ck_assert(hv_clock_data_is_at(&f.k.core, hv_gva(clock_at)));
	ck_assert(!hv_clock_data_is_at(&f.k.core, hv_gva(clock_at + 8)));
	for (size_t i = 0; i < HV_ARRAY_LEN(wrong); i++) {
		uint32_t before;

		memcpy(&before, fk_host(&f, clock_at + wrong[i].off), sizeof(before));
		fk_u32(&f, clock_at + wrong[i].off, wrong[i].v);
		ck_assert_msg(!hv_clock_data_is_at(&f.k.core, hv_gva(clock_at)), "row %zu", i);
		fk_u32(&f, clock_at + wrong[i].off, before);
	}
	ck_assert(hv_clock_data_is_at(&f.k.core, hv_gva(clock_at)));
}
END_TEST

START_TEST(the_boot_mode_is_known_by_its_words)
{
	const struct hv_unnamed *mode = &arm64_unnamed[1];
	static const struct {
		uint32_t words[2];
		bool is_mode;
	} rows[] = {{{0xe11, 0xe11}, true},  {{0xe12, 0xe12}, true},  {{0xe11, 0xe12}, true},
		    {{0xe11, 0}, false},     {{0xe13, 0xe11}, false}, {{0xe11, 0xe10}, false},
		    {{0xe11, 0x111}, false}, {{0, 0}, false},	      {{0xe111, 0xe11}, false}};

	for (size_t i = 0; i < HV_ARRAY_LEN(rows); i++) {
		fk_u32(&f, kpti_at, rows[i].words[0]);
		fk_u32(&f, kpti_at + 4, rows[i].words[1]);
		ck_assert_msg(mode->is_at(&f.k.core, hv_gva(kpti_at)) == rows[i].is_mode, "row %zu",
			      i);
	}
}
END_TEST

START_TEST(interrupt_stacks_are_aligned)
{
	uint64_t at = f.areas[0] + FK_PERCPU(1), unused;
	struct hv_err *err;

	fk_u64(&f, at, 0xffff800080010000);
	ck_assert_ptr_null(arm64_find_irq_stack(&f.k.core, &unused));
	fk_u64(&f, at, 0xffff800080014000);
	err = arm64_find_irq_stack(&f.k.core, &unused);
	ck_assert(err && err->code == EOPNOTSUPP && strstr(err->message, "not aligned"));
	hv_err_free(err);
}
END_TEST

START_TEST(stacks_of_a_cpu)
{
	struct hv_cpu_stack stacks[HV_CPU_STACKS_MAX];
	size_t nr = 0;

	fk_u64(&f, f.areas[1] + FK_PERCPU(1), 0xffff800080010000);
	ck_assert_ptr_null(arm64_read_stacks(&f.k.core, 1, stacks, &nr));
	ck_assert_uint_eq(nr, 2);
	ck_assert_uint_eq(stacks[0].range.start.v, 0xffff800080010000);
	ck_assert_uint_eq(stacks[0].range.end.v, 0xffff800080020000);
	ck_assert_int_eq(stacks[0].kind, HV_CPU_STACK_INTERRUPT);
	ck_assert_uint_eq(stacks[1].range.start.v, f.areas[1] + FK_PERCPU(2));
	ck_assert_int_eq(stacks[1].kind, HV_CPU_STACK_EXCEPTION);
	ck_assert_ptr_null(arm64_read_stacks(&f.k.core, 0, stacks, &nr)); /* never started */
	ck_assert_uint_eq(nr, 1);
}
END_TEST

START_TEST(kpti_follows_the_global_bit)
{
	ck_assert(!hv_kernel_arch_arm64.has_kpti(&f.k.core));
	*fk_host(&f, kpti_at) = 1;
	ck_assert(hv_kernel_arch_arm64.has_kpti(&f.k.core));
}
END_TEST

/* Adds the unnamed union of preempt_count and preempt, as in struct thread_info. */
static void add_task_types(void)
{
	uint32_t preempt, thread_info, inner;

	preempt = FK_STRUCT("", 8, {"count", 0, 4}, {"need_resched", 4, 4});
	inner = type(UNION, "", 1, 0, 8);
	member("preempt", preempt, 0);
	thread_info =
		FK_STRUCT("thread_info", 32, {"flags", 0, 8}, {"", 8, 8, inner}, {"cpu", 20, 4});
	FK_STRUCT("task_struct", 64, {"thread_info", 0, 32, thread_info});
}

START_TEST(numbers_are_in_the_task)
{
	struct hv_percpu_layout layout = {0};
	HV_AUTO_ERR struct hv_err *err = NULL;

	fk_deinit(&f);
	fk_init(&f);
	add_task_types();
	fk_done(&f);
	err = hv_kernel_arch_arm64.find_percpu(&f.k.core, &layout);
	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert(layout.in_task);
	ck_assert_uint_eq(layout.cpu_number, 20);
	ck_assert_uint_eq(layout.preempt_count, 8);
	ck_assert(!layout.has_steal_time);
}
END_TEST

START_TEST(the_current_task_is_the_run_queues)
{
	struct hv_gva task = {0};

	fk_deinit(&f);
	fk_init(&f);
	FK_STRUCT("rq", 64, {"nr_running", 0, 4}, {"curr", 16, 8});
	fk_symbol(&f, "runqueues", FK_PERCPU(3));
	fk_done(&f);
	f.k.layout.in_task = true;
	fk_u64(&f, f.areas[1] + FK_PERCPU(3) + 16, FK_DATA + 0x40);
	ck_assert_ptr_null(hv_task_current(&f.k, 1, &task));
	ck_assert_uint_eq(task.v, FK_DATA + 0x40);
	ck_assert_ptr_null(hv_task_current(&f.k, 0, &task));
	ck_assert_uint_eq(task.v, 0);
}
END_TEST

static void begin_reach(const char *area)
{
	fk_deinit(&f);
	fk_init(&f);
	mode_at = fk_alloc(&f, 8);
	area_at = fk_alloc(&f, 8);
	direct_at = fk_alloc(&f, 8);
	if (level_code)
		fk_symbol(&f, "call_on_irq_stack", LEVEL_CODE);
	fk_symbol(&f, "__boot_cpu_mode", mode_at);
	fk_symbol(&f, area, area_at);
	fk_symbol(&f, "module_direct_base", direct_at);
	fk_done(&f);
	fk_u32(&f, mode_at, ARM64_BOOTED_IN_EL1);
	if (level_code)
		fk_u32(&f, LEVEL_CODE + 16, level_code);
	fk_u64(&f, area_at, FK_BASE - (512 << 20));
	moved = hv_arch_x86_64;
	moved.classify_percpu = hv_arch_arm64.classify_percpu;
	moved.image_range.start = hv_gva(FK_BASE - (8ull << 30));
	f.k.core.as.arch = &moved;
}

static void refuses(const char *why)
{
	struct hv_reach reach = {0};
	HV_AUTO_ERR struct hv_err *err = arm64_find_reach(&f.k.core, &reach);

	ck_assert(err && err->code == ENOTSUP && strstr(err->message, why));
	ck_assert_uint_eq(reach.text_base.v, 0);
}

/* Checks that code in the first 64 MiB of MODULES can call every veneer. */
static void check_veneers(const struct hv_reach *reach, uint64_t modules)
{
	const uint64_t bl = 128 << 20, veneer = 1 << 20;

	ck_assert_uint_lt(reach->veneers.start.v, modules);
	ck_assert_uint_gt(reach->veneers.end.v, modules + (64 << 20));
	ck_assert_uint_ge(reach->veneers.start.v + bl, modules + (64 << 20));
	ck_assert_uint_le(reach->veneers.end.v + veneer, modules + bl);
}

START_TEST(reach_is_around_the_image)
{
	const uint64_t bl = 128 << 20;
	struct hv_reach reach = {0};

	begin_reach("module_plt_base");
	ck_assert_ptr_null(arm64_find_reach(&f.k.core, &reach));
	ck_assert_uint_eq(reach.text_base.v + HV_TEXT_BIT, FK_BASE - (512 << 20));
	ck_assert_uint_eq(reach.code.start.v + bl, FK_END);
	ck_assert_uint_lt(reach.code.end.v, FK_BASE + bl);
	ck_assert_uint_eq(reach.free_range.start.v, reach.code.start.v);
	ck_assert_uint_ge(reach.free_range.end.v, reach.code.end.v + bl);
	ck_assert_uint_eq(reach.code_else.start.v, reach.code_else.end.v);
	ck_assert_uint_eq(reach.module_areas[0].start.v, FK_BASE - (512 << 20));
	ck_assert_uint_eq(reach.module_areas[0].end.v, FK_BASE + (1536ull << 20));
	ck_assert_uint_eq(reach.module_areas[1].start.v, reach.module_areas[1].end.v);
	check_veneers(&reach, FK_BASE - (512 << 20));
	fk_u64(&f, direct_at, FK_BASE - (1 << 20));
	ck_assert_ptr_null(arm64_find_reach(&f.k.core, &reach));
	ck_assert_uint_eq(reach.module_areas[1].end.v, FK_BASE + (127 << 20));
	check_veneers(&reach, FK_BASE - (1 << 20));
}
END_TEST

/* Before 6.5. */
START_TEST(module_area_by_its_older_symbol)
{
	struct hv_reach reach = {0};

	begin_reach("module_alloc_base");
	ck_assert_ptr_null(arm64_find_reach(&f.k.core, &reach));
	ck_assert_uint_eq(reach.module_areas[0].start.v, FK_BASE - (512 << 20));
}
END_TEST

/* The vmalloc area begins directly above such an image. */
START_TEST(no_region_above_an_unmoved_image)
{
	struct hv_reach reach = {0};

	begin_reach("module_plt_base");
	moved.image_range.start = hv_gva(FK_BASE - (2ull << 30));
	ck_assert_ptr_null(arm64_find_reach(&f.k.core, &reach));
	ck_assert_uint_eq(reach.free_range.end.v, FK_BASE);
	ck_assert_uint_eq(reach.free_range.start.v, FK_BASE - (512 << 20));
	ck_assert_uint_eq(reach.code_else.start.v, FK_BASE - (512 << 20));
	ck_assert_uint_eq(reach.code_else.end.v, reach.code.start.v);
	/* all callers are in the image's text */
	ck_assert_uint_eq(reach.code.start.v + (128 << 20), f.k.core.image.text.end.v);
	fk_u64(&f, area_at, FK_BASE - (2ull << 30) + (FK_END - FK_BASE));
	ck_assert_ptr_null(arm64_find_reach(&f.k.core, &reach));
	ck_assert_uint_eq(reach.veneers.start.v, moved.image_range.start.v);
	fk_u64(&f, area_at, FK_BASE - (64 << 20));
	ck_assert_ptr_null(arm64_find_reach(&f.k.core, &reach));
	ck_assert_uint_eq(reach.veneers.end.v, FK_BASE);
}
END_TEST

#define MIB (1ull << 20)

/* Since 6.10 the allocator of modules reads its areas through execmem_info. */
START_TEST(module_areas_by_the_allocators_pointer)
{
	const uint64_t all = FK_BASE - 512 * MIB, direct = FK_BASE - 100 * MIB;
	static const struct {
		uint64_t start, bytes, else_start, else_bytes;
		bool fits;
	} rows[] = {
		{FK_BASE - 100 * MIB, 128 * MIB, FK_BASE - 512 * MIB, 2048 * MIB, true},
		{FK_BASE - 512 * MIB, 2048 * MIB, 0, 0, true},
		{FK_BASE - 100 * MIB, 128 * MIB, 0, 0, false}, /* no space further away */
		{FK_BASE - 100 * MIB, 64 * MIB, FK_BASE - 512 * MIB, 2048 * MIB, false},
		{FK_BASE - 512 * MIB + 8, 2048 * MIB, 0, 0, false}, /* not aligned */
		{FK_BASE + MIB, 2048 * MIB, 0, 0, false},	    /* above the image */
		{FK_BASE - 2048 * MIB, 2048 * MIB, 0, 0, false}, /* too far below the image's end */
		{FK_BASE - 600 * MIB, 128 * MIB, FK_BASE - 512 * MIB, 2048 * MIB, false},
	};
	struct arm64_module_areas areas = {0};
	uint64_t pointer, info;
	struct hv_reach reach;

	fk_deinit(&f);
	fk_init(&f);
	FK_STRUCT("execmem_info", 120,
		  {"ranges", 8, 80,
		   array(FK_STRUCT("execmem_range", 40, {"start", 0, 8}, {"end", 8, 8},
				   {"fallback_start", 16, 8}, {"fallback_end", 24, 8}),
			 2)});
	mode_at = fk_alloc(&f, 8);
	pointer = fk_alloc(&f, 8);
	info = fk_alloc(&f, 120);
	fk_symbol(&f, "__boot_cpu_mode", mode_at);
	fk_symbol(&f, "execmem_info", pointer);
	fk_done(&f);
	fk_u32(&f, mode_at, ARM64_BOOTED_IN_EL1);
	f.k.core.as.arch = &moved;
	for (size_t i = 0; i < HV_ARRAY_LEN(rows); i++) {
		fk_u64(&f, info + 8, rows[i].start);
		fk_u64(&f, info + 16, rows[i].start + rows[i].bytes);
		fk_u64(&f, info + 24, rows[i].else_start);
		fk_u64(&f, info + 32, rows[i].else_start + rows[i].else_bytes);
		fk_u64(&f, pointer, 0);
		refuses("the addresses of this kernel's modules");
		fk_u64(&f, pointer, info);
		ck_assert_msg(arm64_unnamed[2].is_at(&f.k.core, hv_gva(pointer)) == rows[i].fits,
			      "row %zu", i);
		if (!rows[i].fits) {
			refuses("the addresses of this kernel's modules");
			continue;
		}
		ck_assert_ptr_null(arm64_find_module_areas(&f.k.core, &areas));
		ck_assert_uint_eq(areas.all, all);
		ck_assert_uint_eq(areas.direct, rows[i].else_start ? direct : 0);
		ck_assert_ptr_null(arm64_find_reach(&f.k.core, &reach));
		ck_assert_uint_eq(reach.module_areas[0].start.v, all);
	}
	ck_assert(!arm64_unnamed[2].is_at(&f.k.core, hv_gva(info)));
}
END_TEST

START_TEST(implausible_module_areas_are_refused)
{
	begin_reach("module_plt_base");
	fk_u64(&f, area_at, FK_BASE + 8); /* after the image's start */
	refuses("the addresses of this kernel's modules");
	fk_u64(&f, area_at, FK_END - (2ull << 30) - 8); /* too far below its end */
	refuses("the addresses of this kernel's modules");
	fk_u64(&f, area_at, 0);
	refuses("the addresses of this kernel's modules");
	begin_reach("module_plt_base");
	f.k.core.image.all.end = hv_gva(FK_BASE + (127 << 20) + 1);
	refuses("the kernel's image is larger than the reach of a call");
	begin_reach("module_plt_base");
	fk_u32(&f, mode_at, 0xe12);
	refuses("the kernel was started in EL2: cannot tell whether it stayed there");
}
END_TEST

static enum arm64_level level_found(uint32_t code, uint32_t mode)
{
	enum arm64_level level = ARM64_IN_EL1;
	struct hv_reach reach;

	level_code = code;
	begin_reach("module_plt_base");
	level_code = 0;
	fk_u32(&f, mode_at, mode);
	ck_assert_ptr_null(arm64_find_level(&f.k.core, &level));
	ck_assert_ptr_null(arm64_find_reach(&f.k.core, &reach));
	return level;
}

/* mrs x17, tpidr_el1, or tpidr_el2 */
START_TEST(the_exception_level_of_a_kernel)
{
	ck_assert_int_eq(level_found(0xd538d091, ARM64_BOOTED_IN_EL1), ARM64_IN_EL1);
	ck_assert_int_eq(level_found(0xd538d091, 0xe12), ARM64_IN_EL1_ABOVE);
	ck_assert_int_eq(level_found(0xd53cd051, 0xe12), ARM64_IN_EL2);
	level_code = 0xd503201f;
	begin_reach("module_plt_base");
	level_code = 0;
	fk_u32(&f, mode_at, 0xe12);
	refuses("the kernel was started in EL2: cannot tell whether it stayed there");
}
END_TEST

START_TEST(the_table_serves_every_format)
{
	f.k.core.as.arch = hv_arch_arm64.formats[3];
	ck_assert_ptr_eq(hv_kernel_arch_of(&f.k.core), &hv_kernel_arch_arm64);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_clock_is_the_copy_in_use);
	tcase_add_test(tc, an_unknown_counter_gives_no_clock);
	tcase_add_test(tc, the_clock_of_a_host);
	tcase_add_test(tc, clock_data_is_known_by_its_scale);
	tcase_add_test(tc, the_boot_mode_is_known_by_its_words);
	tcase_add_test(tc, interrupt_stacks_are_aligned);
	tcase_add_test(tc, stacks_of_a_cpu);
	tcase_add_test(tc, kpti_follows_the_global_bit);
	tcase_add_test(tc, numbers_are_in_the_task);
	tcase_add_test(tc, the_current_task_is_the_run_queues);
	tcase_add_test(tc, reach_is_around_the_image);
	tcase_add_test(tc, module_area_by_its_older_symbol);
	tcase_add_test(tc, no_region_above_an_unmoved_image);
	tcase_add_test(tc, module_areas_by_the_allocators_pointer);
	tcase_add_test(tc, implausible_module_areas_are_refused);
	tcase_add_test(tc, the_exception_level_of_a_kernel);
	tcase_add_test(tc, the_table_serves_every_format);
}

int main(void)
{
	return run_suite("arm64_kernel", add_tests);
}
