/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cache of symbol texts, with the functions of a large trace. */
#include <check.h>
#include <string.h>

#include "tests/lib/run_suite.h"
#include "tree/format/symbol.h"

static struct hv_symbol_texts *texts;
static struct hv_text out;

static bool is_kept(uint64_t addr, enum hv_symbol_form form, const char *text)
{
	bool kept;

	hv_text_clear(&out);
	hv_text_add(&out, "line: ");
	kept = hv_symbol_texts_add(texts, &out, hv_gva(addr), form);
	ck_assert_str_eq(out.data + strlen("line: "), kept ? text : "");
	return kept;
}

static void keep(uint64_t addr, enum hv_symbol_form form, const char *text)
{
	hv_text_clear(&out);
	hv_text_add(&out, "line: ");
	hv_text_add(&out, text);
	hv_symbol_texts_keep(texts, &out, strlen("line: "), hv_gva(addr), form);
}

START_TEST(a_text_is_keyed_by_address_and_form)
{
	texts = hv_symbol_texts_new();
	ck_assert(!is_kept(0x1000, HV_SYMBOL_PLAIN, ""));
	ck_assert(!is_kept(0, HV_SYMBOL_PLAIN, ""));
	keep(0x1000, HV_SYMBOL_PLAIN, "vfs_read");
	ck_assert(is_kept(0x1000, HV_SYMBOL_PLAIN, "vfs_read"));
	ck_assert(!is_kept(0x1000, HV_SYMBOL_WITH_MODULE, ""));
	ck_assert(!is_kept(0x1001, HV_SYMBOL_PLAIN, ""));
	keep(0x1000, HV_SYMBOL_WITH_MODULE, "vfs_read [ext4]");
	ck_assert(is_kept(0x1000, HV_SYMBOL_WITH_MODULE, "vfs_read [ext4]"));
	ck_assert(!is_kept(0x1000, HV_SYMBOL_PLAIN, ""));
	hv_symbol_texts_free(texts);
	hv_text_deinit(&out);
}
END_TEST

START_TEST(texts_end_with_their_version)
{
	texts = hv_symbol_texts_new();
	hv_symbol_texts_of(texts, 1);
	keep(0x1000, HV_SYMBOL_PLAIN, "of a module");
	hv_symbol_texts_of(texts, 1);
	ck_assert(is_kept(0x1000, HV_SYMBOL_PLAIN, "of a module"));
	hv_symbol_texts_of(texts, 2);
	ck_assert(!is_kept(0x1000, HV_SYMBOL_PLAIN, ""));
	hv_symbol_texts_free(texts);
	hv_text_deinit(&out);
}
END_TEST

/* More texts than it has room for, of every length. */
START_TEST(cached_texts_are_correct)
{
	char name[101];
	unsigned nr = 0;

	texts = hv_symbol_texts_new();
	for (uint64_t i = 1; i < 20000; i++) {
		memset(name, 'a' + (int)(i % 26), sizeof(name));
		name[i % 101] = '\0';
		keep(i * 16, HV_SYMBOL_PLAIN, name);
	}
	for (uint64_t i = 1; i < 20000; i++) {
		memset(name, 'a' + (int)(i % 26), sizeof(name));
		name[i % 101] = '\0';
		nr += is_kept(i * 16, HV_SYMBOL_PLAIN, name);
	}
	ck_assert_uint_gt(nr, 1000);
	hv_symbol_texts_free(texts);
	hv_text_deinit(&out);
	ck_assert(!hv_symbol_texts_add(NULL, &out, hv_gva(16), HV_SYMBOL_PLAIN));
	hv_symbol_texts_keep(NULL, &out, 0, hv_gva(16), HV_SYMBOL_PLAIN);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, a_text_is_keyed_by_address_and_form);
	tcase_add_test(tc, texts_end_with_their_version);
	tcase_add_test(tc, cached_texts_are_correct);
}

int main(void)
{
	return run_suite("symbol_texts", add_tests);
}
