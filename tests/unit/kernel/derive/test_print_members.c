/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Enumerators of formats, from the tables that the functions that print the events use. */
#include <check.h>
#include <string.h>

#include "kernel/derive/print_members.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/fake_kernel.h"

static struct fk fk;
static uint64_t format, table, texts;
static unsigned nr_entries;
static size_t texts_len;
static struct hv_deriving d;

/* mov $table,%rsi; ret */
static void set_code(uint64_t at, uint64_t to)
{
	uint8_t *code = fk_host(&fk, at);

	memcpy(code, "\x48\xc7\xc6\x00\x00\x00\x00\xc3", 8);
	fk_u32(&fk, at + 3, (uint32_t)to);
}

static void setup(void)
{
	nr_entries = 0;
	texts_len = 0;
	fk_init(&fk);
	format = fk_alloc(&fk, 32768);
	table = fk_alloc(&fk, 4096);
	texts = fk_alloc(&fk, 4096);
	fk_symbol(&fk, "trace_raw_output_timer", FK_BASE);
	fk_symbol(&fk, "after_it", FK_BASE + 64);
	fk_symbol(&fk, "print_fmt_timer", format);
	set_code(FK_BASE, table);
	fk_done(&fk);
	d = (struct hv_deriving){.core = &fk.k.core};
}

static void teardown(void)
{
	hv_facts_deinit(&d.facts);
	fk_deinit(&fk);
}

static void entry(uint64_t value, const char *text)
{
	fk_u64(&fk, table + 16 * nr_entries, value);
	fk_u64(&fk, table + 16 * nr_entries++ + 8, texts + texts_len);
	fk_str(&fk, texts + texts_len, text);
	texts_len += strlen(text) + 1;
}

static void derive(const char *text)
{
	hv_facts_deinit(&d.facts);
	fk_str(&fk, format, text);
	hv_print_members_derive(&d);
}

static void check_value(const char *name, int32_t value)
{
	for (size_t i = 0; i < d.facts.nr_numbers; i++)
		if (!strcmp(d.facts.numbers[i].name, name)) {
			ck_assert_int_eq(d.facts.numbers[i].value, value);
			return;
		}
	ck_abort_msg("%s is unknown", name);
}

static void check_none(const char *text)
{
	derive(text);
	ck_assert_msg(!d.facts.nr_numbers, "%s: %s is known", text, d.facts.numbers[0].name);
}

#define LIST "{ MODE_ABS, \"ABS\" }, { MODE_REL, \"REL\" }, { MODE_PINNED, \"ABS|PINNED\" }"

static void make_table(void)
{
	entry(0, "ABS");
	entry(1, "REL");
	entry(2, "ABS|PINNED");
}

START_TEST(values_of_a_list)
{
	make_table();
	derive("\"mode=%s\", __print_symbolic(REC->mode, " LIST ")");
	ck_assert_uint_eq(d.facts.nr_numbers, 3);
	check_value("MODE_ABS", 0);
	check_value("MODE_REL", 1);
	check_value("MODE_PINNED", 2);
}
END_TEST

/* Numbers and expressions have values already. */
START_TEST(only_names_are_added)
{
	make_table();
	derive("__print_symbolic(REC->mode, { 0, \"ABS\" },{1 << 0,\"REL\" }, { MODE_PINNED , "
	       "\"ABS|PINNED\" })");
	ck_assert_uint_eq(d.facts.nr_numbers, 1);
	check_value("MODE_PINNED", 2);
	check_none("__print_symbolic(REC->mode, { 0, \"ABS\" }, { 1, \"REL\" })");
	check_none("__print_symbolic(REC->mode, { (a), \"ABS\" }, { mode, \"REL\" })");
}
END_TEST

START_TEST(a_format_outside_of_the_image)
{
	make_table();
	fk_symbol(&fk, "print_fmt_none", 0xffffffff90000000);
	hv_symbols_index(&fk.k.core.symbols);
	derive("__print_symbolic(REC->mode, " LIST ")");
	ck_assert_uint_eq(d.facts.nr_numbers, 3);
}
END_TEST

START_TEST(lists_without_a_table)
{
	make_table();
	check_none("__print_symbolic(REC->mode, { MODE_ABS, \"ABS\" }, { MODE_REL, \"rel\" })");
	check_none("__print_symbolic(REC->mode, " LIST ", { MODE_X, \"X\" })");
	check_none("__print_symbolic(REC->mode, { MODE_ABS, \"ABS\" })"); /* only one text */
	check_none("__print_symbolic(REC->mode, { MODE_REL, \"REL\" }, { MODE_PINNED, "
		   "\"ABS|PINNED\" })");
	set_code(FK_BASE, table + 16);
	check_none("__print_symbolic(REC->mode, " LIST ")");
	set_code(FK_BASE, FK_BASE);
	check_none("__print_symbolic(REC->mode, " LIST ")");
	set_code(FK_BASE, FK_END - 16);
	check_none("__print_symbolic(REC->mode, " LIST ")");
}
END_TEST

/* Only the first value counts, and only values that an enumerator in BTF can have. */
START_TEST(values_that_are_not_used)
{
	entry(0, "ABS");
	entry(1, "REL");
	entry(UINT64_C(1) << 31, "LARGE");
	derive("__print_flags(REC->mode, \"|\", { MODE_ABS, \"ABS\" }, { MODE_ABS, \"REL\" }, { "
	       "LARGE, \"LARGE\" })");
	ck_assert_uint_eq(d.facts.nr_numbers, 1);
	check_value("MODE_ABS", 0);
}
END_TEST

START_TEST(other_texts)
{
	static const char *const formats[] = {
		"",
		"{",
		"{ ",
		"{ A",
		"{ A,",
		"{ A, \"",
		"{ A, \"B",
		"{ A, \"B\"",
		"{ A, \"B\" ",
		"{ A, \"B\" }, {",
		"{ A, B }",
		"{ A, \"\\\" }",
		"{{{{{{{{{{{{{{{",
		"} { , \"ABS\" }",
		"{ \"A\", \"B\" }",
	};
	char many[2048] = "";

	make_table();
	for (size_t i = 0; i < HV_ARRAY_LEN(formats); i++)
		check_none(formats[i]);
	for (unsigned i = 0; i < 140; i++) /* more items than a list can have */
		memcpy(many + i * 13, "{ A, \"ABS\" }, ", 13);
	check_none(many);
	memset(many, 'A', sizeof(many) - 1);
	memcpy(many, "{ ", 2);
	check_none(many);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, values_of_a_list);
	tcase_add_test(tests, only_names_are_added);
	tcase_add_test(tests, a_format_outside_of_the_image);
	tcase_add_test(tests, lists_without_a_table);
	tcase_add_test(tests, values_that_are_not_used);
	tcase_add_test(tests, other_texts);
}

int main(void)
{
	return run_suite("print_members", add_tests);
}
