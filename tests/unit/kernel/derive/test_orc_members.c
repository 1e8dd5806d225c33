/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The layout of ORC entries, from tables in the forms of all kernels and from other tables. */
#include <check.h>
#include <string.h>

#include "kernel/core/orc_form.h"
#include "kernel/derive/orc_members.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/fake_kernel.h"

#define ENTRIES 1200u

static struct fk fk;
static uint64_t ips, entries;
static struct hv_deriving d;

/* Entry INDEX has REGISTERS and LAST in its last two bytes. */
static void set(unsigned index, uint8_t registers, uint8_t last)
{
	uint8_t *entry = fk_host(&fk, entries + 6 * index);

	entry[4] = registers;
	entry[5] = last;
}

/* Most entries have CALL. The others have the bytes of LIST: the registers, and the last byte. */
static void make_table(uint8_t call, const uint8_t (*list)[2], unsigned nr)
{
	for (unsigned i = 0; i < ENTRIES; i++)
		set(i, 0x15, call);
	for (unsigned i = 0; i < nr; i++)
		set(i * 7, list[i][0], list[i][1]);
}
#define MAKE(call, list) make_table(call, list, HV_ARRAY_LEN(list))

static const uint8_t until_6_2[][2] = {{5, 1}, {5, 2}, {0, 4}, {0, 0}},
		     of_6_3[][2] = {{5, 5}, {5, 6}, {0, 8}, {0, 0}, {5, 1}, {5, 2}},
		     since_6_4[][2] = {{3, 11}, {3, 12}, {0, 1}, {0, 0}, {3, 3}, {3, 4}};

static void setup(void)
{
	fk_init(&fk);
	ips = fk_alloc(&fk, 4 * ENTRIES);
	entries = fk_alloc(&fk, 6 * ENTRIES);
	fk_symbol(&fk, "__start_orc_unwind_ip", ips);
	fk_symbol(&fk, "__stop_orc_unwind_ip", ips + 4 * ENTRIES);
	fk_symbol(&fk, "__start_orc_unwind", entries);
	fk_symbol(&fk, "__stop_orc_unwind", entries + 6 * ENTRIES);
	fk_done(&fk);
	d = (struct hv_deriving){.core = &fk.k.core};
}

static void teardown(void)
{
	hv_facts_deinit(&d.facts);
	fk_deinit(&fk);
}

static void check_bits(const char *member, unsigned off, unsigned nr)
{
	const struct hv_fact *f = hv_facts_find(&d.facts, "orc_entry", member);
	uint32_t in_btf = 0, in_btf_nr = 0, size = 0;
	struct hv_btf *btf = NULL;

	ck_assert_msg(f || !nr, "%s is unknown", member);
	if (!nr) {
		ck_assert_msg(!f, "%s is known", member);
		return;
	}
	ck_assert_uint_eq(f->proofs, HV_PROVED_BY_MEMORY);
	ck_assert_ptr_null(hv_facts_to_btf(&d.facts, &btf));
	ck_assert(hv_btf_bits(btf, "orc_entry", member, &in_btf, &in_btf_nr));
	ck_assert_msg(in_btf == off && in_btf_nr == nr, "%s: %u, %u", member, in_btf, in_btf_nr);
	ck_assert(hv_btf_size(btf, "orc_entry", &size));
	ck_assert_uint_eq(size, 6);
	hv_btf_free(btf);
}

static void check_form(unsigned type_bits, unsigned signal_bits, unsigned end_bits)
{
	hv_orc_members_derive(&d);
	check_bits("sp_offset", 0, 16);
	check_bits("bp_offset", 16, 16);
	check_bits("sp_reg", 32, 4);
	check_bits("bp_reg", 36, 4);
	check_bits("type", 40, type_bits);
	check_bits("signal", 40 + type_bits, signal_bits);
	check_bits("end", 40 + type_bits + signal_bits, end_bits);
}

static void check_none(void)
{
	hv_orc_members_derive(&d);
	ck_assert_uint_eq(d.facts.nr, 0);
}

START_TEST(forms_of_all_kernels)
{
	MAKE(0, until_6_2);
	check_form(2, 0, 1);
	hv_facts_deinit(&d.facts);
	MAKE(0, of_6_3);
	check_form(2, 1, 1);
	hv_facts_deinit(&d.facts);
	MAKE(2, since_6_4);
	check_form(3, 1, 0);
}
END_TEST

/* Each of the necessary entries is missing once. */
START_TEST(tables_that_show_too_little)
{
	static const struct {
		uint8_t call;
		const uint8_t (*list)[2];
	} forms[] = {{0, until_6_2}, {0, of_6_3}, {2, since_6_4}};

	for (size_t i = 0; i < HV_ARRAY_LEN(forms); i++)
		for (unsigned missing = 0; missing < 3; missing++) {
			make_table(forms[i].call, forms[i].list, 4);
			set(missing * 7, 0x15, forms[i].call);
			check_none();
		}
	MAKE(1, until_6_2);
	check_none();
}
END_TEST

START_TEST(one_other_entry_is_enough)
{
	static const uint8_t others[][2] = {{5, 3},  {5, 4},  {5, 8},  {0, 2},	 {0, 8},
					    {5, 31}, {0, 31}, {5, 32}, {5, 255}, {0, 255}};

	for (size_t i = 0; i < HV_ARRAY_LEN(others); i++) {
		MAKE(0, until_6_2);
		set(ENTRIES - 1, others[i][0], others[i][1]);
		check_none();
	}
	MAKE(0, of_6_3);
	set(ENTRIES - 1, 0, 4);
	check_none();
	MAKE(2, since_6_4);
	set(ENTRIES - 1, 5, 0);
	check_none();
}
END_TEST

static void move(const char *symbol, uint64_t to)
{
	struct hv_symbols *s = &fk.k.core.symbols;

	for (size_t i = 0; i < s->nr; i++)
		if (!strcmp(s->by_addr[i].name, symbol))
			s->by_addr[i].addr.v = to;
	hv_symbols_index(s);
}

START_TEST(tables_of_other_lengths)
{
	MAKE(0, until_6_2);
	move("__stop_orc_unwind", entries + 6 * ENTRIES - 1);
	check_none();
	move("__stop_orc_unwind", entries + 6 * ENTRIES - 6);
	check_none();
	move("__stop_orc_unwind", entries + 6 * 100);
	move("__stop_orc_unwind_ip", ips + 4 * 100);
	check_none();
	move("__stop_orc_unwind", entries);
	check_none();
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, forms_of_all_kernels);
	tcase_add_test(tests, tables_that_show_too_little);
	tcase_add_test(tests, one_other_entry_is_enough);
	tcase_add_test(tests, tables_of_other_lengths);
}

int main(void)
{
	return run_suite("orc_members", add_tests);
}
