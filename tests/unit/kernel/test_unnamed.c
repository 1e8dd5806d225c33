/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds variables without names in a test image: tables of exported symbols, types, and functions
 * that use private variables. An uncertain match must not be returned. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "kernel/image/exports.h"
#include "kernel/unnamed.h"
#include "tests/lib/run_suite.h"

#define BASE	    0xffff800008000000ull
#define TEXT_BYTES  0x4000u
#define IMAGE_BYTES 0x20000u
#define TABLE_OFF   0x5000u
#define NAMES_OFF   0x10000u
#define TYPES_OFF   0x1c000u
#define ENTRY_BYTES 12u
#define NAME_BYTES  8u
#define NR_FIRST    301u
#define NR_SECOND   260u

static uint8_t bytes[IMAGE_BYTES];

static struct hv_image image(void)
{
	return (struct hv_image){
		.all = {hv_gva(BASE), hv_gva(BASE + IMAGE_BYTES)},
		.text = {hv_gva(BASE), hv_gva(BASE + TEXT_BYTES)},
		.bytes = bytes,
		.len_bytes = IMAGE_BYTES,
	};
}

static void put(size_t off, uint32_t v)
{
	memcpy(bytes + off, &v, sizeof(v));
}

/* Writes entry I at OFF: a variable of 16 bytes after TYPES_OFF, and the name nI. */
static void put_entry(size_t off, unsigned i)
{
	size_t name = NAMES_OFF + i * NAME_BYTES;

	snprintf((char *)bytes + name, NAME_BYTES, "n%u", i);
	put(off, (uint32_t)(TYPES_OFF + 16 * i - off));
	put(off + 4, (uint32_t)(name - (off + 4)));
	put(off + 8, (uint32_t)(name + strlen((char *)bytes + name) - (off + 8)));
}

/* Writes entries FIRST to FIRST + NR - 1 at OFF. Returns the end of the table. */
static size_t put_table(size_t off, unsigned first, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++)
		put_entry(off + (size_t)i * ENTRY_BYTES, first + i);
	return off + (size_t)nr * ENTRY_BYTES;
}

static void setup(void)
{
	/* No byte of the image is a name or leads to one. */
	memset(bytes, 0xff, sizeof(bytes));
}

START_TEST(exports_in_two_tables)
{
	struct hv_image im = image();
	struct hv_exports e;
	struct hv_gva at = {0};
	size_t end = put_table(TABLE_OFF, 0, NR_FIRST);

	put_table(end + 4, NR_FIRST, NR_SECOND);
	e = hv_exports_find(&im);
	ck_assert_uint_eq(e.nr_tables, 2);
	ck_assert_uint_eq(e.tables[0].nr + e.tables[1].nr, NR_FIRST + NR_SECOND);
	ck_assert(hv_exports_lookup(&im, &e, "n0", &at));
	ck_assert_uint_eq(at.v, BASE + TYPES_OFF);
	ck_assert(hv_exports_lookup(&im, &e, "n400", &at));
	ck_assert_uint_eq(at.v, BASE + TYPES_OFF + 16 * 400);
	ck_assert(!hv_exports_lookup(&im, &e, "n561", &at));
	ck_assert(hv_exports_lookup(&im, &e, "n40", &(struct hv_gva){0}));
	/* If two entries share a name, neither gets it. */
	put(TABLE_OFF + 5 * ENTRY_BYTES + 4,
	    (uint32_t)(NAMES_OFF + 400 * NAME_BYTES - (TABLE_OFF + 5 * ENTRY_BYTES + 4)));
	ck_assert(!hv_exports_lookup(&im, &e, "n400", &at));
}
END_TEST

START_TEST(invalid_export_tables)
{
	struct hv_image im = image();
	size_t end = put_table(TABLE_OFF, 0, 255);

	ck_assert_uint_eq(hv_exports_find(&im).nr_tables, 0);
	/* A table far from the others belongs to something else. With two tables, the kernel's is
	 * unknown. */
	setup();
	end = put_table(TABLE_OFF, 0, NR_FIRST);
	put_table(end + 64, NR_FIRST, NR_SECOND);
	ck_assert_uint_eq(hv_exports_find(&im).nr_tables, 0);
	/* An invalid name ends a table. */
	setup();
	put_table(TABLE_OFF, 0, NR_FIRST);
	bytes[NAMES_OFF + 100 * NAME_BYTES] = '-';
	bytes[NAMES_OFF + 200 * NAME_BYTES] = '7';
	ck_assert_uint_eq(hv_exports_find(&im).nr_tables, 0);
}
END_TEST

/* A kernel with two functions, and a third one. */
static const char *const names[] = {"one", "two", "three"};
static struct hv_symbol symbols[3];

static struct hv_kernel_core make_core(void)
{
	struct hv_kernel_core core = {.as = {.arch = &hv_arch_arm64}, .image = image()};

	for (size_t i = 0; i < 3; i++)
		symbols[i] = (struct hv_symbol){hv_gva(BASE + 0x100 * i), names[i], 'T'};
	core.symbols = (struct hv_symbols){.by_addr = symbols, .nr = 3};
	hv_symbols_index(&core.symbols);
	return core;
}

static void end_core(struct hv_kernel_core *core)
{
	core->symbols.by_addr = NULL;
	hv_symbols_deinit(&core->symbols);
	hv_symbols_deinit(&core->unnamed);
}

/* Writes instruction NR of a function: adrp x1, and an 8-byte load of x2 from offset OFF of the
 * image. */
