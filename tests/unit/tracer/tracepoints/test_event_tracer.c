/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of a guest are enabled and disabled, with interference by the guest and with hvtrace
 * killed at any time. The guest has one tracepoint for two event types. */
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/tracepoints/event_guest.h"

#define LEAVES_FOR_NS (200 * HV_NS_PER_MS)

START_TEST(on_and_off)
{
	struct hv_event_tracer_stat stat;
	uint64_t off_ns;

	set(NULL);
	ck_assert(hv_gva_in(hv_gva(funcs()), r.tracee.range));
	for (size_t i = 0; i < HV_ARRAY_LEN(calls); i++)
		ck_assert(leads_to_us(calls[i]));
	ck_assert_uint_eq(r.tracee.event_symbols.release.v, RELEASE);
	set(NULL); /* nothing left to do */
	hv_event_tracer_stat(e, &stat);
	ck_assert_uint_eq(stat.nr_on, 1);
	off_ns = hv_now_ns();
	set_none();
	ck_assert_uint_eq(funcs(), 0);
	hv_event_tracer_stat(e, &stat);
	ck_assert(!stat.nr_on && stat.nr_leaving == 1);
	hv_event_tracer_tend(e); /* too early, unless the host paused this process */
	ck_assert(leads_to_us(calls[0]) || hv_now_ns() - off_ns >= LEAVES_FOR_NS);
	set(NULL);
	set_none();
	usleep(250000);
	hv_event_tracer_tend(e);
	hv_event_tracer_stat(e, &stat);
	ck_assert(!stat.nr_leaving);
	is_as_before();
	set(NULL);
	ck_assert_ptr_null(restore("1 event of the guest switched off"));
	is_as_before();
	ck_assert(!hv_event_tracer_is_on(e, &tp.type));
}
END_TEST

START_TEST(one_refused_event_does_not_block_others)
{
	struct hv_event_want wants[] = {{.type = &other}, {.type = &tp.type}};
	struct hv_err *err;

	ck_assert_ptr_null(hv_event_tracer_set(e, wants, 2));
	ck_assert(wants[0].why_not && wants[0].why_not->code == EOPNOTSUPP);
	ck_assert_ptr_null(wants[1].why_not);
	hv_event_wants_deinit(wants, 2);
	err = hv_event_tracer_check(e, &other);
	ck_assert(err && err->code == EOPNOTSUPP);
	hv_err_free(err);
	ck_assert_ptr_null(hv_event_tracer_check(e, &tp.type));
	ck_assert_ptr_null(restore(NULL));
	is_as_before();
}
END_TEST

/* Returns the filter of the first file. */
static uint64_t filter_word(void)
{
	return hv_region_event_file(&r.tracee.region, 0)->filter;
}

START_TEST(an_event_has_a_filter_while_it_is_wanted)
{
	struct hv_trampoline_filter filter = {.steps = {{.off = 16, .mask = 1}}, .nr = 1};
	struct hv_event_want want = {.type = &tp.type, .filter = &filter};
	uint64_t word;

	hv_event_tracer_set_filter(e, &tp.type, &filter); /* the event is off */
	ck_assert_ptr_null(hv_event_tracer_set(e, &want, 1));
	ck_assert_ptr_null(want.why_not);
	word = filter_word();
	ck_assert_uint_ne(word, 0);
	ck_assert_ptr_null(hv_event_tracer_set(e, &want, 1));
	ck_assert_uint_eq(filter_word(), word);
	hv_event_tracer_set_filter(e, &tp.type, NULL);
	ck_assert_uint_eq(filter_word(), 0);
	hv_event_tracer_set_filter(e, &tp.type, &filter);
	ck_assert_uint_ne(filter_word(), 0);
	want.filter = NULL;
	ck_assert_ptr_null(hv_event_tracer_set(e, &want, 1));
	ck_assert_uint_eq(filter_word(), 0);
	hv_event_tracer_set_filter(e, &tp.type, &filter);
	set_none();
	ck_assert_uint_eq(filter_word(), 0);
	set(NULL);
	ck_assert_uint_eq(filter_word(), 0);
	/* A failed change must not leave a filter. */
	hv_event_tracer_set_filter(e, &tp.type, &filter);
	writes_left = 0;
	hv_err_free(hv_event_tracer_set(e, NULL, 0));
	writes_left = SIZE_MAX;
	ck_assert_uint_eq(filter_word(), 0);
	ck_assert_ptr_null(restore(NULL));
}
END_TEST

