/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plugs an event into a tracepoint and takes it out again, with changes by the guest in between.
 * test_plug_shared.c covers tracepoints that share state. */
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/tracepoints/fake_plug.h"
#include "tracer/tracepoints/plug.h"

START_TEST(plugged_in_and_taken_out)
{
	hv_plug_prepare(&r.tracee, &plug);
	fp_apply(true, 2 + FTP_NR - 1);
	ck_assert_uint_eq(fp_word_at(tp.type.tracepoint.funcs.v), FP_ARRAY);
	ck_assert_uint_eq((uint32_t)fp_word_at(tp.type.tracepoint.key.v), 1);
	for (unsigned i = 0; i < FTP_NR - 1; i++)
		ck_assert(fp_jumps(i));
	ck_assert_mem_eq(fk_host(f, FTP_SITE(FTP_INIT)), before + 0x100 * FTP_INIT, 8);
	fp_apply(false, 2 + FTP_NR - 1);
	fp_check_off();
	fp_apply(true, 2 + FTP_NR - 1);
	fp_apply(false, 2 + FTP_NR - 1);
	fp_check_off();
}
END_TEST

/* The array belongs to hvtrace. The tests read it as the guest does. */
START_TEST(contents_of_the_callback_array)
{
	const uint8_t *array = r.tracee.region.host + FP_ARRAY_OFF;
	const uint8_t *file = r.tracee.region.host + HV_REGION_FILES_OFF + FP_INDEX * 128;
	uint64_t words[8];

	memset(r.tracee.region.host + HV_REGION_CALLBACKS_OFF, 0x5a, 4096);
	memset(r.tracee.region.host + HV_REGION_FILES_OFF, 0x5a, 4096);
	hv_plug_prepare(&r.tracee, &plug);
	fp_apply(true, FP_NR_CHANGES);
	memcpy(words, array, sizeof(words));
	ck_assert_uint_eq(words[0] | words[1], 0);
	ck_assert_uint_eq(words[2], FTP_CALLBACK);
	ck_assert_uint_eq(words[3], FP_FILE);
	ck_assert_uint_eq(words[4], 10);
	ck_assert_uint_eq(words[5] | words[6] | words[7], 0);
	memcpy(words, file, sizeof(words));
	ck_assert_uint_eq(words[0], 314);
	ck_assert_uint_eq(file[72], 0);
	ck_assert_uint_eq(array[-1], 0x5a);
	for (unsigned i = 64; i < HV_REGION_ARRAY_BYTES; i++)
		ck_assert_uint_eq(array[i], 0);
	ck_assert_uint_eq(array[HV_REGION_ARRAY_BYTES], 0x5a);
	ck_assert_uint_eq(file[-1], 0x5a);
	ck_assert_uint_eq(file[128], 0x5a);
}
END_TEST

/* Before 5.10: no static call, and callers go through the array themselves. */
START_TEST(in_and_out_of_an_old_kernel)
{
	hv_cleanup(hv_iterators_deinit) struct hv_iterators all = {0};

	fp_tear_down();
	fp_set_up_as(true);
	hv_plug_prepare(&r.tracee, &plug);
	fp_apply(true, 2 + FTP_NR - 1);
	fp_guest_has(2);
	fk_u32(f, tp.type.tracepoint.key.v, 1);
	fp_apply(false, 1);
	ck_assert_uint_eq(fp_word_at(tp.array + 2 * 24), FTP_STUB_FUNC);
	ck_assert(r.tracee.had_copies);
	/* A vCPU may be in the old array wherever it executes the kernel. */
	hv_iterators_find(&f->k, &layout, &all);
	ck_assert_uint_eq(all.nr, 1 + f->k.modules.nr);
	ck_assert_uint_eq(all.list[0].start.v, f->k.text.start.v);
	ck_assert_uint_eq(all.list[0].end.v, f->k.text.end.v);
	fp_guest_has(0);
	fp_apply(false, 3 + FTP_NR - 1);
	fp_check_off();
}
END_TEST

START_TEST(taken_out_after_the_guest_came_and_went)
{
	fp_apply(true, 2 + FTP_NR - 1);
	fp_guest_has(0);
	fp_apply(false, 3 + FTP_NR - 1);
	fp_check_off();
	ck_assert_uint_eq(fp_word_at(tp.array), FTP_STUB_FUNC); /* a vCPU may be reading it */
	fp_apply(false, 0);
}
END_TEST

