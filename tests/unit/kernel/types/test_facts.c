/* SPDX-License-Identifier: GPL-2.0-or-later */
/* BTF made of derived members is read as the kernel's own. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "kernel/types/facts.h"
#include "tests/lib/run_suite.h"

static struct hv_facts facts;

static void add(const char *type, const char *member, uint32_t off, uint32_t len_bytes,
		const char *of)
{
	hv_facts_add(&facts,
		     &(struct hv_fact){type, member, off, len_bytes, of, HV_PROVED_BY_MEMORY});
}

static struct hv_btf *make(void)
{
	struct hv_btf *btf = NULL;
	struct hv_err *err = hv_facts_to_btf(&facts, &btf);

	ck_assert_msg(!err, "%s", err ? err->message : "");
	return btf;
}

static void check_member(const struct hv_btf *btf, const char *type, const char *path, uint32_t off,
			 uint32_t size)
{
	uint32_t got_off = 0, got_size = 0;

	ck_assert_msg(hv_btf_member(btf, type, path, &got_off, &got_size), "%s", path);
	ck_assert_msg(got_off == off && got_size == size, "%s: %u+%u", path, got_off, got_size);
}

static void check_size(const struct hv_btf *btf, const char *type, uint32_t size)
{
	uint32_t got = 0;

	ck_assert_msg(hv_btf_size(btf, type, &got), "%s", type);
	ck_assert_uint_eq(got, size);
}

START_TEST(numbers_have_their_offset_and_size)
{
	static const uint32_t lens[] = {1, 2, 4, 8, 3, 16, 56};
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g"};
	struct hv_btf *btf;

	for (size_t i = 0; i < HV_ARRAY_LEN(lens); i++)
		add("module", names[i], (uint32_t)i * 64, lens[i], NULL);
	btf = make();
	for (size_t i = 0; i < HV_ARRAY_LEN(lens); i++)
		check_member(btf, "module", names[i], (uint32_t)i * 64, lens[i]);
	check_size(btf, "module", 6 * 64 + 56);
	hv_btf_free(btf);
}
END_TEST

START_TEST(structures_end_with_their_last_member)
{
	struct hv_btf *btf;

	add("cred", "last", 12, 4, NULL);
	add("cred", "first", 4, 4, NULL);
	add("kprobe", "first", 0, 16, NULL);
	add("kprobe", "last", 16, 4, NULL);
	btf = make();
	check_size(btf, "cred", 16);
	check_size(btf, "kprobe", 20);
	hv_btf_free(btf);
}
END_TEST

/* The type of a member may be added before or after the member. */
START_TEST(paths_lead_through_structures)
{
	struct hv_btf *btf;

	add("list_head", "next", 0, 8, NULL);
	add("list_head", "prev", 8, 8, NULL);
	add("task_struct", "tasks", 0x8f0, 16, "list_head");
	add("task_struct", "thread_info", 0, 8, "thread_info");
	add("thread_info", "flags", 0, 8, NULL);
	add("task_struct", "se", 0x80, 16, "sched_entity");
	add("sched_entity", "group_node", 0, 16, "list_head");
	btf = make();
	check_member(btf, "task_struct", "thread_info.flags", 0, 8);
	check_member(btf, "task_struct", "tasks", 0x8f0, 16);
	check_member(btf, "task_struct", "tasks.next", 0x8f0, 8);
	check_member(btf, "task_struct", "tasks.prev", 0x8f8, 8);
	check_member(btf, "task_struct", "se.group_node.prev", 0x88, 8);
	check_size(btf, "task_struct", 0x900);
	check_size(btf, "list_head", 16);
	hv_btf_free(btf);
}
END_TEST

START_TEST(paths_lead_into_arrays_of_structures)
{
	struct hv_btf *btf;

	add("module", "mem", 0x180, 7 * 72, "module_memory");
	add("module_memory", "base", 0, 8, NULL);
	add("module_memory", "size", 12, 4, NULL);
	add("module_memory", "mtn", 16, 56, NULL);
	add("cyc2ns_data", "cyc2ns_mul", 0, 4, NULL);
	add("cyc2ns_data", "cyc2ns_offset", 8, 8, NULL);
	add("cyc2ns", "data", 0, 32, "cyc2ns_data");
	add("cyc2ns", "seq", 32, 4, NULL);
	btf = make();
	check_member(btf, "module", "mem", 0x180, 7 * 72);
	check_member(btf, "module", "mem.base", 0x180, 8);
	check_member(btf, "module", "mem.size", 0x18c, 4);
	check_size(btf, "module_memory", 72);
	check_member(btf, "cyc2ns", "data.cyc2ns_offset", 8, 8);
	check_member(btf, "cyc2ns", "seq", 32, 4);
	hv_btf_free(btf);
}
END_TEST

/* No member of the type is known. */
START_TEST(unknown_structures_are_empty)
{
	struct hv_btf *btf;
	uint32_t off;

	add("task_struct", "thread", 0x1300, 8, "thread_struct");
	btf = make();
	check_size(btf, "thread_struct", 0);
	ck_assert(!hv_btf_member(btf, "task_struct", "thread.sp", &off, NULL));
	ck_assert(!hv_btf_member(btf, "task_struct", "stack", &off, NULL));
	ck_assert(!hv_btf_member(btf, "module", "list", &off, NULL));
	hv_btf_free(btf);
}
END_TEST