START_TEST(a_removed_module)
{
	struct hv_event_type gone = of_a_module;

	gone.module = "gone";
	set_type(&gone, "the guest no longer has the module gone");
	is_as_before();
}
END_TEST

static uint32_t uses(void)
{
	return (uint32_t)fr_word(&r, module + MODULE_COUNT);
}

static void wait_and_tend(void)
{
	usleep(250000);
	hv_event_tracer_tend(e);
}

START_TEST(a_module_stays_while_its_events_are_on)
{
	set_type(&of_a_module, NULL);
	ck_assert_uint_eq(uses(), CLAIM + 1);
	for (size_t i = 0; i < HV_ARRAY_LEN(module_calls); i++)
		ck_assert(leads_to_us(module_calls[i]));
	ck_assert(!leads_to_us(calls[2]));
	fk_u32(f, module + MODULE_COUNT, CLAIM + 3); /* the guest's own references */
	set_none();
	ck_assert_uint_eq(uses(), CLAIM + 3); /* a task may be in its callback */
	set_type(&of_a_module, NULL);
	ck_assert_uint_eq(uses(), CLAIM + 3);
	set_none();
	wait_and_tend();
	ck_assert_uint_eq(uses(), 3);
	ck_assert(!leads_to_us(module_calls[0]));
	is_as_before();
	set_type(&of_a_module, NULL);
	ck_assert_uint_eq(uses(), CLAIM + 3);
	ck_assert_ptr_null(restore("1 event of the guest switched off"));
	ck_assert_uint_eq(uses(), 3);
	is_as_before();
}
END_TEST

START_TEST(a_module_goes_while_other_events_are_on)
{
	uint64_t first_file = FR_RANGE + HV_REGION_FILES_OFF - HV_REGION_TRAMPOLINES_OFF;
	struct hv_event_tracer_stat stat;

	set_type(&of_a_module, NULL);
	set(NULL);
	r.regs[1].general[5] = first_file + 128; /* a file of the other event */
	r.regs[0].general[5] = first_file + 8;
	wait_and_tend();
	ck_assert_uint_eq(uses(), CLAIM + 1);
	ck_assert(leads_to_us(module_calls[0]));
	r.regs[0].general[5] = 0;
	usleep(250000);
	wait_and_tend();
	ck_assert_uint_eq(uses(), 1);
	for (size_t i = 0; i < HV_ARRAY_LEN(module_calls); i++)
		ck_assert(!leads_to_us(module_calls[i]));
	for (size_t i = 0; i < HV_ARRAY_LEN(calls); i++)
		ck_assert(leads_to_us(calls[i]));
	hv_event_tracer_stat(e, &stat);
	ck_assert(stat.nr_on == 1 && !stat.nr_leaving);
	/* its entry is reused for the next event */
	set_type(&of_a_module, NULL);
	ck_assert_uint_eq(uses(), CLAIM + 1);
	ck_assert_uint_lt(funcs() -
				  (FR_RANGE + HV_REGION_CALLBACKS_OFF - HV_REGION_TRAMPOLINES_OFF),
			  HV_REGION_ARRAY_BYTES);
	r.regs[1].general[5] = 0;
	ck_assert_ptr_null(restore("1 event of the guest switched off"));
	ck_assert_uint_eq(uses(), 1);
	is_as_before();
}
END_TEST

