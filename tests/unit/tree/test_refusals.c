/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Refusals that need guests which a transcript (tests/golden) cannot describe: all ids of events are
 * used, fields lie elsewhere, events disappear. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "kernel/events/catalogue.h"
#include "ringbuf/abi.h"
#include "tests/lib/expect.h"
#include "tests/lib/fake_session.h"
#include "tests/lib/run_suite.h"
#include "tracer/guest/trampoline_programs.h"
#include "tracer/tracepoints/event_types.h"
#include "tree/tree.h"

#define REG 0xffffffff81111110

static struct hv_session *session;
static struct hv_tree *tree;

static void set_up(void)
{
	session = hv_fake_new();
	hv_fake_site(session, 0x1000, "vfs_open", NULL, 0);
	hv_fake_site(session, 0x2000, "eprobe_dyn_event_create", NULL, 0);
	hv_fake_event_type(session, "sched", "sched_waking", 330, REG);
	ck_assert_ptr_null(hv_tree_new(session, &tree));
}

static void tear_down(void)
{
	hv_tree_free(tree);
	hv_fake_free(session);
}

static struct hv_err *put(const char *path, const char *text)
{
	struct hv_file *f;
	struct hv_err *err = hv_tree_open(tree, &hv_root_rights, path, O_WRONLY, &f);
	size_t n;

	if (err)
		return err;
	err = hv_file_write(f, text, strlen(text), &n);
	hv_err_keep_first(&err, hv_file_close(f));
	return err;
}

static struct hv_catalogue *catalogue(void)
{
	const struct hv_catalogue *c;

	ck_assert_ptr_null(hv_event_types_catalogue(session->types, &c));
	return (struct hv_catalogue *)c;
}

static void use_all_ids(void)
{
	static const struct hv_event_type many = {.system = "many", .name = "many"};
	struct hv_catalogue *c = catalogue();
	size_t nr = c->nr;

	c->types = hv_realloc_array(c->types, nr + HV_EVENT_ID_RETURN, sizeof(*c->types));
	for (uint32_t id = 1; id < HV_EVENT_ID_RETURN; id++) {
		if (hv_catalogue_by_id(c, id))
			continue;
		c->types[nr] = many;
		c->types[nr++].id = id;
	}
	c->nr = nr;
	hv_catalogue_index(c);
}

START_TEST(a_guest_uses_all_ids)
{
	use_all_ids();
	expect_error(put("synthetic_events", "mine u64 value\n"), ENOSPC,
		     "synthetic_events: the guest's events use all ids");
	expect_error(put("dynamic_events", "e:mine sched.sched_waking\n"), ENOSPC,
		     "dynamic_events: the guest's events use all ids");
	expect_error(put("kprobe_events", "p:mine vfs_open\n"), ENOSPC,
		     "kprobe_events: the guest's events use all ids");
	hv_catalogue_remove(catalogue(), 1000);
	expect_success(put("kprobe_events", "p:mine vfs_open\n"));
}
END_TEST

START_TEST(events_of_the_host_have_no_triggers)
{
	static const char *const words[] = {"enable_event:host:sched_switch",
					    "enable_hist:host:sched_switch"};
	static const struct hv_event_type type = {.system = "host",
						  .name = "sched_switch",
						  .id = 1000,
						  .is_available = true,
						  .reg_kind = HV_EVENT_REG_HOST};
	hv_event_types_add(session->types, &type);
	for (size_t i = 0; i < HV_ARRAY_LEN(words); i++)
		expect_error(put("events/sched/sched_waking/trigger", words[i]), EOPNOTSUPP,
			     "an event of the host has no triggers");
	expect_error(put("set_ftrace_filter", "vfs_open:enable_event:host:sched_switch\n"),
		     EOPNOTSUPP, "an event of the host has no triggers");
}
END_TEST

START_TEST(raw_system_calls_have_another_form)
{
	char *args[] = {(char *)"fd"};

	hv_fake_event_type(session, "raw_syscalls", "sys_enter", 20, REG);
	hv_fake_syscall(session, 30, 3, "close", args, 1);
	expect_error(put("events/syscalls/sys_enter_close/enable", "1"), EOPNOTSUPP,
		     "unknown layout of this kernel's raw_syscalls:sys_enter");
}
END_TEST

