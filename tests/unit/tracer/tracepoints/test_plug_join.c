/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plugs an event into a tracepoint that the guest itself uses, and restores the guest's callbacks,
 * with changes by the guest in between. */
#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/tracepoints/fake_plug.h"

#define NR_CALLS   (FTP_NR_CALLS - 1) /* without the site in init code */
#define NR_CHANGES (NR_CALLS + 2)     /* plus its key and the array */

static uint64_t funcs(void)
{
	return fp_word_at(tp.type.tracepoint.funcs.v);
}

static void calls_lead_to(uint64_t target)
{
	ck_assert_uint_eq(fp_word_at(tp.static_call), target);
	for (unsigned i = 0; i < NR_CALLS; i++)
		ck_assert_uint_eq(ftp_call_target(&tp, i), target);
	ck_assert_uint_eq(*(uint8_t *)fk_host(f, FTP_CALL(FTP_INIT_CALL)), 0xf4);
}

static void array_has(unsigned index, uint64_t func, uint64_t data, uint32_t priority)
{
	const uint8_t *at = r.tracee.region.host + FP_ARRAY_OFF + 16 + (size_t)index * 24;
	uint64_t words[3];

	memcpy(words, at, sizeof(words));
	ck_assert_uint_eq(words[0], func);
	ck_assert_uint_eq(words[1], data);
	ck_assert_uint_eq(words[2], priority);
}

/* Returns the guest's array that ours replaces, as the release trampoline finds it. */
static uint64_t stands_for(void)
{
	uint64_t word;

	memcpy(&word, r.tracee.region.host + FP_ARRAY_OFF, sizeof(word));
	return word;
}

static void guest_is_alone(unsigned nr)
{
	ck_assert_uint_eq(funcs(), tp.array);
	for (unsigned i = 0; i < nr; i++)
		ck_assert_uint_eq(fp_word_at(tp.array + (uint64_t)i * 24), FTP_OTHER + i);
	ck_assert_uint_eq(fp_word_at(tp.array + (uint64_t)nr * 24), 0);
	calls_lead_to(nr == 1 ? FTP_OTHER : FTP_ITERATOR);
	ck_assert_uint_eq((uint32_t)fp_word_at(tp.type.tracepoint.key.v), 1);
	for (unsigned i = 0; i < FTP_INIT; i++)
		ck_assert(fp_jumps(i));
}

START_TEST(joins_one_guest_callback)
{
	fp_guest_is_on(1);
	for (unsigned i = 0; i < 2; i++) {
		fp_apply(true, NR_CHANGES);
		ck_assert_uint_eq(funcs(), FP_ARRAY);
		array_has(0, FTP_OTHER, 0x1000, 10);
		array_has(1, FTP_CALLBACK, FP_FILE, 10);
		array_has(2, 0, 0, 0);
		ck_assert_uint_eq(stands_for(), tp.array - 16);
		calls_lead_to(FTP_ITERATOR);
		ck_assert_uint_eq((uint32_t)fp_word_at(tp.type.tracepoint.key.v), 1);
		fp_apply(false, NR_CHANGES);
		guest_is_alone(1);
		fp_check_nothing_is_noted();
		fp_apply(false, 0);
	}
}
END_TEST

/* The static call already calls the iterator. */
START_TEST(joins_several_guest_callbacks)
{
	fp_guest_is_on(3);
	fk_u32(f, tp.array + 2 * 24 + 16, (uint32_t)-5);
	fp_apply(true, 1);
	array_has(1, FTP_OTHER + 1, 0x1001, 10);
	array_has(3, FTP_CALLBACK, FP_FILE, (uint32_t)-5); /* sorted as in the kernel */
	array_has(4, 0, 0, 0);
	fp_apply(false, 1);
	guest_is_alone(3);
	layout.has_calls = false; /* the calls need not be known */
	fp_apply(true, 1);
	fp_apply(false, 1);
	guest_is_alone(3);
}
END_TEST