START_TEST(a_module_that_goes_is_refused)
{
	fk_u32(f, module + MODULE_COUNT, 0);
	set_type(&of_a_module, "loading or removing it");
	fk_u32(f, module + MODULE_COUNT, 1);
	fk_u32(f, module, 2); /* MODULE_STATE_GOING */
	set_type(&of_a_module, "loading or removing it");
	fk_u32(f, module, 0);
	link_module(0);
	set_type(&of_a_module, "loading or removing it");
	link_module(module);
	ck_assert_uint_eq(uses(), 1);
	fk_u32(f, module_call + CALL_ID, 1235); /* another module at its address */
	set_type(&of_a_module, "may have been loaded again");
	wait_and_tend();
	ck_assert_uint_eq(uses(), 1);
	f->k.modules.nr = 0;
	set_type(&of_a_module, "no longer has the module xfs");
	f->k.modules.nr = 1;
	is_as_before();
}
END_TEST

static void claim(void)
{
	bool is_new = false;

	ck_assert_ptr_null(hv_module_claim(&r.tracee, &f->k.modules.list[0], &is_new));
	ck_assert(is_new);
	ck_assert_ptr_null(hv_module_claim(&r.tracee, &f->k.modules.list[0], &is_new));
	ck_assert(!is_new);
	ck_assert_uint_eq(uses(), CLAIM + 1);
}

/* After a kill at any time, the next process finds the claim in the journal. */
START_TEST(a_module_whose_claim_is_left)
{
	const char *names[2];

	ck_assert_uint_eq(hv_module_claims_read(&r.tracee, 2, names), 0);
	claim();
	ck_assert_uint_eq(hv_module_claims_read(&r.tracee, 2, names), 1);
	ck_assert_str_eq(names[0], "xfs");
	ck_assert_uint_eq(hv_module_claims_read(&r.tracee, 0, names), 0);
	take_over();
	ck_assert_ptr_null(restore(NULL));
	ck_assert_uint_eq(uses(), 1);
	ck_assert_uint_eq(hv_patcher_nr_patched(r.tracee.patcher, HV_CHANGE_MODULE), 0);
	claim();
	take_over();
	link_module(0); /* removed by force; unknown code is there now */
	hv_err_free(restore(NULL));
	ck_assert_uint_eq(uses(), CLAIM + 1);
	link_module(module);
	fk_u32(f, module + MODULE_COUNT, 1);
}
END_TEST

/* Earlier releases did not note claims in the journal. Their sessions are restored, too, if the
 * offset of the count is certain. */
START_TEST(a_claim_of_an_earlier_release)
{
	bool is_new = true;

	f->k.core.types.from = _i ? HV_TYPES_IN_FILE : HV_TYPES_IN_MEMORY;
	f->k.core.types.proof.build_id_equal = _i;
	fk_u32(f, module + MODULE_COUNT, CLAIM + 2);
	ck_assert_ptr_null(restore(NULL));
	ck_assert_uint_eq(uses(), 2);
	fk_u32(f, module + MODULE_COUNT, CLAIM + 2);
	ck_assert_ptr_null(hv_module_claim(&r.tracee, &f->k.modules.list[0], &is_new));
	ck_assert(!is_new);
	ck_assert_ptr_null(restore(NULL));
	ck_assert_uint_eq(uses(), 2);
	fk_u32(f, module + MODULE_COUNT, 0xe0123480); /* part of an address */
	ck_assert_ptr_null(restore(NULL));
	ck_assert_uint_eq(uses(), 0xe0123480);
	fk_u32(f, module + MODULE_COUNT, 1);
}
END_TEST

/* The bit of a claim in memory of a module that no session has claimed is not hvtrace's. */
START_TEST(a_bit_that_is_not_a_claim)
{
	const char *names[2];

	f->k.core.types.from = HV_TYPES_IN_FILE;
	fk_u32(f, module + MODULE_COUNT, CLAIM + 2);
	ck_assert_uint_eq(hv_module_claims_read(&r.tracee, 2, names), 0);
	ck_assert_ptr_null(restore(NULL));
	ck_assert_uint_eq(uses(), CLAIM + 2);
	set_type(&of_a_module, "0x20000002 is not a possible count of its uses");
	fk_u32(f, module + MODULE_COUNT, 0xc0123480); /* part of an address */
	set_type(&of_a_module, "0xc0123480 is not a possible count of its uses");
	ck_assert_ptr_null(restore(NULL));
	ck_assert_uint_eq(uses(), 0xc0123480);
	fk_u32(f, module + MODULE_COUNT, 1);
}
END_TEST

