/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the calls that callbacks make, and the calls that free callbacks, in code built here.
 * kernel_probe --event-calls does it for a real kernel. */
#include "kernel/events/callback_calls.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/fake_kernel.h"

#define RELEASE	   (FK_BASE + 0x1000) /* call_rcu */
#define RELEASE_2  (FK_BASE + 0x1100) /* call_srcu */
#define RELEASE_3  (FK_BASE + 0x1200) /* call_rcu_tasks_trace */
#define RESERVE	   (FK_BASE + 0x2000)
#define COMMIT	   (FK_BASE + 0x2100)
#define ADD	   (FK_BASE + 0x3000)
#define ALONE	   (FK_BASE + 0x3800)
#define REMOVE	   (FK_BASE + 0x4000)
#define CALLBACK   (FK_BASE + 0x5400) /* whole */
#define CALLBACK_X (FK_BASE + 0x6000) /* its name begins with CALLBACK's name */
#define OUTER	   (FK_BASE + 0x7000) /* in three parts */
#define INNER	   (FK_BASE + 0x7800)
#define COLD	   (FK_BASE + 0x8000)
#define NO_COMMIT  (FK_BASE + 0x9000)
#define CROSSES	   (FK_BASE + 0xa000)
#define EQUAL	   (FK_BASE + 0xb800) /* jumps to another callback */
#define OTHER	   (FK_BASE + 0xc000)

static struct fk f;
static struct hv_callback_calls calls;

static void put(uint64_t at, uint64_t target)
{
	ck_assert(hv_arch_x86_64.encode_call(hv_gva(at), hv_gva(target), fk_host(&f, at)));
}

static void put_jump(uint64_t at, uint64_t target)
{
	ck_assert(hv_arch_x86_64.encode_jump(hv_gva(at), hv_gva(target), fk_host(&f, at)));
}

static void put_code(void)
{
	put(CALLBACK + 0x21, RESERVE);
	put(CALLBACK + 0x31, RESERVE + 1); /* another function */
	put(CALLBACK + 0x41, COMMIT);
	put(CALLBACK_X + 0x21, RESERVE);
	put(CALLBACK_X + 0x41, COMMIT);
	put(OUTER + 0x10, INNER);
	put(INNER + 0x21, RESERVE - 16); /* call-depth tracking */
	put_jump(INNER + 0x41, COMMIT);
	put(COLD + 0x11, RESERVE);
	put(NO_COMMIT + 0x11, RESERVE);
	put(CROSSES + 0x10, RESERVE);
	put(CROSSES + 0xffe, COMMIT);
	put_jump(EQUAL + 4, CALLBACK_X);
	put(OTHER, RESERVE);
}

static void set_up_with(const char *alone, const char *release)
{
	fk_init(&f);
	fk_symbol(&f, release, RELEASE);
	fk_symbol(&f, "call_srcu", RELEASE_2);
	fk_symbol(&f, "call_rcu_tasks_trace", RELEASE_3);
	fk_symbol(&f, "trace_event_buffer_reserve", RESERVE);
	fk_symbol(&f, "trace_event_buffer_commit", COMMIT);
	fk_symbol(&f, "tracepoint_add_func", ADD);
	fk_symbol(&f, alone, ALONE);
	fk_symbol(&f, "tracepoint_probe_unregister", REMOVE);
	fk_symbol(&f, "trace_event_raw_event_probe", CALLBACK);
	fk_symbol(&f, "trace_event_raw_event_probe_x", CALLBACK_X);
	fk_symbol(&f, "trace_event_raw_event_parts", OUTER);
	fk_symbol(&f, "do_trace_event_raw_event_parts.isra.0", INNER);
	fk_symbol(&f, "trace_event_raw_event_parts.cold", COLD);
	fk_symbol(&f, "trace_event_raw_event_broken", NO_COMMIT);
	fk_symbol(&f, "trace_event_raw_event_crosses", CROSSES);
	fk_symbol(&f, "trace_event_raw_event_equal", EQUAL);
	fk_symbol(&f, "kprobe_trace_func", OTHER);
	fk_done(&f);
	put_code();
}

static void set_up(void)
{
	set_up_with("somebody", "call_rcu");
	calls = (struct hv_callback_calls){0};
	ck_assert_ptr_null(hv_callback_calls_read(&f.k, &calls));
}

static void tear_down(void)
{
	hv_callback_calls_deinit(&calls);
	fk_deinit(&f);
}

static const struct hv_callback_call *find(uint64_t callback, size_t nr)
{
	const struct hv_callback_call *list;
	size_t nr_found;
	struct hv_err *err = hv_callback_calls_of(&f.k, &calls, hv_gva(callback), &list, &nr_found);

	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert_uint_eq(nr_found, nr);
	return list;
}

static void fails(uint64_t callback, const char *words)
{
	const struct hv_callback_call *list;
	size_t nr;
	struct hv_err *err = hv_callback_calls_of(&f.k, &calls, hv_gva(callback), &list, &nr);

	ck_assert(err != NULL);
	ck_assert_int_eq(err->code, EOPNOTSUPP);
	ck_assert_msg(strstr(err->message, words) != NULL, "%s", err->message);
	hv_err_free(err);
}

