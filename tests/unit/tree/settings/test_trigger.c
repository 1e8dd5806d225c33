/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of triggers after they are set, and that a faulty trigger leaves nothing.
 * tests/guest/cases_filters.py compares the errors with a kernel's. */
#include <check.h>
#include <stdlib.h>

#include "tests/lib/run_suite.h"
#include "tree/settings/trigger.h"

static struct hv_trigger parse(const char *text)
{
	struct hv_trigger t = {0};
	struct hv_err *err = hv_trigger_parse(text, &t);

	ck_assert_msg(!err, "%s: %s", text, err ? err->message : "");
	return t;
}

static void shows(const char *text, const char *want)
{
	HV_AUTO_TEXT struct hv_text shown = {0};
	struct hv_trigger t = parse(text);

	hv_trigger_text(&t, &shown);
	ck_assert_str_eq(shown.data, want);
	hv_trigger_deinit(&t);
}

static void is_wrong(const char *text, const char *why)
{
	struct hv_trigger t;
	struct hv_err *err = hv_trigger_parse(text, &t);

	ck_assert_msg(err != NULL, "%s", text);
	ck_assert_int_eq(err->code, EINVAL);
	ck_assert_str_eq(err->message, why);
	hv_err_free(err);
}

static void alike(const char *a, const char *b, bool want)
{
	struct hv_trigger first = parse(a), second = parse(b);

	ck_assert_msg(hv_trigger_is_like(&first, &second) == want, "%s, %s", a, b);
	hv_trigger_deinit(&first);
	hv_trigger_deinit(&second);
}

START_TEST(how_triggers_are_shown)
{
	shows("stacktrace:3", "stacktrace:count=3\n");
	shows("traceon", "traceon:unlimited\n");
	shows(" traceoff:0x10 if  x == 1", "traceoff:count=16 if  x == 1\n");
	shows("snapshot 3", "snapshot:count=3\n");
	shows("snapshot:3:4", "snapshot:count=3\n");
	shows("traceon:\tif x", "traceon:unlimited if x\n");
	shows("enable_event:a:b", "enable_event:a:b:unlimited\n");
	shows("disable_event:a:b:2 \t if x ~ \"if y\"",
	      "disable_event:a:b:count=2 if x ~ \"if y\"\n");
}
END_TEST

START_TEST(invalid_input_is_refused)
{
	is_wrong("", "there is no trigger '' here");
	is_wrong("!", "there is no trigger '' here");
	is_wrong("nosuch", "there is no trigger 'nosuch' here");
	is_wrong("traceon:1x", "'1x' is not a number");
	is_wrong("traceon:x", "'x': only 'if FILTER' may follow a trigger");
	is_wrong("traceon if", "'if': only 'if FILTER' may follow a trigger");
	is_wrong("enable_event if x", "enable_event: SYSTEM:EVENT is missing");
	is_wrong("enable_event:a", "enable_event: SYSTEM:EVENT is missing");
	is_wrong("enable_event:a:b:", "'' is not a number");
	is_wrong("enable_event:a:b unless", "'unless': only 'if FILTER' may follow a trigger");
}
END_TEST

START_TEST(removals)
{
	struct hv_trigger t = parse("!traceon:5 what follows");

	ck_assert(t.removes && t.command == HV_TRIGGER_TRACEON);
	hv_trigger_deinit(&t);
	alike("!traceoff", "traceon:5 if x", true);
	alike("!traceoff", "snapshot", false);
	alike("traceoff", "stacktrace", false);
	alike("snapshot", "stacktrace:2", false);
	alike("snapshot:1", "snapshot:2", true);
	alike("enable_event:a:b", "disable_event:a:b:4", true);
	alike("enable_event:a:b", "enable_event:a:c", false);
	alike("enable_event:a:b", "enable_event:c:b", false);
	alike("enable_event:a:b", "traceon", false);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, how_triggers_are_shown);
	tcase_add_test(tc, invalid_input_is_refused);
	tcase_add_test(tc, removals);
}

int main(void)
{
	return run_suite("trigger", add_tests);
}