/* A hostile guest can write the journal in the region. */
START_TEST(claims_in_a_journal_are_checked)
{
	const uint64_t at = module + MODULE_COUNT + HV_MODULE_CLAIM_BYTE;
	const struct hv_journal_entry good = {.gpa = FK_GPA + (at - FK_BASE),
					      .gva = at,
					      .state = HV_JOURNAL_USED,
					      .kind = HV_CHANGE_MODULE,
					      .len_bytes = 1,
					      .new_bytes = {0x20}};
	struct hv_journal_entry entry = good;
	bool is_ours = false;

	ck_assert_ptr_null(hv_module_claims_are_ours(&r.tracee, &entry, &is_ours));
	ck_assert(is_ours);
	for (unsigned i = 0; i < 5; i++) {
		entry = good;
		entry.gpa += i == 0;
		entry.gva -= i == 1;
		entry.len_bytes += i == 2;
		entry.new_bytes[0] ^= i == 3 ? 0x10 : 0;
		f->k.modules.nr = i != 4;
		ck_assert_ptr_null(hv_module_claims_are_ours(&r.tracee, &entry, &is_ours));
		ck_assert_msg(!is_ours, "%u", i);
	}
	f->k.modules.nr = 1;
}
END_TEST

/* A callback that does nothing makes no calls that need a change; only the release calls do. */
START_TEST(a_callback_that_does_nothing)
{
	const struct hv_event_type event = tp.type;
	uint64_t callback;

	tp.type.reg_kind = HV_EVENT_REG_PROBESTUB;
	tp.type.callback = hv_gva(FTP_OTHER);
	tp.type.call = tp.type.tracepoint.at;
	set(NULL);
	memcpy(&callback,
	       r.tracee.region.host + HV_REGION_TRAMPOLINES_OFF +
		       (funcs() - r.tracee.range.start.v),
	       sizeof(callback));
	ck_assert_uint_eq(callback, FTP_OTHER);
	for (size_t i = 0; i < HV_ARRAY_LEN(calls); i++)
		ck_assert_int_eq(leads_to_us(calls[i]), i < 2);
	set_none();
	ck_assert_ptr_null(restore(NULL));
	tp.type = event;
	is_as_before();
}
END_TEST

START_TEST(changes_by_the_guest_are_refused)
{
	struct hv_event_tracer_stat stat;

	ck_assert_ptr_null(hv_event_tracer_check(e, &tp.type));
	put_call(calls[3], FTP_OTHER); /* changed since hvtrace read it */
	set("has changed its callback");
	put_call(calls[3], COMMIT);
	for (unsigned i = 0; i < HV_PLUG_CALLBACKS_MAX; i++)
		ftp_put_callback(&tp, tp.array, i, FTP_OTHER + i, 1);
	fk_u64(f, tp.type.tracepoint.funcs.v, tp.array);
	fk_u32(f, tp.type.tracepoint.key.v, 1);
	ftp_jump(&tp);
	set("the guest itself uses its tracepoint");
	fk_u64(f, tp.type.tracepoint.funcs.v, 0);
	fk_u32(f, tp.type.tracepoint.key.v, 0);
	memcpy(fk_host(f, FTP_CODE), before, sizeof(before));
	fk_u64(f, tp.locks[3], 1);
	set("the guest's kernel holds static_call_mutex");
	fk_u64(f, tp.locks[3], 0);
	hv_event_tracer_stat(e, &stat);
	ck_assert(!stat.nr_on && funcs() == 0);
	set(NULL);
	ck_assert_ptr_null(restore(NULL));
	is_as_before();
}
END_TEST