START_TEST(taken_out_while_the_guest_uses_it)
{
	struct hv_plug_step step = fp_step_of(false);
	struct hv_err *err;

	fp_apply(true, 2 + FTP_NR - 1);
	fp_guest_has(2);
	fk_u32(f, tp.type.tracepoint.key.v, 1);
	hv_plug_step_plan(&r.tracee, &layout, &step);
	ck_assert(!r.tracee.had_copies);
	fk_u64(f, tp.locks[0], 1);
	err = hv_plug_steps_make(&r.tracee, &layout, &step, 1);
	ck_assert(err && err->code == EBUSY);
	hv_err_free(err);
	hv_plug_steps_deinit(&step, 1);
	ck_assert(r.tracee.had_copies); /* a hold that failed may have written */
	fk_u64(f, tp.locks[0], 0);
	fp_apply(false, 1);
	ck_assert_uint_eq(fp_word_at(tp.type.tracepoint.funcs.v), tp.array);
	ck_assert_uint_eq(fp_word_at(tp.array + 2 * 24), FTP_STUB_FUNC);
	ck_assert_uint_eq(fp_word_at(tp.array + 2 * 24 + 8),
			  FP_FILE); /* the iterator may still load it */
	ck_assert_uint_eq(fp_word_at(tp.array), FTP_OTHER);
	for (unsigned i = 0; i < FTP_NR - 1; i++)
		ck_assert(fp_jumps(i));
	fp_apply(false, 0);
}
END_TEST

/* Linux 4.19 has no tp_stub_func(), so its copies would keep another function. */
START_TEST(out_while_the_guest_keeps_the_copy)
{
	fp_tear_down();
	fp_set_up_as(true);
	layout.drops_stub = false;
	hv_plug_prepare(&r.tracee, &plug);
	fp_apply(true, 2 + FTP_NR - 1);
	fp_guest_has(2);
	fk_u32(f, tp.type.tracepoint.key.v, 1);
	fp_fails(false, EBUSY, "keeps it there until the guest's tracing of the event ends; retry");
	fp_guest_has(0);
	fp_apply(false, 3 + FTP_NR - 1);
	fp_check_off();
}
END_TEST

START_TEST(a_key_site_that_came_with_a_module)
{
	uint64_t at = tp.table + FTP_INIT * 16;

	fp_apply(true, 2 + FTP_NR - 1);
	fp_guest_has(0);
	fk_u64(f, at + 8, tp.type.tracepoint.key.v - (at + 8));
	memcpy(fk_host(f, FTP_SITE(FTP_INIT)), "\xeb\x3e", 2);
	fp_apply(false, 3 + FTP_NR);
	ck_assert_mem_eq(fk_host(f, FTP_SITE(FTP_INIT)), ftp_short_nop, sizeof(ftp_short_nop));
}
END_TEST

START_TEST(out_without_a_journal)
{
	fp_apply(true, 2 + FTP_NR - 1);
	fp_guest_has(0);
	hv_patcher_free(r.tracee.patcher);
	r.tracee.patcher = hv_patcher_new(&f->k.core.as, f->k.core.image.all, &r.tracee.region);
	*(uint8_t *)fk_host(f, FTP_SITE(FTP_NR)) = 0xeb;
	fp_fails(false, EUCLEAN, "the original instruction at");
	*(uint8_t *)fk_host(f, FTP_SITE(FTP_NR)) = 0x66;
	fp_apply(false, 3 + FTP_NR - 1); /* another key's site shows the original nop */
	fp_check_off();
}
END_TEST

START_TEST(used_or_inconsistent_tracepoints_are_refused)
{
	struct hv_tracepoint *p = &tp.type.tracepoint;

	fk_u64(f, p->funcs.v, FP_ARRAY);
	fp_fails(true, EBUSY, "for another event");
	fp_guest_has(1);
	fp_fails(true, EBUSY, "for another event");
	fk_u32(f, p->key.v, 2);
	fp_guest_has(0);
	fp_fails(false, EINVAL, "its tracepoint has hvtrace's callback, and its key is 2");
	fk_u64(f, p->funcs.v, 0);
	fp_fails(true, EINVAL, "its tracepoint has no callback and is on (2)");
	fk_u32(f, p->key.v, 0);
	fk_u64(f, tp.static_call, FTP_OTHER);
	fp_fails(true, EBUSY, "static call");
	fk_u64(f, tp.static_call, FTP_CALLBACK);
	memcpy(fk_host(f, FTP_SITE(FTP_SHORT)), "\xeb\x3e", 2);
	fp_fails(true, EINVAL, "its static key is off, and 0x");
	memcpy(fk_host(f, FTP_SITE(FTP_SHORT)), ftp_short_nop, 2);
	fp_apply(true, 2 + FTP_NR - 1);
}
END_TEST