static void put_load(size_t function, unsigned nr, uint32_t off)
{
	uint32_t pages = off >> 12; /* functions are in the first page */

	put(function + 4 * nr, 0x90000001 | (pages & 3) << 29 | pages >> 2 << 5);
	put(function + 4 * nr + 4, 0xf9400022 | (off & 0xfff) >> 3 << 10);
}

/* Marks the variable to find. */
#define MARK 0x12345678u

static bool has_mark(const struct hv_kernel_core *core, struct hv_gva at)
{
	uint32_t v = 0;

	return hv_span_u32(hv_image_at(&core->image, at), 0, &v) && v == MARK;
}

static const struct hv_unnamed by_two = {
	.name = "variable",
	.functions = {"one", "two", "none"},
	.functions_min = 2,
	.kind = HV_DATA_READ,
	.len_bytes = 8,
	.is_at = has_mark,
};

START_TEST(private_by_two_functions)
{
	struct hv_kernel_core core = make_core();
	struct hv_gva at = {0};

	/* Both functions use 0x5010 and 0x5020, and one of these has the mark. */
	put_load(0, 0, 0x5010);
	put_load(0, 2, 0x5020);
	put_load(0, 4, 0x5030);
	put_load(0x100, 0, 0x5010);
	put_load(0x100, 2, 0x5020);
	ck_assert(!hv_unnamed_search(&core, &by_two, &at));
	put(0x5010, MARK);
	put(0x5030, MARK); /* used by one function */
	put(0x5040, MARK); /* used by no function */
	ck_assert(hv_unnamed_search(&core, &by_two, &at));
	ck_assert_uint_eq(at.v, BASE + 0x5010);
	/* Two matches: not found. */
	put(0x5020, MARK);
	at = hv_gva(7);
	ck_assert(!hv_unnamed_search(&core, &by_two, &at));
	ck_assert_uint_eq(at.v, 7);
	end_core(&core);
}
END_TEST

/* Uses in the next function do not count, nor does a variable in the text. */
START_TEST(private_data_of_one_function)
{
	struct hv_kernel_core core = make_core();
	struct hv_gva at;

	put_load(0, 0, 0x5010);
	put_load(0x200, 0, 0x5010);
	put(0x5010, MARK);
	ck_assert(!hv_unnamed_search(&core, &by_two, &at));
	put_load(0, 0, 0x2010);
	put_load(0x100, 0, 0x2010);
	put(0x2010, MARK);
	ck_assert(!hv_unnamed_search(&core, &by_two, &at));
	end_core(&core);
}
END_TEST

START_TEST(private_data_passed_as_an_argument)
{
	const struct hv_unnamed passed = {.functions = {"one"},
					  .functions_min = 1,
					  .kind = HV_DATA_PASS,
					  .argument = 2,
					  .called = "two",
					  .is_at = has_mark};
	struct hv_kernel_core core = make_core();
	struct hv_unnamed other = passed;
	struct hv_gva at = {0};

	put_load(0, 0, 0x5010);
	put(8, 0x94000000 | (0x100 - 8) / 4);
	put(0x5010, MARK);
	ck_assert(hv_unnamed_search(&core, &passed, &at));
	ck_assert_uint_eq(at.v, BASE + 0x5010);
	other.argument = 1;
	ck_assert(!hv_unnamed_search(&core, &other, &at));
	other = passed;
	other.called = "three";
	ck_assert(!hv_unnamed_search(&core, &other, &at));
	other.called = "four";
	ck_assert(!hv_unnamed_search(&core, &other, &at));
	end_core(&core);
}
END_TEST

static void put_types(size_t off, uint32_t types_len, uint32_t strings_len)
{
	const uint32_t header[] = {0x0001eb9f, 24, 0, types_len, types_len, strings_len};

	memcpy(bytes + off, header, sizeof(header));
	if (off + 24 + types_len + strings_len <= IMAGE_BYTES)
		bytes[off + 24 + types_len + strings_len - 1] = 0;
}

START_TEST(types_must_be_unique)
{
	struct hv_kernel_core core = make_core();
	struct hv_gva start, stop;

	ck_assert(!hv_unnamed_find_types(&core));
	put_types(TYPES_OFF, 100, 60);
	put_types(TYPES_OFF + 0x400, 100, IMAGE_BYTES); /* ends outside the image */
	ck_assert(hv_unnamed_find_types(&core));
	ck_assert(hv_core_symbol(&core, "__start_BTF", &start));
	ck_assert(hv_core_symbol(&core, "__stop_BTF", &stop));
	ck_assert_uint_eq(start.v, BASE + TYPES_OFF);
	ck_assert_uint_eq(stop.v, BASE + TYPES_OFF + 24 + 160);
	end_core(&core);
	core = make_core();
	put_types(TYPES_OFF + 0x800, 100, 60);
	ck_assert(!hv_unnamed_find_types(&core));
	end_core(&core);
}
END_TEST

/* A kernel with names of data is not searched. */
START_TEST(a_kernel_with_data_names_is_not_searched)
{
	struct hv_kernel_core core = make_core();

	put_types(TYPES_OFF, 100, 60);
	symbols[2].name = "linux_banner";
	hv_symbols_index(&core.symbols);
	ck_assert(!hv_unnamed_find_types(&core));
	end_core(&core);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, exports_in_two_tables);
	tcase_add_test(tc, invalid_export_tables);
	tcase_add_test(tc, private_by_two_functions);
	tcase_add_test(tc, private_data_of_one_function);
	tcase_add_test(tc, private_data_passed_as_an_argument);
	tcase_add_test(tc, types_must_be_unique);
	tcase_add_test(tc, a_kernel_with_data_names_is_not_searched);
}

int main(void)
{
	return run_suite("unnamed", add_tests);
}