/* The kernel replaced a callback that it could not remove, for lack of memory. */
START_TEST(callbacks_that_do_nothing_are_left_out)
{
	fp_guest_is_on(3);
	fk_u64(f, tp.array, FTP_STUB_FUNC);
	fp_apply(true, 1);
	array_has(0, FTP_OTHER + 1, 0x1001, 10);
	array_has(2, FTP_CALLBACK, FP_FILE, 10);
	fp_apply(false, 1);
	ck_assert_uint_eq(funcs(), tp.array);
	calls_lead_to(FTP_ITERATOR);
	fp_guest_is_on(1);
	fk_u64(f, tp.array, FTP_STUB_FUNC);
	ftp_lead(&tp, FTP_STUB_FUNC);
	fp_fails(true, EBUSY, "the guest itself");
}
END_TEST

/* The guest has copied hvtrace's array, and freed it. */
START_TEST(out_when_the_guest_added_one)
{
	fp_guest_is_on(1);
	fp_apply(true, NR_CHANGES);
	fp_guest_has(2);
	fp_apply(false, 1);
	ck_assert_uint_eq(funcs(), tp.array);
	ck_assert_uint_eq(fp_word_at(tp.array + 2 * 24), FTP_STUB_FUNC);
	calls_lead_to(FTP_ITERATOR);
	fp_check_nothing_is_noted();
	fp_apply(false, 0);
}
END_TEST

/* The guest has removed its own callback. Only hvtrace's is left, and is called directly. */
START_TEST(out_when_the_guest_went)
{
	fp_guest_is_on(1);
	fp_apply(true, NR_CHANGES);
	fp_guest_has(0);
	ftp_lead(&tp, FTP_CALLBACK);
	fp_apply(false, FP_NR_CHANGES + 1 + NR_CALLS + 1);
	calls_lead_to(FTP_ITERATOR);
	ck_assert_uint_eq(funcs(), 0);
	ck_assert_uint_eq((uint32_t)fp_word_at(tp.type.tracepoint.key.v), 0);
	for (unsigned i = 0; i < FTP_INIT; i++)
		ck_assert(!fp_jumps(i));
	ck_assert_uint_eq(fp_word_at(tp.array), FTP_STUB_FUNC);
}
END_TEST

static void another_array(unsigned nr, const char *words)
{
	plug.array_use = HV_ARRAY_MAY_BE_USED;
	fp_guest_is_on(nr);
	fp_fails(true, EBUSY, words);
	plug.array_use = HV_ARRAY_UNUSED;
}

/* A vCPU may be reading the plug's previous array. */
START_TEST(an_array_that_is_in_use_stays)
{
	fp_guest_is_on(2);
	fp_apply(true, 1);
	fp_apply(false, 1);
	plug.array_use = HV_ARRAY_MAY_BE_USED;
	fp_apply(true, 1); /* the array is unchanged */
	fp_apply(false, 1);
	another_array(1, "earlier callbacks");
	another_array(3, "earlier callbacks");
	array_has(1, FTP_OTHER + 1, 0x1001, 10);
	fp_apply(true, 1);
	array_has(2, FTP_OTHER + 2, 0x1002, 10);
}
END_TEST

START_TEST(tracepoints_that_cannot_be_joined)
{
	fp_guest_is_on(HV_PLUG_CALLBACKS_MAX);
	fp_fails(true, EBUSY, "with 10 callbacks, more than hvtrace has room for");
	fp_guest_is_on(1);
	fk_u32(f, tp.type.tracepoint.key.v, 0);
	fp_fails(true, EINVAL, "has callbacks and is off");
	fk_u32(f, tp.type.tracepoint.key.v, 1);
	memcpy(fk_host(f, FTP_SITE(0)), before, 5);
	fp_fails(true, EINVAL, "its static key is on, and 0x");
	fp_guest_is_on(1);
	fk_u64(f, tp.static_call, FTP_ITERATOR);
	fp_fails(true, EBUSY, "its static call leads to");
	fp_guest_is_on(1);
	fk_u32(f, FTP_CALL(1) + 1, 0x100); /* as with call depth tracking */
	fp_fails(true, EBUSY, "by calls that hvtrace does not recognize");
	fp_guest_is_on(1);
	*(uint8_t *)fk_host(f, FTP_CALL(2)) = 0x0f;
	fp_fails(true, EBUSY, "by calls that hvtrace does not recognize");
	fp_guest_is_on(1);
	layout.has_calls = false;
	fp_fails(true, EBUSY, "by calls that hvtrace does not recognize");
	layout.has_calls = true;
	ck_assert_uint_eq(funcs(), tp.array);
}
END_TEST