/* The guest's table of jumps has a target that the site's two bytes cannot reach. */
START_TEST(a_jump_that_is_too_short)
{
	uint64_t at = tp.table + FTP_SHORT * 16 + 4;

	fk_u32(f, at, (uint32_t)(FTP_SITE(FTP_SHORT) + 0x1000 - at));
	fp_fails(true, EINVAL, "the target of 0xffffffff81040200 is out of its reach");
}
END_TEST

/* No array of hvtrace begins there. */
START_TEST(an_address_inside_an_array)
{
	fp_apply(true, FP_NR_CHANGES);
	fk_u64(f, tp.type.tracepoint.funcs.v, FP_ARRAY + 8);
	fp_apply(false, FP_NR_CHANGES);
	fp_check_off();
}
END_TEST

static void change_array(struct fr *fr)
{
	if (fr_word(fr, tp.type.tracepoint.funcs.v) == FP_ARRAY)
		fk_u64(f, tp.type.tracepoint.funcs.v, FP_ARRAY + 8);
}

/* The guest does not stand still in a hold. */
START_TEST(a_failed_restore_needs_recovery)
{
	struct hv_err *err;

	hv_plug_prepare(&r.tracee, &plug);
	r.regs[1].ip = hv_gva(FTP_SITE(1) + 1);
	r.when_held = change_array;
	err = fp_make(true);
	ck_assert(err && err->facts & HV_ERR_NEEDS_RECOVERY);
	expect_error(err, EIO, "could not be put back");
}
END_TEST

static void in_fails(const char *words)
{
	struct hv_err *err = fp_make(true);

	ck_assert(err != NULL);
	ck_assert_msg(err->code == EBUSY && strstr(err->message, words), "%s", err->message);
	hv_err_free(err);
	fp_check_off();
}

START_TEST(all_changes_or_none)
{
	hv_plug_prepare(&r.tracee, &plug);
	fk_u64(f, tp.locks[2], 1);
	in_fails("the guest's kernel holds jump_label_mutex");
	fk_u64(f, tp.locks[2], 0);
	r.regs[1].ip = hv_gva(FTP_SITE(1) + 1);
	in_fails("is in use");
	r.regs[1].ip = hv_gva(FTP_SITE(1));
	ck_assert_ptr_null(fp_make(true));
	ck_assert_uint_eq(fp_word_at(tp.type.tracepoint.funcs.v), FP_ARRAY);
	ck_assert(fp_jumps(0) && fp_jumps(1) && fp_jumps(2));
	ck_assert_uint_eq(hv_patcher_holds(r.tracee.patcher)->nr, 3);
	ck_assert_ptr_null(fp_make(false));
	fp_check_off();
	ck_assert_ptr_null(fp_make(false));
	fp_check_off();
}
END_TEST

/* The guest changes it between the plan and the hold. */
START_TEST(guest_changes_cause_a_new_plan)
{
	struct hv_plug_step step = fp_step_of(true);
	uint64_t words[] = {tp.type.tracepoint.funcs.v, tp.type.tracepoint.key.v,
			    tp.type.tracepoint.key.v + 8, tp.static_call};
	uint64_t was = fp_word_at(words[_i]);

	hv_plug_prepare(&r.tracee, &plug);
	hv_plug_step_plan(&r.tracee, &layout, &step);
	fk_u64(f, words[_i], was + 16);
	ck_assert_ptr_null(hv_plug_steps_make(&r.tracee, &layout, &step, 1));
	ck_assert(step.why_not && step.why_not->code == EBUSY && !step.is_made);
	ck_assert_ptr_nonnull(strstr(step.why_not->message, "is changing its tracepoint"));
	fk_u64(f, words[_i], was);
	fp_check_off();
	hv_plug_step_plan(&r.tracee, &layout, &step);
	ck_assert_ptr_null(hv_plug_steps_make(&r.tracee, &layout, &step, 1));
	ck_assert(step.is_made);
	hv_plug_steps_deinit(&step, 1);
	fp_apply(false, 2 + FTP_NR - 1);
	fp_check_off();
}
END_TEST