START_TEST(records_of_wakeups_are_long)
{
	struct hv_event_type *type;

	hv_fake_scheduler(session);
	type = (struct hv_event_type *)hv_catalogue_find(catalogue(), "ftrace", "context_switch");
	type->fields.list[type->fields.nr - 1].off = 64;
	expect_error(put("current_tracer", "wakeup"), EOPNOTSUPP,
		     "ftrace:context_switch has 65 bytes");
	type->fields.list[type->fields.nr - 1].off = 63;
	expect_success(put("current_tracer", "wakeup"));
}
END_TEST

START_TEST(a_probed_event_is_gone)
{
	hv_fake_event_type(session, "mod", "event", 331, REG);
	expect_success(put("dynamic_events", "e:mine mod.event\n"));
	hv_event_types_remove(session->types, 331);
	expect_error(put("events/eprobes/mine/enable", "1"), ENODEV,
		     "eprobes:mine: the event that it probes is gone");
}
END_TEST

START_TEST(many_events_read_memory)
{
	const struct hv_event_type *type;
	char text[64];

	for (unsigned i = 0; i <= HV_TRAMPOLINE_PROGRAMS_MAX; i++) {
		snprintf(text, sizeof(text), "event%u", i);
		hv_fake_event_type(session, "mod", text, 400 + i, REG);
		type = hv_catalogue_find(catalogue(), "mod", text);
		type->fields.list[0] =
			(struct hv_event_field){"at", "unsigned long", 8, 8, 0, 0, false};
		snprintf(text, sizeof(text), "e:read%u mod.event%u name=+0($at):ustring\n", i, i);
		expect_success(put("dynamic_events", text));
		snprintf(text, sizeof(text), "events/eprobes/read%u/enable", i);
		if (i < HV_TRAMPOLINE_PROGRAMS_MAX)
			expect_success(put(text, "1"));
		else
			expect_error(put(text, "1"), ENOSPC,
				     "probes read memory for more than 31 events");
	}
}
END_TEST

START_TEST(histograms_of_odd_fields)
{
	struct hv_event_type *type =
		(struct hv_event_type *)hv_catalogue_find(catalogue(), "sched", "sched_waking");

	type->fields.list[0] = (struct hv_event_field){"odd", "u8[3]", 8, 3, 0, 0, false};
	expect_error(put("events/sched/sched_waking/trigger", "hist:keys=odd"), ENOMEM,
		     "a key or value is neither a number nor a string");
}
END_TEST

/* Adds BEFORE, a number and AFTER for each number below NR. */
static void add_each(struct hv_text *text, unsigned nr, const char *before, const char *after)
{
	for (unsigned i = 0; i < nr; i++)
		hv_text_printf(text, "%s%u%s", before, i, after);
}

START_TEST(a_histogram_refers_to_many_variables)
{
	HV_AUTO_TEXT struct hv_text synth = {0}, defines = {0}, refers = {0};

	hv_fake_event_type(session, "sched", "sched_switch", 331, REG);
	hv_text_add(&synth, "many");
	add_each(&synth, 17, " u64 f", ";");
	expect_success(put("synthetic_events", synth.data));
	hv_text_add(&defines, "hist:keys=comm");
	add_each(&defines, 16, ":v", "=hitcount");
	expect_success(put("events/sched/sched_waking/trigger", defines.data));
	expect_success(put("events/sched/sched_switch/trigger", "hist:keys=comm:v16=hitcount"));
	hv_text_add(&refers, "hist:keys=comm:onmatch(sched.sched_waking).many(");
	add_each(&refers, 16, "$v", ",");
	hv_text_add(&refers, "sched.sched_switch.$v16)");
	expect_error(put("events/sched/sched_switch/trigger", refers.data), ENOMEM,
		     "the trigger refers to more than 16 variables");
}
END_TEST

START_TEST(stacks_do_not_show_registers)
{
	hv_fake_user_stacks(session);
	session->kernel->layout.stack_bytes = 0;
	expect_error(put("options/userstacktrace", "1"), EOPNOTSUPP,
		     "cannot find the registers of programs on the stacks of this kernel");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_guest_uses_all_ids);
	tcase_add_test(tc, events_of_the_host_have_no_triggers);
	tcase_add_test(tc, raw_system_calls_have_another_form);
	tcase_add_test(tc, records_of_wakeups_are_long);
	tcase_add_test(tc, a_probed_event_is_gone);
	tcase_add_test(tc, many_events_read_memory);
	tcase_add_test(tc, histograms_of_odd_fields);
	tcase_add_test(tc, stacks_do_not_show_registers);
	tcase_add_test(tc, a_histogram_refers_to_many_variables);
}

int main(void)
{
	return run_suite("refusals", add_tests);
}