/* The guest enabled the tracepoint while the event was off, so the event needs another array. A
 * vCPU uses the previous one. */
START_TEST(an_array_that_is_used_is_not_changed)
{
	uint64_t array;

	set(NULL);
	array = funcs();
	ck_assert_ptr_null(hv_event_tracer_set(e, NULL, 0));
	ftp_put_callback(&tp, tp.array, 0, FTP_OTHER, 1);
	fk_u64(f, tp.type.tracepoint.funcs.v, tp.array);
	fk_u32(f, tp.type.tracepoint.key.v, 1);
	ftp_jump(&tp);
	ftp_lead(&tp, FTP_OTHER);
	r.regs[1].general[5] = array;
	set("may still be calling its earlier callbacks");
	ck_assert_uint_eq(funcs(), tp.array);
	r.regs[1].general[5] = 0;
	set(NULL);
	ck_assert_uint_eq(funcs(), array);
	ck_assert_ptr_null(restore("1 event of the guest switched off"));
	ck_assert_uint_eq(funcs(), tp.array);
	ck_assert_uint_eq(ftp_call_target(&tp, 1), FTP_OTHER);
}
END_TEST

/* A hold that ends too early leaves part of a plug. Until that can be taken out, the callback's
 * calls must stay: the guest's own functions would take hvtrace's file for one of theirs. */
START_TEST(a_failed_hold_keeps_needed_calls)
{
	struct hv_event_want want = {.type = &tp.type};
	struct hv_err *err;

	writes_left = HV_ARRAY_LEN(calls) + (size_t)_i;
	err = hv_event_tracer_set(e, &want, 1);
	ck_assert(err && err->code == EIO);
	hv_err_free(err);
	hv_event_wants_deinit(&want, 1);
	writes_left = SIZE_MAX;
	usleep(250000);
	hv_event_tracer_tend(e);
	ck_assert(!funcs() || leads_to_us(calls[2]));
	set_none();
	ck_assert_ptr_null(restore(NULL));
	is_as_before();
}
END_TEST

static unsigned nr_in_place;

static void go_on(struct fr *fr)
{
	fr->regs[0].ip = hv_gva(nr_in_place ? FTP_SITE(0) + 1 : 0x401000);
	nr_in_place -= nr_in_place != 0;
}

START_TEST(a_vcpu_in_a_key_site_is_waited_for)
{
	set(NULL);
	set_none();
	nr_in_place = 3;
	r.when_held = go_on;
	set(NULL);
	nr_in_place = 3;
	set_none();
	nr_in_place = 1000;
	set("is in use");
	r.when_held = NULL;
	r.regs[0].ip = hv_gva(0x401000);
	ck_assert_ptr_null(restore(NULL));
	is_as_before();
}
END_TEST

/* The release calls, those in the callback, and the tracepoint. */
#define NR_WRITES (HV_ARRAY_LEN(calls) + 2 + FTP_NR - 1)

START_TEST(killed_between_any_two_writes)
{
	struct hv_event_want want = {.type = &tp.type};
	bool off_too = (size_t)_i > NR_WRITES;
	struct hv_err *err;

	writes_left = (size_t)_i;
	err = hv_event_tracer_set(e, &want, 1);
	hv_event_wants_deinit(&want, 1);
	ck_assert_int_eq(!err, (size_t)_i >= NR_WRITES);
	hv_err_free(err);
	if (off_too)
		hv_err_free(restore(NULL));
	take_over();
	writes_left = (size_t)_i % 4;
	hv_err_free(restore(NULL));
	take_over();
	writes_left = SIZE_MAX;
	err = restore(NULL);
	ck_assert_msg(!err, "%s", err ? err->message : "");
	is_as_before();
	ck_assert_uint_eq(hv_patcher_nr_patched(r.tracee.patcher, HV_CHANGE_EVENT_CALL), 0);
}
END_TEST