/* -- recover ----------------------------------------------------------------------------------- */

START_TEST(killed_between_any_two_writes)
{
	fp_kill_after((unsigned)_i, FP_NR_CHANGES);
}
END_TEST

START_TEST(own_callbacks_are_found)
{
	hv_plug_prepare(&r.tracee, &plug);
	ck_assert_uint_eq(fp_find_and_take_out(), 0);
	fp_apply(true, FP_NR_CHANGES);
	fp_guest_has(2);
	fp_take_over();
	ck_assert_uint_eq(fp_find_and_take_out(), 1);
	ck_assert_uint_eq(fp_word_at(tp.array + 2 * 24), FTP_STUB_FUNC);
	ck_assert_uint_eq(fp_find_and_take_out(), 0);
	fp_guest_has(0);
	fp_take_over();
	ck_assert_uint_eq(fp_find_and_take_out(), 1);
	fk_u64(f, tp.array, 0);
	fp_is_as_before();
	fk_u64(f, tp.type.tracepoint.funcs.v, FK_BASE - 0x1000); /* nothing is mapped there */
	ck_assert_uint_eq(fp_find_and_take_out(), 0);
}
END_TEST

static bool knows(struct hv_journal_entry e)
{
	bool ret;

	ck_assert_ptr_null(hv_plugs_know_change(&r.tracee, &e, &ret));
	return ret;
}

/* The guest's root can write the journal. */
START_TEST(only_a_nop_is_restored)
{
	struct hv_journal_entry good = {.gva = FTP_SITE(0), .kind = HV_CHANGE_KEY, .len_bytes = 5};
	struct hv_journal_entry e;
	struct hv_mapping m;

	ck_assert_ptr_null(hv_walk(&f->k.core.as, hv_gva(FTP_SITE(0)), &m));
	good.gpa = m.gpa.v;
	memcpy(good.old_bytes, ftp_nop, sizeof(ftp_nop));
	ck_assert(knows(good));
	e = good;
	e.len_bytes = 2;
	ck_assert(!knows(e));
	e = good;
	e.gpa += 8;
	ck_assert(!knows(e));
	e = good;
	e.gva = 0x1000;
	ck_assert(!knows(e));
	e = good;
	memset(e.old_bytes, 0xcc, sizeof(e.old_bytes));
	ck_assert(!knows(e));
	e = good;
	e.len_bytes = 2;
	memcpy(e.old_bytes, "\xeb\xfe", 2); /* a jump to itself */
	ck_assert(!knows(e));
}
END_TEST

static const struct hv_iterators *iterators;

static struct hv_err *check_held(struct hv_hold *hold, void *ctx)
{
	const enum hv_plug_sleepers *sleepers = ctx;

	return hv_plugs_check_unused(&r.tracee, hold, *sleepers, NULL, iterators);
}

static enum hv_plug_sleepers sleepers;

static void check_unused(const char *words)
{
	struct hv_err *err = hv_patcher_held(r.tracee.patcher, check_held, &sleepers);

	ck_assert_msg(!err == !words, "%s", err ? err->message : "nobody");
	if (words)
		ck_assert_msg(err->code == EBUSY && strstr(err->message, words), "%s",
			      err->message);
	hv_err_free(err);
}

/* Addresses in the region, as the guest sees them: a file, an array, a draft, and the areas around
 * them. */
static const struct {
	uint64_t off;
	bool counts;
} words[] = {
	{HV_REGION_FILES_OFF, true},	       {HV_REGION_FILES_END - 1, true},
	{HV_REGION_FILES_OFF - 1, false},      {HV_REGION_FILES_END, false},
	{HV_REGION_CALLBACKS_OFF + 16, true},  {HV_REGION_STACKS_OFF - 8, true},
	{HV_REGION_CALLBACKS_OFF - 8, false},  {HV_REGION_STACKS_OFF, false},
	{HV_REGION_STACKS_OFF + 0x1000, true}, {HV_REGION_STACKS_OFF + 0x1000 + 8 * 4096, false},
};

