/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms of one type: counted and dropped events, and the order of the output.
 * tests/guest/cases_hist.py compares the text with a kernel's. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/fake_session.h"
#include "tests/lib/run_suite.h"
#include "tree/instance/hist/hist_table.h"

static struct entry {
	int64_t common;
	int32_t pid;
	uint32_t len;
	uint64_t at;
	char name[16];
} entry;

#define FIELD(type, name, is_signed)                                                               \
	{                                                                                          \
#name, type, offsetof(struct entry, name), sizeof(((struct entry *)0)->name), 0,   \
			0, is_signed                                                               \
	}

static struct hv_event_field fields[] = {
	FIELD("int", pid, true),
	FIELD("unsigned int", len, false),
	FIELD("unsigned long", at, false),
	FIELD("char[16]", name, true),
	{"common_pid", "int", offsetof(struct entry, pid), 4, 0, 0, true},
};
static const struct hv_event_type type = {.fields = {fields, HV_ARRAY_LEN(fields)}};
static const struct hv_syscall read_call = {.name = "sys_read", .nr = 0};
static const struct hv_syscall other_call = {.name = "sys_other", .nr = 0};
static const struct hv_syscall no_call = {.name = "sys_none", .nr = -1};
static const struct hv_syscall far_call = {.name = "sys_far", .nr = HV_HIST_SYSCALLS_MAX};
static struct hv_event_type types[] = {
	{.syscall = &read_call}, {.syscall = &other_call}, {.syscall = NULL},
	{.syscall = &no_call},	 {.syscall = &far_call},
};
static struct hv_catalogue catalogue = {.types = types, .nr = HV_ARRAY_LEN(types)};
static struct hv_session *session;
static struct hv_hist_spec spec;
static struct hv_hist_table *table;

static void begin(const char *text)
{
	const struct hv_hist_scope scope = {.catalogue = &catalogue, .type = &type};
	struct hv_hist_faults faults;

	ck_assert_msg(hv_hist_spec_parse(&scope, text, &spec, &faults), "%s", text);
	ck_assert_msg(hv_hist_spec_link(&scope, text, &spec, &faults), "%s", text);
	table = hv_hist_table_new(&spec);
}

static uint32_t hit(int32_t pid, uint32_t len, uint64_t at, const char *name)
{
	uint8_t key[HV_HIST_KEY_BYTES_MAX];
	const struct hv_hist_record record = {{(const uint8_t *)&entry, sizeof(entry)}, 0, 0};
	char comm[16] = "";

	entry = (struct entry){.pid = pid, .len = len, .at = at};
	snprintf(entry.name, sizeof(entry.name), "%s", name);
	snprintf(comm, sizeof(comm), "%s", name);
	hv_hist_spec_key(&spec, &record, key);
	return hv_hist_table_add(table, &spec, key, &record, comm);
}

static void end(void)
{
	hv_hist_table_unref(table);
	hv_hist_spec_deinit(&spec);
}

/* Compares the table's text with WANT, then frees the table. */
static void shows(const char *want)
{
	struct hv_hist_names names = {.kernel = session->kernel, .catalogue = &catalogue};
	HV_AUTO_TEXT struct hv_text text = {0};

	hv_hist_table_text(table, &spec, NULL, &names, &text);
	ck_assert_str_eq(text.data, want);
	end();
}

#define TOTALS(hits, entries, dropped)                                                             \
	"\nTotals:\n    Hits: " hits "\n    Entries: " entries "\n    Dropped: " dropped "\n"

static void set_up(void)
{
	session = hv_fake_new();
	hv_fake_site(session, 0xffffffff81000000, "first", NULL, 0);
	hv_fake_site(session, 0xffffffff81000100, "second", "mod", 0);
	hv_fake_site(session, 0xffffffff81000200, "third", NULL, 0);
}

static void tear_down(void)
{
	hv_fake_free(session);
}

START_TEST(sums)
{
	begin("hist:keys=pid:vals=len,at.hex:sort=len.descending");
	hit(1, 10, 16, "");
	hit(2, 50, 16, "");
	hit(1, 30, 10, "");
	shows("{ pid:          2 } hitcount:          1  len:         50  at:         10\n"
	      "{ pid:          1 } hitcount:          2  len:         40  at:         1a\n" TOTALS(
		      "3", "2", "0"));
}
END_TEST