/* A guest that writes there harms only itself. hvtrace reports it. */
START_TEST(an_array_modified_by_the_guest)
{
	uint64_t zero = 0, ours;

	fp_guest_is_on(2);
	fp_apply(true, 1);
	fk_u64(f, tp.array + 24, FTP_OTHER + 7);
	fp_fails(false, EINVAL, "changed its array of callbacks");
	fk_u64(f, tp.array + 24, 0);
	fp_fails(false, EINVAL, "changed its array of callbacks");
	fk_u64(f, tp.array + 24, FTP_OTHER + 1);
	fk_u64(f, tp.array + 24 + 8, 3);
	fp_fails(false, EINVAL, "changed its array of callbacks");
	fk_u64(f, tp.array + 24 + 8, 0x1001);
	ftp_put_callback(&tp, tp.array, 2, FTP_OTHER + 2, 0x1002);
	fp_fails(false, EINVAL, "changed its array of callbacks");
	fk_u64(f, tp.array + 2 * 24, 0);
	ours = stands_for();
	memcpy(r.tracee.region.host + FP_ARRAY_OFF, &zero, 8);
	fp_fails(false, EINVAL, "the array of the guest's callbacks is lost");
	zero = FP_ARRAY;
	memcpy(r.tracee.region.host + FP_ARRAY_OFF, &zero, 8);
	fp_fails(false, EINVAL, "is lost");
	memcpy(r.tracee.region.host + FP_ARRAY_OFF, &ours, 8);
	fp_apply(false, 1);
	guest_is_alone(2);
}
END_TEST

static bool is_word_at(uint64_t gva, struct hv_gpa gpa)
{
	return gpa.v == gva - FK_BASE + FK_GPA;
}

static void continue_the_guest(struct fr *fr, struct hv_gpa gpa)
{
	if (!is_word_at(tp.static_call, gpa))
		return;
	fk_u64(f, tp.static_call, FTP_OTHER);
	fr->when_read = NULL;
}

/* A change by the guest may be seen half done. It will be consistent soon. */
START_TEST(a_tracepoint_in_transition_is_retried)
{
	struct hv_plug_step step = fp_step_of(true);

	fp_guest_is_on(1);
	fk_u64(f, tp.static_call, FTP_ITERATOR);
	hv_plug_step_plan(&r.tracee, &layout, &step);
	ck_assert(step.why_not && !step.is_passing);
	fk_u64(f, tp.locks[0], 1);
	hv_plug_step_plan(&r.tracee, &layout, &step);
	ck_assert(step.why_not && step.why_not->code == EBUSY && step.is_passing);
	ck_assert_ptr_nonnull(strstr(step.why_not->message, "holds tracepoints_mutex"));
	fk_u64(f, tp.locks[0], 0);
	fk_u64(f, tp.static_call, FTP_OTHER);
	hv_plug_step_plan(&r.tracee, &layout, &step);
	ck_assert(!step.why_not && !step.is_passing && step.changes.nr);
	fk_u64(f, tp.static_call, FTP_ITERATOR);
	r.when_read = continue_the_guest; /* the guest no longer holds a lock */
	hv_plug_step_plan(&r.tracee, &layout, &step);
	ck_assert(step.why_not && step.why_not->code == EBUSY && step.is_passing);
	ck_assert_ptr_nonnull(strstr(step.why_not->message, "is changing its tracepoint"));
	hv_plug_step_plan(&r.tracee, &layout, &step);
	ck_assert(!step.why_not && !step.is_passing && step.changes.nr);
	hv_plug_steps_deinit(&step, 1);
}
END_TEST

static uint64_t its_next_array;

static void the_guest_exchanges_its_array(struct fr *fr, struct hv_gpa gpa)
{
	if (!is_word_at(tp.type.tracepoint.funcs.v, gpa))
		return;
	fk_u64(f, tp.type.tracepoint.funcs.v, its_next_array);
	ftp_put_callback(&tp, tp.array, 0, 0x6b6b6b6b, 0x6b6b6b6b);
	fr->when_read = NULL;
}