START_TEST(users_of_a_plug_block_its_reuse)
{
	uint64_t word = FR_RANGE + words[_i].off - HV_REGION_TRAMPOLINES_OFF;

	sleepers = HV_PLUG_NO_SLEEPERS;
	fp_tear_down(); /* for a guest that has tasks */
	fr_init(&r);
	r.tracee.plan.nr_cpus = 2;
	r.tracee.plan.drafts_off = HV_REGION_STACKS_OFF + 0x1000;
	check_unused(NULL);
	r.regs[1].general[3] = word;
	check_unused(words[_i].counts
			     ? "vCPU 1 has the address of hvtrace's callbacks in a register"
			     : NULL);
	r.regs[1].general[3] = 0;
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x80, word);
	check_unused(NULL); /* a task cannot be switched out in a callback */
	sleepers = HV_PLUG_SLEEPERS;
	check_unused(words[_i].counts ? "task 71 (cat) has the address of hvtrace's callbacks"
				      : NULL);
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x80, 0);
	ft_push(&r.t, r.task, FR_SLEEP_FROM - 0x80, word); /* left over */
	check_unused(NULL);
	fr_deinit(&r);
	fp_set_up();
}
END_TEST

/* The guest replaced its array that contains hvtrace's callback before the callback was taken out.
 * A task may be calling the callbacks of the old array without any hvtrace address on its stack. */
START_TEST(users_of_a_replaced_array_are_found)
{
	const struct hv_gva_range functions[] = {
		{hv_gva(FK_BASE + 0x700), hv_gva(FK_BASE + 0x740)},
		{hv_gva(FK_BASE + 0x800), hv_gva(FK_BASE + 0x880)}};
	const struct hv_iterators all = {(struct hv_gva_range *)functions, 2};
	const char *found = "task 71 (cat) has the address of hvtrace's callbacks on its stack, or "
			    "calls the callbacks";
	bool have_left[2] = {false};

	sleepers = HV_PLUG_NO_SLEEPERS;
	fp_tear_down();
	fr_init(&r);
	r.tracee.plan.nr_cpus = 2;
	r.regs[1].ip = functions[1].start;
	check_unused(NULL);
	iterators = &all;
	check_unused("vCPU 1 has the address of hvtrace's callbacks on its stack, or calls the "
		     "callbacks");
	r.regs[1].ip = functions[1].end;
	check_unused(NULL);
	r.regs[1].ip = hv_gva(FK_BASE + 0x10);
	r.regs[1].sp = hv_gva(ft_stack(&r.t, r.task) + FR_SLEEP_FROM);
	ft_current(&r.t, 1, r.task);
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x80, functions[0].end.v - 1);
	check_unused(found);
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x80, functions[0].end.v);
	check_unused(NULL);
	/* The idle task halts: it is in none of them, whatever is left on its stack. */
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x80, functions[0].start.v);
	fk_u32(&r.t.f, r.task + FT_PID, 0);
	fk_symbol(&r.t.f, "default_idle", FK_BASE + 8);
	hv_symbols_index(&r.t.f.k.core.symbols);
	memcpy(fk_host(&r.t.f, FK_BASE + 8), "\x90\x90\x90\x90\x90\x90\xfb\xf4", 8);
	check_unused(NULL);
	fk_u32(&r.t.f, r.task + FT_PID, 71); /* not the idle task */
	check_unused("calls the callbacks");
	fk_u32(&r.t.f, r.task + FT_PID, 0);
	/* The last byte of mov $0xf4000000,%eax is no instruction. */
	memcpy(fk_host(&r.t.f, FK_BASE + 8), "\x90\x90\x90\xb8\x00\x00\x00\xf4", 8);
	check_unused("calls the callbacks");
	fk_u32(&r.t.f, r.task + FT_PID, 71);
	ft_current(&r.t, 1, r.t.init_task);
	r.regs[1].ip = hv_gva(0x401000);
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x80, functions[0].start.v);
	check_unused(NULL); /* the task sleeps */
	sleepers = HV_PLUG_SLEEPERS;
	check_unused(found);
	r.tracee.have_left = have_left;
	check_unused(found);
	ck_assert(!have_left[0] && !have_left[1]); /* a task may continue in one on another vCPU */
	sleepers = HV_PLUG_NO_SLEEPERS;
	ft_current(&r.t, 1, r.task);
	r.regs[1].ip = hv_gva(FK_BASE + 0x10);
	check_unused(found);
	ck_assert(have_left[0] && !have_left[1]);
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x80, 0);
	r.regs[0].ip = r.regs[1].ip = functions[1].start; /* vCPU 0 has already left once */
	check_unused("vCPU 1 has");
	r.regs[1].ip = hv_gva(FK_BASE + 0x10);
	check_unused(NULL);
	ck_assert(have_left[0] && have_left[1]);
	r.tracee.have_left = NULL;
	iterators = NULL;
	check_unused(NULL);
	fr_deinit(&r);
	fp_set_up();
}
END_TEST

