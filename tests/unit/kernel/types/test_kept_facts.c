/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text with derived facts: what is written is read, and no other text is. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "kernel/types/kept_facts.h"
#include "tests/lib/run_suite.h"

#define KERNEL "Linux version 6.1.0 (builder), build id 12ab"
#define BEGIN  "hvtrace facts 1\nkernel " KERNEL "\n"

static struct hv_facts facts;

static void read_text(const char *text, struct hv_facts *ret)
{
	struct hv_err *err = hv_kept_facts_read(
		(struct hv_span){(const uint8_t *)text, strlen(text)}, KERNEL, ret);

	ck_assert_msg(!err, "%s: %s", text, err ? err->message : "");
}

static void refuse(const char *text, size_t len_bytes, int code, const char *message)
{
	struct hv_facts read = {0};
	HV_AUTO_ERR struct hv_err *err = hv_kept_facts_read(
		(struct hv_span){(const uint8_t *)text, len_bytes}, KERNEL, &read);

	ck_assert_msg(err, "not refused: %.*s", (int)len_bytes, text);
	ck_assert_int_eq(err->code, code);
	ck_assert_str_eq(err->message, message);
	ck_assert_ptr_null(read.list);
	ck_assert_ptr_null(read.texts);
}

static void damaged(const char *lines)
{
	HV_AUTO_FREE char *text = hv_format("%s%s", BEGIN, lines);

	refuse(text, strlen(text), EINVAL, "they are damaged");
}

START_TEST(written_facts_are_read_back)
{
	static const struct hv_fact list[] = {
		{"task_struct", "comm", 0x7d0, 16, NULL, HV_PROVED_BY_MEMORY | HV_PROVED_BY_CODE},
		{"module", "mem", 0, 96, "module_memory", HV_PROVED_BY_OTHER_MEMORY},
		{"orc_entry", "type", 4, 2, NULL, HV_PROVED_BY_INTERFACE, .bits = 3, .bit = 8},
	};
	HV_AUTO_TEXT struct hv_text text = {0}, again = {0};
	struct hv_facts read = {0};

	for (size_t i = 0; i < HV_ARRAY_LEN(list); i++)
		hv_facts_add(&facts, &list[i]);
	hv_facts_add_number(&facts, "LOWEST", INT32_MIN);
	hv_facts_add_number(&facts, "HIGHEST", INT32_MAX);
	hv_facts_add_size(&facts, "module", 1152);
	hv_kept_facts_write(&facts, KERNEL, &text);
	ck_assert_str_eq(text.data, BEGIN "member task_struct comm 2000 16 - 5 0 0\n"
					  "member module mem 0 96 module_memory 8 0 0\n"
					  "member orc_entry type 4 2 - 16 3 8\n"
					  "number LOWEST -2147483648\n"
					  "number HIGHEST 2147483647\n"
					  "size module 1152\n"
					  "end\n");
	read_text(text.data, &read);
	ck_assert_uint_eq(read.nr, facts.nr);
	for (size_t i = 0; i < read.nr; i++) {
		const struct hv_fact *a = &read.list[i], *b = &facts.list[i];

		ck_assert_str_eq(a->type, b->type);
		ck_assert_str_eq(a->member, b->member);
		ck_assert_pstr_eq(a->of, b->of);
		ck_assert(a->off == b->off && a->len_bytes == b->len_bytes);
		ck_assert(a->proofs == b->proofs && a->bits == b->bits && a->bit == b->bit);
	}
	ck_assert_int_eq(read.numbers[0].value, INT32_MIN);
	ck_assert_int_eq(read.numbers[1].value, INT32_MAX);
	ck_assert_str_eq(read.sizes[0].type, "module");
	ck_assert_uint_eq(read.sizes[0].len_bytes, 1152);
	hv_kept_facts_write(&read, KERNEL, &again);
	ck_assert_str_eq(again.data, text.data);
	hv_facts_deinit(&read);
	hv_facts_deinit(&facts);
}
END_TEST

START_TEST(facts_of_another_kernel_are_stale)
{
	static const char *const texts[] = {
		"hvtrace facts 1\nkernel Linux version 6.1.0 (builder), build id 12ac\nend\n",
		"hvtrace facts 1\nkernel Linux version 6.1.0 (builder), build id 12ab2\nend\n",
		"hvtrace facts 2\nkernel " KERNEL "\nend\n",
		"hvtrace facts 1",
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(texts); i++)
		refuse(texts[i], strlen(texts[i]), ESTALE,
		       "they belong to another kernel or another version of hvtrace");
}
END_TEST

