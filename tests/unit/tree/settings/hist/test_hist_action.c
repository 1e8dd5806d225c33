/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variables and actions of hist triggers that refer to other triggers. tests/guest/cases_synth.py
 * compares many of them with a kernel. */
#include <check.h>
#include <string.h>

#include "tests/lib/run_suite.h"
#include "tree/settings/hist/hist_spec.h"
#include "tree/settings/hist/synth.h"

#define NR_OTHERS_MAX 4

static struct hv_event_field waking_fields[] = {
	{"comm", "char[16]", 8, 16, 0, 0, true},
	{"pid", "pid_t", 24, 4, 0, 0, true},
	{"prio", "int", 28, 4, 0, 0, true},
};
static struct hv_event_field switch_fields[] = {
	{"next_comm", "char[16]", 8, 16, 0, 0, true},
	{"next_pid", "pid_t", 24, 4, 0, 0, true},
};
static struct hv_event_type types[] = {
	{.system = "sched",
	 .name = "waking",
	 .id = 1,
	 .is_available = true,
	 .fields = {waking_fields, HV_ARRAY_LEN(waking_fields)}},
	{.system = "sched",
	 .name = "switch",
	 .id = 2,
	 .is_available = true,
	 .fields = {switch_fields, HV_ARRAY_LEN(switch_fields)}},
};
static struct hv_catalogue catalogue = {.types = types, .nr = HV_ARRAY_LEN(types)};
static struct hv_hist_spec others[NR_OTHERS_MAX];
static const struct hv_event_type *types_of[NR_OTHERS_MAX];
static size_t nr_others;
static struct hv_synth synth;

static bool next_other(void *of, size_t index, struct hv_hist_other *ret)
{
	(void)of;
	if (index >= nr_others)
		return false;
	*ret = (struct hv_hist_other){index + 1, types_of[index], &others[index]};
	return true;
}

static const struct hv_synth *find_synth(void *of, const char *name)
{
	(void)of;
	return strcmp(name, synth.name) == 0 ? &synth : NULL;
}

static int add(void *of, const struct hv_event_type *type, const char *text);

static struct hv_hist_scope scope_of(const struct hv_event_type *type)
{
	return (struct hv_hist_scope){&catalogue, type, NULL, next_other, find_synth, add};
}

static int add(void *of, const struct hv_event_type *type, const char *text)
{
	const struct hv_hist_scope scope = scope_of(type);
	struct hv_hist_faults faults;

	(void)of;
	ck_assert_uint_lt(nr_others, NR_OTHERS_MAX);
	if (!hv_hist_spec_parse(&scope, text, &others[nr_others], &faults))
		return faults.code;
	types_of[nr_others++] = type;
	return 0;
}

static void set_up(void)
{
	struct hv_synth_fault fault;

	hv_catalogue_index(&catalogue);
	ck_assert(hv_synth_parse("made u64 lat; pid_t pid; int prio", &synth, &fault));
	ck_assert_int_eq(add(NULL, &types[0], "hist:keys=pid:ts=common_timestamp.usecs,five=5"), 0);
}

static void tear_down(void)
{
	while (nr_others)
		hv_hist_spec_deinit(&others[--nr_others]);
	hv_synth_deinit(&synth);
	free(catalogue.by_name);
	free(catalogue.by_id);
	free(catalogue.systems);
	catalogue.by_name = catalogue.by_id = NULL;
	catalogue.systems = NULL;
}

/* Parses and links TEXT for the second type. */
static bool make(const char *text, struct hv_hist_spec *ret, struct hv_hist_faults *ret_faults)
{
	const struct hv_hist_scope scope = scope_of(&types[1]);

	if (!hv_hist_spec_parse(&scope, text, ret, ret_faults))
		return false;
	if (hv_hist_spec_link(&scope, text, ret, ret_faults))
		return true;
	hv_hist_spec_deinit(ret);
	return false;
}

/* The last fault must be WHY. A ^ in TEXT precedes the faulty part. */
static void is_wrong(const char *text, const char *why)
{
	HV_AUTO_FREE char *copy = hv_strdup(text);
	char *mark = strchr(copy, '^');
	struct hv_hist_faults faults;
	struct hv_hist_spec s;

	if (mark)
		memmove(mark, mark + 1, strlen(mark));
	ck_assert_msg(!make(copy, &s, &faults), "%s", text);
	ck_assert_msg(faults.nr, "%s: nothing is said", text);
	ck_assert_str_eq(faults.list[faults.nr - 1].why, why);
	ck_assert_msg(faults.list[faults.nr - 1].at == (mark ? (size_t)(mark - copy) : 0),
		      "%s: at %zu", text, faults.list[faults.nr - 1].at);
}