/* A vCPU on the stack of its idle task, after an instruction that halts. The kernel also halts while
 * it waits for a lock or for a page of the host: perhaps in a callback that the idle task called. */
static const struct {
	const char *halting, *caller;
	bool has_frame; /* the frame pointer was saved */
	bool is_idle;
} halts[] = {
	{"default_idle", "do_idle", false, true},
	{"native_safe_halt", "default_idle", false, true},
	{"native_safe_halt", "default_idle", true, true},
	{"hlt_play_dead", "native_play_dead", false, true}, /* the CPU is offline */
	{"native_halt", "native_play_dead", false, true},
	{"native_halt", "kvm_wait", false, false},
	{"native_safe_halt", "kvm_wait", false, false},
	{"native_safe_halt", "kvm_wait", true, false},
	{"kvm_wait", "default_idle", false, false},
	{"kvm_async_pf_task_wait", "default_idle", true, false},
};

START_TEST(halts_of_the_idle_loop_are_recognized)
{
	const uint64_t caller = FK_BASE + 0x740;
	struct hv_gva_range function = {hv_gva(FK_BASE + 0x700), hv_gva(caller)};
	const struct hv_iterators all = {&function, 1};
	uint64_t sp;

	sleepers = HV_PLUG_NO_SLEEPERS;
	fp_tear_down();
	fr_init(&r);
	r.tracee.plan.nr_cpus = 2;
	iterators = &all;
	sp = ft_stack(&r.t, r.task) + FR_SLEEP_FROM;
	r.regs[1].ip = hv_gva(FK_BASE + 0x10);
	r.regs[1].sp = hv_gva(sp);
	ft_current(&r.t, 1, r.task);
	fk_u32(&r.t.f, r.task + FT_PID, 0);
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x80, function.start.v);
	check_unused("calls the callbacks");
	fk_symbol(&r.t.f, halts[_i].halting, FK_BASE + 8);
	fk_symbol(&r.t.f, halts[_i].caller, caller);
	hv_symbols_index(&r.t.f.k.core.symbols);
	memcpy(fk_host(&r.t.f, FK_BASE + 8), "\x90\x90\x90\x90\x90\x90\xfb\xf4", 8);
	ft_push(&r.t, r.task, FR_SLEEP_FROM, halts[_i].has_frame ? sp + 0x40 : caller + 8);
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 8, caller + 8);
	check_unused(halts[_i].is_idle ? NULL : "calls the callbacks");
	iterators = NULL;
	fr_deinit(&r);
	fp_set_up();
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, fp_set_up, fp_tear_down);
	tcase_add_test(tc, plugged_in_and_taken_out);
	tcase_add_test(tc, in_and_out_of_an_old_kernel);
	tcase_add_test(tc, out_while_the_guest_keeps_the_copy);
	tcase_add_test(tc, contents_of_the_callback_array);
	tcase_add_test(tc, taken_out_after_the_guest_came_and_went);
	tcase_add_test(tc, taken_out_while_the_guest_uses_it);
	tcase_add_test(tc, a_key_site_that_came_with_a_module);
	tcase_add_test(tc, out_without_a_journal);
	tcase_add_test(tc, used_or_inconsistent_tracepoints_are_refused);
	tcase_add_test(tc, a_jump_that_is_too_short);
	tcase_add_test(tc, an_address_inside_an_array);
	tcase_add_test(tc, a_failed_restore_needs_recovery);
	tcase_add_test(tc, all_changes_or_none);
	tcase_add_test(tc, users_of_a_replaced_array_are_found);
	tcase_add_loop_test(tc, halts_of_the_idle_loop_are_recognized, 0, HV_ARRAY_LEN(halts));
	tcase_add_loop_test(tc, guest_changes_cause_a_new_plan, 0, 4);
	tcase_add_loop_test(tc, killed_between_any_two_writes, 0, 2 * FP_NR_CHANGES + 2);
	tcase_add_test(tc, own_callbacks_are_found);
	tcase_add_test(tc, only_a_nop_is_restored);
	tcase_add_loop_test(tc, users_of_a_plug_block_its_reuse, 0, HV_ARRAY_LEN(words));
}

int main(void)
{
	return run_suite("plug", add_tests);
}