START_TEST(the_calls_of_one_callback)
{
	const struct hv_callback_call *list = find(CALLBACK, 2);

	ck_assert_uint_eq(list[0].call.at.v, CALLBACK + 0x21);
	ck_assert(!list[0].commits);
	ck_assert_uint_eq(list[1].call.at.v, CALLBACK + 0x41);
	ck_assert(list[1].commits);
	ck_assert_uint_eq(find(CALLBACK_X, 2)->call.at.v, CALLBACK_X + 0x21);
	ck_assert_uint_eq(find(EQUAL, 2)->call.at.v, CALLBACK_X + 0x21);
}
END_TEST

START_TEST(a_callback_in_parts)
{
	const struct hv_callback_call *list = find(OUTER, 3);

	ck_assert_uint_eq(list[0].call.at.v, INNER + 0x21);
	ck_assert_uint_eq(list[0].call.target.v, RESERVE - 16);
	ck_assert_uint_eq(list[1].call.at.v, INNER + 0x41);
	ck_assert_int_eq(list[1].call.kind, HV_SITE_JUMP);
	ck_assert(list[1].commits);
	ck_assert_uint_eq(list[2].call.at.v, COLD + 0x11);
}
END_TEST

START_TEST(errors_explain_unusable_callbacks)
{
	fails(NO_COMMIT, "its callback does not call trace_event_buffer_commit");
	fails(CROSSES, "a call of its callback, at 0x");
	fails(CALLBACK + 1, "is no function of the kernel");
	fails(OTHER, "is no function of the kernel");
	fails(FK_MODULES, "is no function of the kernel");
	fails(0, "is no function of the kernel");
}
END_TEST

static void finds(size_t nr, uint64_t function, unsigned head_argument)
{
	struct hv_release_calls c;
	struct hv_err *err = hv_release_calls_read(&f.k, &c);

	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert_uint_eq(c.calls.nr, nr);
	ck_assert_uint_eq(c.function.v, function);
	ck_assert_uint_eq(c.head_argument, head_argument);
	hv_release_calls_deinit(&c);
}

/* Returns the number of calls that free arrays in another way, or -1 if some may be missing. */
static int nr_others(void)
{
	struct hv_release_calls c = {0};
	int ret;

	ck_assert_ptr_null(hv_release_calls_read(&f.k, &c));
	ck_assert(!c.has_unknown || !c.others.nr);
	ck_assert_uint_eq(c.other_function.v, c.others.nr ? RELEASE_3 : 0);
	ret = c.has_unknown ? -1 : (int)c.others.nr;
	hv_release_calls_deinit(&c);
	return ret;
}

static void finds_none(const char *words)
{
	struct hv_release_calls c;
	struct hv_err *err = hv_release_calls_read(&f.k, &c);

	ck_assert(err && err->code == EOPNOTSUPP);
	ck_assert_msg(strstr(err->message, words) != NULL, "%s", err->message);
	hv_err_free(err);
}

START_TEST(callbacks_are_freed_where_they_are_added_and_removed)
{
	finds_none("not found");
	put(ADD + 0x100, RELEASE);
	finds_none("not found");
	put(REMOVE + 0x100, RELEASE);
	finds(2, RELEASE, 0);
	put(ADD + 0x200, RELEASE);
	put_jump(REMOVE + 0x200, RELEASE);
	finds(4, RELEASE, 0);
	ck_assert_int_eq(nr_others(), 0);
	put(ADD + 0x280, RELEASE_3);
	finds(4, RELEASE, 0);
	ck_assert_int_eq(nr_others(), -1);
	put(REMOVE + 0x280, RELEASE_3);
	finds(4, RELEASE, 0);
	ck_assert_int_eq(nr_others(), 2);
	put(REMOVE + 0xffd, RELEASE_3); /* spans two pages; the others are still found */
	finds(4, RELEASE, 0);
	ck_assert_int_eq(nr_others(), -1);
	put(ADD + 0x300, RELEASE_2); /* ambiguous: both could free */
	finds_none("not found");
}
END_TEST

START_TEST(callbacks_are_freed_by_srcu)
{
	put(ADD + 0x100, RELEASE_2);
	put(REMOVE + 0x100, RELEASE_2);
	finds(2, RELEASE_2, 1);
	put(REMOVE + 0xffd, RELEASE_2);
	finds_none("a call that frees callbacks, at 0xffffffff81004ffd, is in two pages");
}
END_TEST

START_TEST(callbacks_are_freed_in_a_separate_function)
{
	tear_down();
	set_up_with("release_probes.isra.0", "call_rcu");
	put(ALONE + 0x10, RELEASE);
	finds(1, RELEASE, 0);
}
END_TEST

/* Linux 4.19 */
START_TEST(callbacks_are_freed_by_sched_rcu)
{
	tear_down();
	set_up_with("other", "call_rcu_sched");
	put(ADD + 0x100, RELEASE);
	finds_none("not found");
	put(REMOVE + 0x100, RELEASE);
	finds(2, RELEASE, 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, the_calls_of_one_callback);
	tcase_add_test(tc, a_callback_in_parts);
	tcase_add_test(tc, errors_explain_unusable_callbacks);
	tcase_add_test(tc, callbacks_are_freed_where_they_are_added_and_removed);
	tcase_add_test(tc, callbacks_are_freed_by_srcu);
	tcase_add_test(tc, callbacks_are_freed_in_a_separate_function);
	tcase_add_test(tc, callbacks_are_freed_by_sched_rcu);
}

int main(void)
{
	return run_suite("callback_calls", add_tests);
}