START_TEST(numbers_are_enumerators)
{
	int64_t value = -1;
	struct hv_btf *btf;

	hv_facts_add_number(&facts, "MOD_TEXT", 0);
	hv_facts_add_number(&facts, "TRACE_FLAG_NEED_RESCHED_LAZY", 2);
	btf = make();
	ck_assert(hv_btf_enumerator(btf, "MOD_TEXT", &value));
	ck_assert_int_eq(value, 0);
	ck_assert(hv_btf_enumerator(btf, "TRACE_FLAG_NEED_RESCHED_LAZY", &value));
	ck_assert_int_eq(value, 2);
	ck_assert(!hv_btf_enumerator(btf, "MODULE_STATE_GOING", &value));
	hv_btf_free(btf);
}
END_TEST

START_TEST(no_facts_make_empty_types)
{
	struct hv_btf *btf = make();
	uint32_t off;
	int64_t value;

	ck_assert(!hv_btf_member(btf, "task_struct", "pid", &off, NULL));
	ck_assert(!hv_btf_size(btf, "task_struct", &off));
	ck_assert(!hv_btf_enumerator(btf, "MOD_TEXT", &value));
	hv_btf_free(btf);
}
END_TEST

#define MANY 3000u

/* More than the buffers have room for at first. */
START_TEST(many_facts)
{
	static char names[MANY][32];
	struct hv_btf *btf;

	for (unsigned i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "a_member_with_the_number_%u", i);
		add(i % 2 ? "odd" : "even", names[i], i * 8, i % 3 ? 8 : 16, i % 3 ? NULL : "pair");
		hv_facts_add_number(&facts, names[i], (int32_t)i);
	}
	add("pair", "first", 0, 8, NULL);
	add("pair", "second", 8, 8, NULL);
	btf = make();
	for (unsigned i = 0; i < MANY; i++) {
		HV_AUTO_FREE char *second = hv_format("%s.second", names[i]);
		int64_t value = -1;

		check_member(btf, i % 2 ? "odd" : "even", names[i], i * 8, i % 3 ? 8 : 16);
		if (i % 3 == 0)
			check_member(btf, i % 2 ? "odd" : "even", second, i * 8 + 8, 8);
		ck_assert(hv_btf_enumerator(btf, names[i], &value));
		ck_assert_int_eq(value, i);
	}
	hv_btf_free(btf);
}
END_TEST

START_TEST(proofs_are_added_to_known_members)
{
	const struct hv_fact *f;

	add("module", "list", 8, 16, "list_head");
	hv_facts_add_proof(&facts, "module", "list", HV_PROVED_BY_OTHER_MEMORY);
	hv_facts_add_proof(&facts, "module", "name", HV_PROVED_BY_CODE);
	f = hv_facts_find(&facts, "module", "list");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(f->proofs, HV_PROVED_BY_MEMORY | HV_PROVED_BY_OTHER_MEMORY);
	ck_assert_ptr_null(hv_facts_find(&facts, "module", "name"));
	ck_assert_ptr_null(hv_facts_find(&facts, "list_head", "list"));
	ck_assert_uint_eq(facts.nr, 1);
}
END_TEST

static void teardown(void)
{
	hv_facts_deinit(&facts);
}

START_TEST(bit_fields_and_sizes)
{
	struct hv_facts f = {0};
	struct hv_btf *btf = NULL;
	uint32_t off = 0, nr = 0, size = 0;
	struct hv_err *err;

	hv_facts_add(&f, &(struct hv_fact){"s", "whole", 4, 4, NULL, 0});
	hv_facts_add(&f, &(struct hv_fact){"s", "part", 8, 4, NULL, 0, .bits = 7, .bit = 1});
	hv_facts_add_size(&f, "s", 40);
	err = hv_facts_to_btf(&f, &btf);
	ck_assert_ptr_null(err);
	ck_assert(hv_btf_bits(btf, "s", "part", &off, &nr));
	ck_assert_uint_eq(off, 65);
	ck_assert_uint_eq(nr, 7);
	ck_assert(hv_btf_bits(btf, "s", "whole", &off, &nr));
	ck_assert_uint_eq(off, 32);
	ck_assert_uint_eq(nr, 32);
	ck_assert(hv_btf_size(btf, "s", &size));
	ck_assert_uint_eq(size, 40);
	hv_btf_free(btf);
	hv_facts_deinit(&f);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, bit_fields_and_sizes);
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, numbers_have_their_offset_and_size);
	tcase_add_test(tc, structures_end_with_their_last_member);
	tcase_add_test(tc, paths_lead_through_structures);
	tcase_add_test(tc, paths_lead_into_arrays_of_structures);
	tcase_add_test(tc, unknown_structures_are_empty);
	tcase_add_test(tc, numbers_are_enumerators);
	tcase_add_test(tc, no_facts_make_empty_types);
	tcase_add_test(tc, many_facts);
	tcase_add_test(tc, proofs_are_added_to_known_members);
}

int main(void)
{
	return run_suite("facts", add_tests);
}