/* After a takeover, the plugged-in callbacks are unknown until all of them were taken out. */
START_TEST(calls_stay_while_old_callbacks_are_plugged_in)
{
	struct hv_err *err;

	set(NULL);
	take_over();
	fk_u64(f, tp.locks[0], 1);
	err = restore(NULL);
	ck_assert(err && err->code == EBUSY);
	hv_err_free(err);
	hv_event_tracer_tend(e);
	ck_assert(funcs() != 0);
	for (size_t i = 0; i < HV_ARRAY_LEN(calls); i++)
		ck_assert(leads_to_us(calls[i]));
	fk_u64(f, tp.locks[0], 0);
	ck_assert_ptr_null(restore("1 event of the guest switched off"));
	is_as_before();
}
END_TEST

static uint64_t hidden;
static unsigned nr_looks;

static void show_again(struct fr *fr, struct hv_gpa gpa)
{
	if (gpa.v != tp.type.tracepoint.funcs.v - FK_BASE + FK_GPA || ++nr_looks < 2)
		return;
	fk_u64(f, tp.type.tracepoint.funcs.v, hidden);
	fr->when_read = NULL;
}

/* The guest runs while hvtrace searches for its own changes. */
START_TEST(changes_missed_by_the_first_search)
{
	set(NULL);
	hidden = funcs();
	nr_looks = 0;
	fk_u64(f, tp.type.tracepoint.funcs.v, 0);
	r.when_read = show_again;
	ck_assert_ptr_null(restore("1 event of the guest switched off"));
	is_as_before();
}
END_TEST

static uint8_t on[sizeof(before)];

/* The guest enables it again before each look, which reads the iterator first. */
static void switch_on_again(struct fr *fr hv_unused, struct hv_gpa gpa)
{
	if (gpa.v != tp.type.tracepoint.at.v + 32 - FK_BASE + FK_GPA || funcs())
		return;
	memcpy(fk_host(f, FTP_CODE), on, sizeof(on));
	fk_u32(f, tp.type.tracepoint.key.v, 1);
	fk_u64(f, tp.type.tracepoint.funcs.v, hidden);
}

START_TEST(a_guest_that_never_stops)
{
	set(NULL);
	hidden = funcs();
	memcpy(on, fk_host(f, FTP_CODE), sizeof(on));
	r.when_read = switch_on_again;
	expect_error(restore(NULL), EBUSY, "the guest keeps switching events on; retry");
	r.when_read = NULL;
	ck_assert_ptr_null(restore(NULL));
	is_as_before();
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_guest_that_never_stops);
	tcase_add_test(tc, changes_missed_by_the_first_search);
	tcase_add_test(tc, calls_stay_while_old_callbacks_are_plugged_in);
	tcase_add_test(tc, on_and_off);
	tcase_add_test(tc, one_refused_event_does_not_block_others);
	tcase_add_test(tc, an_event_has_a_filter_while_it_is_wanted);
	tcase_add_test(tc, a_removed_module);
	tcase_add_test(tc, a_module_stays_while_its_events_are_on);
	tcase_add_test(tc, a_module_goes_while_other_events_are_on);
	tcase_add_test(tc, a_module_that_goes_is_refused);
	tcase_add_test(tc, a_module_whose_claim_is_left);
	tcase_add_loop_test(tc, a_claim_of_an_earlier_release, 0, 2);
	tcase_add_test(tc, a_bit_that_is_not_a_claim);
	tcase_add_test(tc, claims_in_a_journal_are_checked);
	tcase_add_test(tc, a_callback_that_does_nothing);
	tcase_add_test(tc, changes_by_the_guest_are_refused);
	tcase_add_test(tc, an_array_that_is_used_is_not_changed);
	tcase_add_loop_test(tc, a_failed_hold_keeps_needed_calls, 0, 2 + FTP_NR - 1);
	tcase_add_test(tc, a_vcpu_in_a_key_site_is_waited_for);
	tcase_add_loop_test(tc, killed_between_any_two_writes, 0, 2 * NR_WRITES + 1);
}

int main(void)
{
	return run_suite("event_tracer", add_tests);
}
