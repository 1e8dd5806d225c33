/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The event types that a word of set_event matches, as in ftrace_set_clr_event() of 7.2. */
#include <string.h>

#include "tests/lib/run_suite.h"
#include "tree/settings/event_set.h"

struct type {
	const char *system, *event, *module;
};

static const struct type types[] = {
	{"sched", "sched_switch", NULL},
	{"sched_ext", "sched", NULL},
	{"xfs", "xfs_read", "xfs"},
	{"iomap", "read", "xfs"},
};

/* WORD matches the types for which NAMED has a '+'. */
static void names(const char *word, const char *named)
{
	char copy[64];
	struct hv_event_word w;

	strcpy(copy, word);
	w = hv_event_word_parse(copy);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		ck_assert_msg(hv_event_word_matches(&w, types[i].system, types[i].event,
						    types[i].module) == (named[i] == '+'),
			      "%s: %s:%s", word, types[i].system, types[i].event);
}

START_TEST(systems_and_events)
{
	names("sched:sched_switch", "+---");
	names("sched:sched", "----");
	names("sched", "++--");
	names("sched_switch", "+---");
	names("sched:*", "+---");
	names("sched:", "+---");
	names("*:read", "---+");
	names(":read", "---+");
	names("*:*", "++++");
	names(":", "++++");
}
END_TEST

START_TEST(no_other_wildcards)
{
	names("", "----");
	names("*", "----");
	names("sched_*", "----");
	names("sched:sched_*", "----");
	names("xfs:xfs_read:", "----");
}
END_TEST

START_TEST(modules)
{
	names(":mod:xfs", "--++");
	names("*:mod:xfs", "--++");
	names("*:*:mod:xfs", "--++");
	names("read:mod:xfs", "---+");
	names("xfs::mod:xfs", "--+-");
	names("sched:mod:xfs", "----");
	names("*:*:mod:", "----");
	names("*:*:mod:xf", "----");
}
END_TEST

START_TEST(switching_off)
{
	char word[] = "!sched:sched_switch", other[] = "sched";

	ck_assert(hv_event_word_parse(word).is_not);
	ck_assert(!hv_event_word_parse(other).is_not);
	names("!sched:sched_switch", "+---");
	names("!!sched", "----");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, systems_and_events);
	tcase_add_test(tc, no_other_wildcards);
	tcase_add_test(tc, modules);
	tcase_add_test(tc, switching_off);
}

int main(void)
{
	return run_suite("event_word", add_tests);
}