START_TEST(other_texts_are_refused)
{
	static const char *const texts[] = {"", "hvtrace facts", "HVTRACE FACTS 1\n", "\n" BEGIN};

	for (size_t i = 0; i < HV_ARRAY_LEN(texts); i++)
		refuse(texts[i], strlen(texts[i]), EINVAL,
		       "they do not begin with 'hvtrace facts '");
}
END_TEST

START_TEST(lines_have_one_form)
{
	static const char *const lines[] = {
		"",
		"end",
		"end\n\n",
		"end\nend\n",
		" end\n",
		"\nend\n",
		"size a\nend\n",
		"size a 4 4\nend\n",
		"size  a 4\nend\n",
		"size a 04\nend\n",
		"size a +4\nend\n",
		"size a -4\nend\n",
		"size a 0x4\nend\n",
		"size a 4 \nend\n",
		"size a 1048576\nend\n",
		"size a 18446744073709551617\nend\n",
		"size a.b 4\nend\n",
		"number A 2147483648\nend\n",
		"number A -0\nend\n",
		"number A\nend\n",
		"number \xc3\xa4 1\nend\n",
		"name A 1\nend\n",
		"member a b 0 8 - 1 0\nend\n",
		"member a b 0 8 - 1 0 0 0\nend\n",
		"member a b 0 8  1 0 0\nend\n",
		"member a b 0 8 - 0 0 0\nend\n",
		"member a b 0 8 - 32 0 0\nend\n",
		"member a b 0 8 - 1 0 1\nend\n",
		"member a b 0 1 - 1 3 6\nend\n",
		"member a b 0 8 - 1 65 0\nend\n",
		"member a b 1048576 0 - 1 0 0\nend\n",
		"member a b 1048575 1 - 1 0 0\nend\n",
		"member a b.c 0 8 - 1 0 0\nend\n",
		"member a b 0 8 - 1 0 0\nmember a b 8 8 - 1 0 0\nend\n",
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(lines); i++)
		damaged(lines[i]);
}
END_TEST

START_TEST(names_are_short)
{
	char name[HV_KEPT_NAME_MAX + 2];
	HV_AUTO_FREE char *text = NULL, *longer = NULL;
	struct hv_facts read = {0};

	memset(name, 'a', sizeof(name));
	name[HV_KEPT_NAME_MAX] = '\0';
	text = hv_format(BEGIN "size %s 1\nend\n", name);
	read_text(text, &read);
	hv_facts_deinit(&read);
	longer = hv_format("size a%s 1\nend\n", name);
	damaged(longer);
}
END_TEST

START_TEST(the_number_of_facts_is_limited)
{
	static const char *const lines[] = {"number A 1\n", "size a 1\n"};

	for (size_t i = 0; i < HV_ARRAY_LEN(lines); i++) {
		HV_AUTO_TEXT struct hv_text text = {0};
		struct hv_facts read = {0};
		HV_AUTO_FREE char *most = NULL;

		for (unsigned nr = 0; nr < HV_KEPT_FACTS_MAX; nr++)
			hv_text_add(&text, lines[i]);
		most = hv_format(BEGIN "%send\n", text.data);
		read_text(most, &read);
		hv_facts_deinit(&read);
		hv_text_printf(&text, "%send\n", lines[i]);
		damaged(text.data);
	}
}
END_TEST

START_TEST(the_number_of_members_is_limited)
{
	HV_AUTO_TEXT struct hv_text text = {0};

	for (unsigned nr = 0; nr <= HV_KEPT_FACTS_MAX; nr++)
		hv_text_printf(&text, "member a b%u 0 8 - 1 0 0\n", nr);
	hv_text_add(&text, "end\n");
	damaged(text.data);
}
END_TEST

START_TEST(bytes_after_a_nul_are_damage)
{
	static const char text[] = BEGIN "end\n\0size a 1\n";

	refuse(text, sizeof(text) - 1, EINVAL, "they are damaged");
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, written_facts_are_read_back);
	tcase_add_test(tests, facts_of_another_kernel_are_stale);
	tcase_add_test(tests, other_texts_are_refused);
	tcase_add_test(tests, lines_have_one_form);
	tcase_add_test(tests, names_are_short);
	tcase_add_test(tests, the_number_of_facts_is_limited);
	tcase_add_test(tests, the_number_of_members_is_limited);
	tcase_add_test(tests, bytes_after_a_nul_are_damage);
}

int main(void)
{
	return run_suite("kept_facts", add_tests);
}