START_TEST(invalid_input_is_refused)
{
	is_wrong("hist:keys=next_pid:^twice=1:twice=2", "Variable already defined");
	is_wrong("hist:keys=next_pid:a=^$none", "Couldn't find field");
	is_wrong("hist:keys=^$ts", "Using variable references in keys not supported");
	is_wrong("hist:keys=next_pid:a=common_timestamp-$ts",
		 "Timestamp units in expression don't match");
	is_wrong("hist:keys=next_pid:a=next_pid/^0", "Division by zero");
	is_wrong("hist:keys=next_pid:onmax(^plain).save(next_pid)",
		 "For onmax(x) or onchange(x), x must be a variable");
	is_wrong("hist:keys=next_pid:onmax($^none).save(next_pid)",
		 "Couldn't find onmax or onchange variable");
	is_wrong("hist:keys=next_pid:onmatch(sched.waking).^none(next_pid)",
		 "Couldn't find synthetic event");
	is_wrong("hist:keys=next_pid:onmatch(sched.waking).made($^none,next_pid,prio)",
		 "Couldn't find param");
	is_wrong("hist:keys=next_pid:onmatch(sched.waking).^made($ts,next_pid)",
		 "Param count doesn't match synthetic event field count");
	is_wrong("hist:keys=^next_pid:onmatch(sched.waking).made(next_pid,next_pid,prio)",
		 "Param type doesn't match synthetic event field type");
	is_wrong("hist:keys=next_comm:onmatch(sched.waking).made($ts,next_pid,^prio)",
		 "Matching event histogram not found");
	is_wrong("hist:keys=next_pid:onmatch(sched.^none).made($ts)",
		 "Invalid subsystem or event name");
	is_wrong("hist:keys=next_pid:onmatch(sched.waking).^save(next_pid)",
		 "Handler doesn't support action");
	is_wrong("hist:keys=next_pid:a=1:onmax($a).save(next_pid):onchange($a).save(next_comm)",
		 "Can't have more than one save() action per hist");
	is_wrong("hist:keys=next_pid:a=1:onmax($a).save(^none)", "Couldn't create field variable");
}
END_TEST

START_TEST(limits)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_hist_faults faults;
	struct hv_hist_spec s;

	hv_text_add(&text, "hist:keys=next_pid");
	for (unsigned i = 0; i < HV_HIST_VARIABLES_MAX; i++)
		hv_text_printf(&text, ":v%u=1", i);
	ck_assert(make(text.data, &s, &faults));
	hv_hist_spec_deinit(&s);
	hv_text_add(&text, ":onmax($v1).save(next_pid)");
	ck_assert(!make(text.data, &s, &faults));
	ck_assert_str_eq(faults.list[0].why, "Couldn't create onmax or onchange variable");
	hv_text_clear(&text);
	hv_text_add(&text, "hist:keys=next_pid:v=1");
	for (unsigned i = 0; i <= HV_HIST_ACTIONS_MAX; i++)
		hv_text_add(&text, ":onmax($v).snapshot()");
	ck_assert(!make(text.data, &s, &faults));
	ck_assert_int_eq(faults.code, EINVAL);
}
END_TEST

START_TEST(references)
{
	static const char text[] =
		"hist:keys=next_pid:lat=common_timestamp.usecs-$ts,again=sched.waking.$five,"
		"own=$lat2,lat2=next_pid:onmatch(sched.waking).made($lat,next_pid,prio)";
	struct hv_hist_faults faults;
	struct hv_hist_spec s;

	ck_assert(make(text, &s, &faults));
	ck_assert_uint_eq(s.nr_variables, 5);
	ck_assert_str_eq(s.variables[0].field->name, "common_timestamp.usecs-$ts");
	ck_assert_int_eq(s.variables[1].field->kind, HV_HIST_REFERENCE);
	ck_assert_int_eq(s.variables[2].field->kind, HV_HIST_NUMBER);
	ck_assert_int_eq(s.variables[4].role, HV_HIST_PARAMETER);
	ck_assert_uint_eq(s.nr_refs, 5);
	ck_assert(s.refs[0].serial == 1 && s.refs[0].reads_once);
	ck_assert(s.refs[1].serial == 1 && s.refs[1].variable == 1 && !s.refs[1].reads_once);
	ck_assert(s.refs[2].serial == 0 && s.refs[2].variable == 0);
	/* The other event's field is a variable of a trigger that hvtrace added. */
	ck_assert(s.refs[4].serial == 2 && s.refs[4].variable == 0);
	ck_assert_uint_eq(nr_others, 2);
	ck_assert_str_eq(others[1].variables[0].name, "synthetic_prio");
	hv_hist_spec_deinit(&s);
}
END_TEST

static void alike(const char *a, const char *b, bool want)
{
	const struct hv_hist_scope scope = scope_of(&types[1]);
	struct hv_hist_faults faults;
	struct hv_hist_spec first, second;

	ck_assert(hv_hist_spec_parse(&scope, a, &first, &faults));
	ck_assert(hv_hist_spec_parse(&scope, b, &second, &faults));
	ck_assert_msg(hv_hist_spec_is_like(&first, &second) == want, "%s, %s", a, b);
	hv_hist_spec_deinit(&first);
	hv_hist_spec_deinit(&second);
}

START_TEST(equal_triggers_are_recognized)
{
	alike("hist:keys=next_pid:a=1", "hist:keys=next_pid:a=2", true);
	alike("hist:keys=next_pid:a=1", "hist:keys=next_pid:b=1", false);
	alike("hist:keys=next_pid:a=1", "hist:keys=next_pid", false);
	alike("hist:keys=next_pid:a=1:onmax($a).save(next_pid)",
	      "!hist:keys=next_pid:a=1:onmax($a).save(next_pid)", true);
	alike("hist:keys=next_pid:a=1:onmax($a).save(next_pid)",
	      "hist:keys=next_pid:a=1:onchange($a).save(next_pid)", false);
	alike("hist:keys=next_pid:a=1:onmax($a).save(next_pid)",
	      "hist:keys=next_pid:a=1:onmax($a).save(next_comm)", false);
	alike("hist:keys=next_pid:onmatch(sched.waking).made(next_pid)",
	      "hist:keys=next_pid:onmatch(sched.waking).trace(made,next_pid)", true);
	alike("hist:keys=next_pid:onmatch(sched.waking).made(next_pid)",
	      "hist:keys=next_pid:onmatch(sched.switch).made(next_pid)", false);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, invalid_input_is_refused);
	tcase_add_test(tc, limits);
	tcase_add_test(tc, references);
	tcase_add_test(tc, equal_triggers_are_recognized);
}

int main(void)
{
	return run_suite("hist_action", add_tests);
}