START_TEST(keys)
{
	begin("hist:keys=at.sym,len.hex,common_pid.execname:sort=at.descending");
	hit(7, 255, 0xffffffff81000104, "a\033b");
	hit(-1, 255, 0x10, "c");
	shows("{ at: [ffffffff81000104] second [mod]                                 , len: ff, "
	      "common_pid: a?b             [         7] } hitcount:          1\n"
	      "{ at: [10] 0x10                                         , len: ff, "
	      "common_pid: c               [18446744073709551615] } hitcount:          1\n" TOTALS(
		      "2", "2", "0"));
	begin("hist:keys=at.sym-offset,len.buckets=16,pid.log2");
	hit(5, 40, 0xffffffff81000104, "");
	shows("{ at: [ffffffff81000104] second+0x4/0x100 [mod]                                 , "
	      "len: ~ 32-47, pid: ~ 2^3  } hitcount:          1\n" TOTALS("1", "1", "0"));
	begin("hist:keys=len.syscall,name:sort=len");
	hit(0, 0, 0, "x\ny");
	hit(0, 1, 0, "");
	shows("{ len: sys_read                      [  0], name: x?y"
	      "                                                } hitcount:          1\n"
	      "{ len: unknown_syscall               [  1], name: "
	      "                                                   } hitcount:          1\n" TOTALS(
		      "2", "2", "0"));
}
END_TEST

START_TEST(percentages_and_graphs)
{
	begin("hist:keys=pid:vals=hitcount.percent,len.graph:sort=pid:nohitcount");
	hit(1, 30, 0, "");
	hit(2, 60, 0, "");
	hit(2, 0, 0, "");
	shows("{ pid:          1 }  hitcount (%):  33.33  len: ##########          \n"
	      "{ pid:          2 }  hitcount (%):  66.66  len: ####################\n" TOTALS(
		      "3", "2", "0"));
}
END_TEST

START_TEST(expressions_as_values_are_not_shown)
{
	begin("hist:keys=pid:vals=len+at,len:sort=len+at");
	hit(1, 30, 1, "");
	hit(2, 10, 2, "");
	shows("{ pid:          2 } hitcount:          1  len:         10\n"
	      "{ pid:          1 } hitcount:          1  len:         30\n" TOTALS("2", "2", "0"));
}
END_TEST

/* Signed numbers and texts sort by their type. Equal entries sort by the second key. */
START_TEST(order)
{
	begin("hist:keys=pid,len:sort=pid,len.descending");
	hit(3, 1, 0, "");
	hit(-2, 7, 0, "");
	hit(3, 5, 0, "");
	hit(-2, 9, 0, "");
	hit(0, 2, 0, "");
	hit(3, 3, 0, "");
	shows("{ pid: 18446744073709551614, len:          9 } hitcount:          1\n"
	      "{ pid: 18446744073709551614, len:          7 } hitcount:          1\n"
	      "{ pid:          0, len:          2 } hitcount:          1\n"
	      "{ pid:          3, len:          5 } hitcount:          1\n"
	      "{ pid:          3, len:          3 } hitcount:          1\n"
	      "{ pid:          3, len:          1 } hitcount:          1\n" TOTALS("6", "6", "0"));
	begin("hist:keys=name:sort=name");
	hit(0, 0, 0, "b");
	hit(0, 0, 0, "aaa");
	hit(0, 0, 0, "aab");
	shows("{ name: aaa                                                } hitcount:          1\n"
	      "{ name: aab                                                } hitcount:          1\n"
	      "{ name: b                                                  } hitcount:          "
	      "1\n" TOTALS("3", "3", "0"));
}
END_TEST

START_TEST(a_full_table_drops)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_hist_names names = {.kernel = session->kernel, .catalogue = &catalogue};

	begin("hist:keys=at:size=128");
	for (unsigned i = 0; i < 200; i++)
		hit(0, 0, i * UINT64_C(4096), "");
	hit(0, 0, 127 * UINT64_C(4096), "");
	hv_hist_table_text(table, &spec, NULL, &names, &text);
	ck_assert_pstr_eq(strstr(text.data, "\nTotals"), TOTALS("129", "128", "72"));
	hv_hist_table_clear(table);
	hit(0, 0, 5, "");
	shows("{ at:          5 } hitcount:          1\n" TOTALS("1", "1", "0"));
}
END_TEST