/* The array that was read first may be freed and its memory reused. */
START_TEST(an_array_that_is_exchanged_while_it_is_read)
{
	struct hv_tracepoint_state state;

	fp_guest_is_on(1);
	its_next_array = fk_alloc(f, 64);
	ftp_put_callback(&tp, its_next_array, 0, FTP_OTHER + 3, 0x1003);
	r.when_read = the_guest_exchanges_its_array;
	ck_assert_ptr_null(hv_tracepoint_callbacks_read(&f->k, &layout, &tp.type.tracepoint,
							r.tracee.range, &state));
	ck_assert_uint_eq(state.funcs, its_next_array);
	ck_assert_uint_eq(state.nr_callbacks, 1);
	ck_assert_uint_eq(state.callbacks[0].func, FTP_OTHER + 3);
	hv_tracepoint_state_deinit(&state);
}
END_TEST

/* The guest's next array may be at the address of the one it freed, and have the same first
 * entries. */
START_TEST(a_callback_that_is_added_at_the_end)
{
	struct hv_plug_step step = fp_step_of(true);

	fp_guest_is_on(2);
	hv_plug_step_plan(&r.tracee, &layout, &step);
	ck_assert(!step.why_not && step.changes.nr);
	ftp_put_callback(&tp, tp.array, 2, FTP_OTHER + 2, 0x1002);
	ck_assert_ptr_null(hv_plug_steps_make(&r.tracee, &layout, &step, 1));
	ck_assert(!step.is_made && step.why_not && step.why_not->code == EBUSY);
	hv_plug_steps_deinit(&step, 1);
}
END_TEST

/* Its init code, which is not read, may contain calls. hvtrace changes calls only to leave. */
START_TEST(a_module_that_is_being_loaded)
{
	uint64_t links = fk_alloc(f, 64), module = fk_alloc(f, 16);
	struct hv_call_layout *l = &layout.calls;

	l->table.has_links = true;
	l->table.link_next = 0;
	l->table.link_module = 8;
	l->table.link_entries = 16;
	l->module_state = 4;
	fk_u64(f, links, links + 24);
	fk_u64(f, links + 8, module);
	fk_u64(f, links + 40, tp.calls);
	fk_u64(f, tp.static_call + 8, links);
	fk_u32(f, module + 4, 1); /* MODULE_STATE_COMING */
	fp_guest_is_on(1);
	fp_fails(true, EBUSY, "is being loaded");
	fp_guest_is_on(2);
	fp_apply(true, 1); /* no call is changed */
	fp_apply(false, 1);
	fk_u32(f, module + 4, 0);
	fp_guest_is_on(1);
	fp_apply(true, NR_CHANGES);
	fk_u32(f, module + 4, 1);
	fp_apply(false, NR_CHANGES);
	guest_is_alone(1);
}
END_TEST

/* If the guest stops using the tracepoint, this site could not be disabled. */
START_TEST(a_key_site_in_two_pages)
{
	uint64_t at = FTP_CODE + 0x1000 - 3, target = FTP_SITE(0) + FTP_TARGET;

	fp_guest_is_on(2);
	fk_u32(f, tp.table, (uint32_t)(at - tp.table));
	*(uint8_t *)fk_host(f, at) = 0xe9;
	fk_u32(f, at + 1, (uint32_t)(target - at - 5));
	fp_fails(true, EOPNOTSUPP, "is in two pages");
	ck_assert_uint_eq(funcs(), tp.array);
}
END_TEST

/* A kill might leave half of an instruction that is in two pages. */
static void split_a_call(uint64_t target)
{
	uint64_t at = FTP_CALLS + 0x1000 - 3;

	fk_u32(f, tp.calls, (uint32_t)(at - tp.calls));
	*(uint8_t *)fk_host(f, at) = 0xe8;
	fk_u32(f, at + 1, (uint32_t)(target - at - 5));
}

