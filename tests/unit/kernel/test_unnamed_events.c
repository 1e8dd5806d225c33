/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The form of event lists, which identifies them in a kernel without names of data. A list that
 * differs slightly must be rejected. */
#include <stdio.h>

#include "kernel/unnamed.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/events/fake_events.h"

#define NR_EVENTS 80u

static struct fe e;
static uint64_t class, calls[NR_EVENTS];

static void set_up(void)
{
	char name[16];

	fe_init(&e);
	class = fe_class(&e, "sched", FE_REG);
	for (unsigned i = 0; i < NR_EVENTS; i++) {
		snprintf(name, sizeof(name), "event%u", i);
		calls[i] = fe_event(&e, class, name, 100 + i);
	}
	fe_field(&e, e.common, "unsigned char", "common_flags", 2, 1);
	fe_field(&e, e.common, "unsigned char", "common_preempt_count", 3, 1);
}

static void tear_down(void)
{
	fe_deinit(&e);
}

static bool are_arrays(uint64_t at)
{
	return hv_trace_arrays_are_at(&e.f.k.core, hv_gva(at));
}

static bool are_common(uint64_t at)
{
	return hv_common_fields_are_at(&e.f.k.core, hv_gva(at));
}

START_TEST(lists_are_recognized_by_their_layout)
{
	ck_assert(are_arrays(e.arrays));
	ck_assert(are_common(e.common));
	/* Refused: lists of other kinds, an entry, and something that is not a list. */
	ck_assert(!are_arrays(e.common) && !are_common(e.arrays));
	ck_assert(!are_arrays(e.files) && !are_common(e.files));
	ck_assert(!are_arrays(e.format_list) && !are_common(e.format_list));
	ck_assert(!are_arrays(e.files - FE_ARRAY_EVENTS));
	ck_assert(!are_arrays(FK_BASE + 8) && !are_common(FK_BASE + 8));
	ck_assert(!are_arrays(UINT64_MAX - 3) && !are_common(UINT64_MAX - 3));
}
END_TEST

/* Instances come before the top array in the list. Their memory is allocated by the kernel. */
START_TEST(instances_are_in_the_list_of_arrays)
{
	uint64_t top = e.files - FE_ARRAY_EVENTS, instance = FK_MODULES + 0x1000;

	fk_u64(&e.f, instance, top);
	fk_u64(&e.f, instance + 8, e.arrays);
	fk_u64(&e.f, top + 8, instance);
	fk_u64(&e.f, e.arrays, instance);
	ck_assert(are_arrays(e.arrays));
	fk_u64(&e.f, instance + 8, instance);
	ck_assert(!are_arrays(e.arrays));
}
END_TEST

START_TEST(the_top_array_is_a_variable)
{
	uint64_t top = FK_MODULES + 0x1000, head = top + FE_ARRAY_EVENTS, old = e.files;

	fk_u64(&e.f, top, e.arrays);
	fk_u64(&e.f, top + 8, e.arrays);
	fk_u64(&e.f, e.arrays, top);
	fk_u64(&e.f, e.arrays + 8, top);
	fk_u64(&e.f, head, fe_read(&e, old));
	fk_u64(&e.f, head + 8, fe_read(&e, old + 8));
	fk_u64(&e.f, fe_read(&e, head) + 8, head);
	fk_u64(&e.f, fe_read(&e, head + 8), head);
	for (uint64_t file = fe_read(&e, head); file != head; file = fe_read(&e, file))
		fk_u64(&e.f, file + FE_FILE_TR, top);
	ck_assert(!are_arrays(e.arrays));
}
END_TEST

START_TEST(files_point_to_their_array)
{
	uint64_t file = fe_read(&e, e.files);

	fk_u64(&e.f, file + FE_FILE_TR, e.arrays);
	ck_assert(!are_arrays(e.arrays));
	fk_u64(&e.f, file + FE_FILE_TR, e.files - FE_ARRAY_EVENTS);
	ck_assert(are_arrays(e.arrays));
	fk_u64(&e.f, file + 8, file);
	ck_assert(!are_arrays(e.arrays));
}
END_TEST

/* Some events may belong to modules. */
START_TEST(most_events_are_the_kernels)
{
	uint64_t at = fe_read(&e, e.files);

	for (unsigned i = 0; i < 40; i++, at = fe_read(&e, at)) {
		ck_assert_int_eq(are_arrays(e.arrays), i < 32);
		fk_u64(&e.f, at + FE_FILE_CALL, FK_MODULES + 0x2000);
	}
}
END_TEST

START_TEST(classes_have_functions)
{
	fk_u64(&e.f, class + FE_CLASS_REG, FK_DATA);
	ck_assert(!are_arrays(e.arrays));
	fk_u64(&e.f, class + FE_CLASS_REG, FE_REG);
	for (unsigned i = 0; i < NR_EVENTS; i++)
		fk_u64(&e.f, calls[i] + FE_CALL_CLASS, FK_MODULES);
	ck_assert(!are_arrays(e.arrays));
}
END_TEST

START_TEST(an_empty_list_is_not_recognized)
{
	fe_list(&e, e.arrays);
	fe_list(&e, e.common);
	ck_assert(!are_arrays(e.arrays) && !are_common(e.common));
}
END_TEST

/* A change of the field, and whether the field is still valid. */
static const struct {
	const char *name;
	uint32_t off, size;
	bool fits;
} fields[] = {
	{"common_pid", 4, 4, true},  {"common_pid", 0, 4, false},
	{"common_pid", 4, 8, false}, {"common_lock_depth", 4, 4, false},
	{"pid", 4, 4, false},
};

START_TEST(common_fields_are_members_of_every_record)
{
	fe_field(&e, e.common, "int", fields[_i].name, fields[_i].off, fields[_i].size);
	ck_assert_int_eq(are_common(e.common), fields[_i].fits);
}
END_TEST

START_TEST(common_fields_are_few)
{
	for (unsigned i = 0; i < 20; i++) {
		ck_assert_int_eq(are_common(e.common), i <= 12);
		fe_field(&e, e.common, "int", "common_pid", 4, 4);
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, lists_are_recognized_by_their_layout);
	tcase_add_test(tc, instances_are_in_the_list_of_arrays);
	tcase_add_test(tc, the_top_array_is_a_variable);
	tcase_add_test(tc, files_point_to_their_array);
	tcase_add_test(tc, most_events_are_the_kernels);
	tcase_add_test(tc, classes_have_functions);
	tcase_add_test(tc, an_empty_list_is_not_recognized);
	tcase_add_loop_test(tc, common_fields_are_members_of_every_record, 0, HV_ARRAY_LEN(fields));
	tcase_add_test(tc, common_fields_are_few);
}

int main(void)
{
	return run_suite("unnamed_events", add_tests);
}