/* The numbers come from the guest and can have any value. */
START_TEST(numbers_of_system_calls_are_bounded)
{
	begin("hist:keys=at.syscall:sort=at");
	hit(0, 0, 0, "");
	hit(0, 0, HV_HIST_SYSCALLS_MAX, "");
	hit(0, 0, UINT64_MAX, "");
	shows("{ at: sys_read                      [  0] } hitcount:          1\n"
	      "{ at: unknown_syscall               [1024] } hitcount:          1\n"
	      "{ at: unknown_syscall               [18446744073709551615] } hitcount:          "
	      "1\n" TOTALS("3", "3", "0"));
}
END_TEST

START_TEST(many_entries)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_hist_names names = {.kernel = session->kernel, .catalogue = &catalogue};

	begin("hist:keys=at,pid:size=0x20000");
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < 100000; i++)
			hit((int32_t)i % 7, 0, i, "");
	hv_hist_table_text(table, &spec, NULL, &names, &text);
	ck_assert_pstr_eq(strstr(text.data, "\nTotals"), TOTALS("200000", "100000", "0"));
	ck_assert_ptr_null(strstr(text.data, "hitcount:          1"));
	end();
}
END_TEST

static uint64_t number_in(uint32_t at, unsigned variable)
{
	char text[HV_HIST_TEXT_BYTES];
	struct hv_hist_value value = {0};

	ck_assert(hv_hist_table_read(table, at, variable, HV_HIST_READ_AGAIN, text, &value));
	ck_assert_ptr_null(value.text);
	return value.number;
}

START_TEST(variables)
{
	char text[HV_HIST_TEXT_BYTES];
	struct hv_hist_value value;
	uint8_t key[HV_HIST_KEY_BYTES_MAX] = {0};
	uint32_t first, second;

	begin("hist:keys=pid:l=len,n=name,w=common_pid.execname:onmax($l).save(at,name)");
	first = hit(1, 10, 16, "first");
	second = hit(2, 50, 32, "second");
	ck_assert_uint_eq(hit(1, 30, 48, "third"), first);
	ck_assert_uint_eq(number_in(first, 0), 30);
	ck_assert_uint_eq(number_in(second, 0), 50);
	ck_assert(hv_hist_table_read(table, first, 1, HV_HIST_READ_ONCE, text, &value));
	ck_assert_str_eq(value.text, "third");
	ck_assert(!hv_hist_table_read(table, first, 1, HV_HIST_READ_AGAIN, text, &value));
	ck_assert(hv_hist_table_read(table, second, 1, HV_HIST_READ_AGAIN, text, &value));
	ck_assert(hv_hist_table_read(table, first, 2, HV_HIST_READ_AGAIN, text, &value));
	ck_assert_str_eq(value.text, "first");
	/* Only actions set saved values. */
	ck_assert(!hv_hist_table_read(table, first, 4, HV_HIST_READ_AGAIN, text, &value));
	key[0] = 2;
	ck_assert_uint_eq(hv_hist_table_find(table, key, 8), second);
	ck_assert_uint_eq(hv_hist_table_find(table, key, 16), second);
	ck_assert_uint_eq(hv_hist_table_find(table, key, 4), HV_HIST_NOWHERE);
	key[0] = 3;
	ck_assert_uint_eq(hv_hist_table_find(table, key, 8), HV_HIST_NOWHERE);
	hv_hist_table_set_number(table, first, 3, 30);
	shows("{ pid:          2 } hitcount:          1\n\tmax:          0  at:          0  "
	      "name:                                 \n"
	      "{ pid:          1 } hitcount:          2\n\tmax:         30  at:          0  "
	      "name:                                 \n" TOTALS("3", "2", "0"));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, variables);
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, sums);
	tcase_add_test(tc, keys);
	tcase_add_test(tc, percentages_and_graphs);
	tcase_add_test(tc, expressions_as_values_are_not_shown);
	tcase_add_test(tc, order);
	tcase_add_test(tc, a_full_table_drops);
	tcase_add_test(tc, numbers_of_system_calls_are_bounded);
	tcase_add_test(tc, many_entries);
}

int main(void)
{
	return run_suite("hist_table", add_tests);
}