START_TEST(a_call_in_two_pages_stays)
{
	fp_guest_is_on(1);
	split_a_call(FTP_OTHER);
	fp_fails(true, EBUSY, "by a call that is in two pages");
	fp_guest_is_on(2);
	split_a_call(FTP_ITERATOR);
	fp_apply(true, 1);
	fp_apply(false, 1);
	fp_guest_is_on(1); /* a module brings the call in between */
	fk_u32(f, tp.calls, (uint32_t)(FTP_CALL(1) - tp.calls));
	fp_apply(true, NR_CHANGES);
	split_a_call(FTP_ITERATOR);
	fp_apply(false, 1);
	ck_assert_uint_eq(funcs(), tp.array);
	ck_assert_uint_eq(fp_word_at(tp.static_call), FTP_ITERATOR);
	fp_apply(false, 0);
	ck_assert_uint_eq(fp_find_and_take_out(), 0);
	fp_apply(true, 1); /* the iterator fits two callbacks, too */
	fp_apply(false, 1);
	fk_u32(f, tp.calls, (uint32_t)(FTP_CALL(1) - tp.calls)); /* the module is unloaded */
	fp_apply(true, 1);
	fp_apply(false, NR_CHANGES);
	guest_is_alone(1);
	fp_guest_is_on(1); /* an earlier session left it at the iterator */
	ftp_lead(&tp, FTP_ITERATOR);
	fp_apply(true, 1);
	fp_apply(false, 1);
	ck_assert_uint_eq(funcs(), tp.array);
	calls_lead_to(FTP_ITERATOR);
	fp_guest_is_on(1); /* only hvtrace's callback is left, and is called directly */
	fp_guest_has(0);
	ftp_lead(&tp, FTP_CALLBACK);
	split_a_call(FTP_CALLBACK);
	fp_apply(false, FP_NR_CHANGES + 1);
	ck_assert_uint_eq(funcs(), 0);
	ck_assert_uint_eq(fp_word_at(tp.static_call), FTP_CALLBACK);
}
END_TEST

/* If one site cannot be written, all changes are undone. */
START_TEST(all_changes_or_none)
{
	struct hv_err *err;

	fp_guest_is_on(1);
	r.regs[1].ip = hv_gva(FTP_CALL(1) + 1);
	err = fp_make(true);
	ck_assert(err && err->code == EBUSY && strstr(err->message, "is in use"));
	hv_err_free(err);
	guest_is_alone(1);
	r.regs[1].ip = hv_gva(FTP_CALL(1));
	ck_assert_ptr_null(fp_make(true));
	ck_assert_ptr_null(fp_make(false));
	guest_is_alone(1);
}
END_TEST

/* Killed after N of the writes that join, and then of those that leave. The recovering process is
 * killed, too. */
START_TEST(killed_between_any_two_writes)
{
	fp_guest_is_on(1);
	fp_be_killed_after((unsigned)_i, NR_CHANGES);
	/* From this word, the kernel may update the calls at any time. */
	if (fp_word_at(tp.static_call) == FTP_ITERATOR)
		calls_lead_to(FTP_ITERATOR);
	fp_recover_after((unsigned)_i);
	guest_is_alone(1);
	ck_assert_uint_eq(fp_find_and_take_out(), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, fp_set_up, fp_tear_down);
	tcase_add_test(tc, joins_one_guest_callback);
	tcase_add_test(tc, joins_several_guest_callbacks);
	tcase_add_test(tc, callbacks_that_do_nothing_are_left_out);
	tcase_add_test(tc, out_when_the_guest_added_one);
	tcase_add_test(tc, out_when_the_guest_went);
	tcase_add_test(tc, an_array_that_is_in_use_stays);
	tcase_add_test(tc, tracepoints_that_cannot_be_joined);
	tcase_add_test(tc, an_array_modified_by_the_guest);
	tcase_add_test(tc, a_tracepoint_in_transition_is_retried);
	tcase_add_test(tc, an_array_that_is_exchanged_while_it_is_read);
	tcase_add_test(tc, a_callback_that_is_added_at_the_end);
	tcase_add_test(tc, a_module_that_is_being_loaded);
	tcase_add_test(tc, a_key_site_in_two_pages);
	tcase_add_test(tc, a_call_in_two_pages_stays);
	tcase_add_test(tc, all_changes_or_none);
	tcase_add_loop_test(tc, killed_between_any_two_writes, 0, 2 * NR_CHANGES + 1);
}

int main(void)
{
	return run_suite("plug_join", add_tests);
}
