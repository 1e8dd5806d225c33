/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Well-formed and broken BTF, built by hand. */
#include <check.h>

#include "kernel/types/btf.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/types/btf_build.h"

static struct hv_err *read_len(size_t len_bytes, struct hv_btf **ret)
{
	HV_AUTO_TEXT struct hv_text file = assemble();
	/* Copy the exact size, so that the sanitizer detects reads beyond it. */
	HV_AUTO_FREE uint8_t *exact = hv_alloc(len_bytes);

	memcpy(exact, file.data, len_bytes < file.len_bytes ? len_bytes : file.len_bytes);
	return hv_btf_new((struct hv_span){exact, len_bytes}, NULL, ret);
}

static struct hv_btf *read_all(void)
{
	struct hv_btf *btf = NULL;
	struct hv_err *err = read_len(24 + types.len_bytes + strings.len_bytes, &btf);

	ck_assert_msg(!err, "%s", err ? err->message : "");
	return btf;
}

/* Other types must not be between the members of a struct, so make all types before the structs
 * that use them. */
static void sample(void)
{
	uint32_t u32_id, u32_typedef, inner, slot, slots, ptr;

	begin();
	u32_id = integer("unsigned int", 4);
	u32_typedef = type(TYPEDEF, "u32", 0, 0, type(CONST, "", 0, 0, u32_id));
	type(FWD, "task", 0, 0, 0);
	inner = type(UNION, "", 2, 0, 8);
	member("a", u32_typedef, 0);
	member("b", u32_typedef, 32);
	slot = type(STRUCT, "slot", 1, 0, 12);
	member("value", u32_typedef, 64);
	slots = array(slot, 3);
	ptr = type(PTR, "", 0, 0, slot);
	type(STRUCT, "task", 5, 1, 64);
	member("first", u32_id, 0);
	member("", inner, 32);
	member("slots", slots, 96);
	member("flag", u32_id, 3u << 24 | 390);
	member("ptr", ptr, 448);
	type(ENUM, "", 2, 1, 4);
	u32(str("MINUS_ONE"));
	u32(0xffffffff);
	u32(str("TWO"));
	u32(2);
	type(ENUM, "flags", 1, 0, 4);
	u32(str("TOP_BIT"));
	u32(0x80000000);
	type(ENUM64, "wide", 1, 0, 8);
	u32(str("WIDE"));
	u32(5);
	u32(1);
}

static void check_member(const struct hv_btf *btf, const char *path, uint32_t off, uint32_t size)
{
	uint32_t got_off = 0, got_size = 0;

	ck_assert_msg(hv_btf_member(btf, "task", path, &got_off, &got_size), "%s", path);
	ck_assert_msg(got_off == off && got_size == size, "%s: %u+%u", path, got_off, got_size);
}

START_TEST(finds_members)
{
	struct hv_btf *btf;
	uint32_t off;

	sample();
	btf = read_all();
	ck_assert_uint_eq(hv_btf_nr_types(btf), nr_types);
	check_member(btf, "first", 0, 4);
	check_member(btf, "b", 8, 4);
	check_member(btf, "slots", 12, 36);
	check_member(btf, "slots.value", 20, 4);
	check_member(btf, "flag", 48, 2); /* bits 390..392 lie in bytes 48 and 49 */
	check_member(btf, "ptr", 56, 8);
	ck_assert(hv_btf_member(btf, "task", "first", &off, NULL));
	ck_assert(!hv_btf_member(btf, "task", "ptr.value", &off, NULL));
	ck_assert(!hv_btf_member(btf, "task", "firs", &off, NULL));
	ck_assert(!hv_btf_member(btf, "task", "firstx", &off, NULL));
	ck_assert(!hv_btf_member(btf, "task", "first.", &off, NULL));
	ck_assert(!hv_btf_member(btf, "task", "", &off, NULL));
	ck_assert(!hv_btf_member(btf, "", "first", &off, NULL));
	ck_assert(!hv_btf_member(btf, "nobody", "first", &off, NULL));
	hv_btf_free(btf);
}
END_TEST

START_TEST(finds_sizes_and_enumerators)
{
	struct hv_btf *btf;
	uint32_t size;
	int64_t value;

	sample();
	btf = read_all();
	ck_assert(hv_btf_size(btf, "task", &size));
	ck_assert_uint_eq(size, 64);
	ck_assert(hv_btf_size(btf, "u32", &size));
	ck_assert_uint_eq(size, 4);
	ck_assert(!hv_btf_size(btf, "nobody", &size));
	ck_assert(hv_btf_enumerator(btf, "MINUS_ONE", &value));
	ck_assert_int_eq(value, -1);
	ck_assert(hv_btf_enumerator(btf, "TWO", &value));
	ck_assert_int_eq(value, 2);
	ck_assert(hv_btf_enumerator(btf, "TOP_BIT", &value));
	ck_assert_int_eq(value, 0x80000000);
	ck_assert(hv_btf_enumerator(btf, "WIDE", &value));
	ck_assert_int_eq(value, (int64_t)1 << 32 | 5);
	ck_assert(!hv_btf_enumerator(btf, "", &value));
	ck_assert(!hv_btf_enumerator(btf, "flags", &value));
	hv_btf_free(btf);
}
END_TEST

START_TEST(first_type_with_the_member_wins)
{
	struct hv_btf *btf;
	uint32_t int_id, off;

	begin();
	int_id = integer("int", 4);
	type(STRUCT, "pool", 1, 0, 4);
	member("x", int_id, 0);
	type(STRUCT, "pool", 1, 0, 8);
	member("y", int_id, 32);
	btf = read_all();
	ck_assert(hv_btf_member(btf, "pool", "y", &off, NULL));
	ck_assert_uint_eq(off, 4);
	hv_btf_free(btf);
}
END_TEST

static void parameter(const char *name, uint32_t type_id)
{
	u32(*name ? str(name) : 0);
	u32(type_id);
}

static void check_value(const struct hv_btf *btf, uint32_t id, enum hv_btf_form form, uint32_t to)
{
	struct hv_btf_value value;

	ck_assert(hv_btf_value(btf, id, &value));
	ck_assert_msg(value.form == form && value.to == to, "%u: %d to %u", id, value.form,
		      value.to);
}

START_TEST(finds_functions)
{
	struct hv_btf_value value, to;
	struct hv_btf_field field;
	struct hv_btf_func func;
	uint32_t id, s8, letter, slot, ptr, proto, letters, wide;
	struct hv_btf *btf;

	begin();
	s8 = type(INT, "signed char", 0, 0, 1);
	u32(1u << 24 | 8);
	letter = type(INT, "char", 0, 0, 1);
	u32(1u << 24 | 8);
	slot = type(STRUCT, "slot", 2, 1, 12);
	member("value", s8, 64);
	member("flag", s8, 3u << 24 | 70);
	ptr = type(PTR, "", 0, 0, type(CONST, "", 0, 0, slot));
	letters = array(s8, 4);
	proto = type(FUNC_PROTO, "", 3, 0, s8);
	parameter("slot", ptr);
	parameter("letters", letters);
	parameter("", 0);
	wide = type(FUNC_PROTO, "", 257, 0, s8);
	for (unsigned i = 0; i < 257; i++)
		parameter("", s8);
	type(FUNC, "wide", 0, 0, wide);
	type(TYPEDEF, "function", 0, 0, type(PTR, "", 0, 0, proto));
	type(FUNC, "nothing", 0, 0, slot);
	type(FUNC, "late", 0, 0, proto);
	type(FUNC, "function", 0, 0, proto);
	type(FUNC, "function", 0, 0, slot);
	type(STRUCT, "late", 0, 0, 20);
	btf = read_all();
	ck_assert(hv_btf_size(btf, "late", &id) && id == 20);
	ck_assert(hv_btf_func_find(btf, "late", &func));
	ck_assert(!hv_btf_func_find(btf, "", &func));
	ck_assert(!hv_btf_func_find(btf, "nothing", &func));
	ck_assert(!hv_btf_func_find(btf, "wide", &func));
	ck_assert(!hv_btf_func_find(btf, "slot", &func));
	ck_assert(hv_btf_func_find(btf, "function", &func));
	ck_assert_uint_eq(func.proto_id, proto);
	ck_assert_uint_eq(func.nr_params, 3);
	ck_assert_uint_eq(func.return_id, s8);
	ck_assert_str_eq(hv_btf_param(btf, &func, 0, &id), "slot");
	ck_assert_uint_eq(id, ptr);
	ck_assert_str_eq(hv_btf_param(btf, &func, 2, &id), "");
	ck_assert_uint_eq(id, 0);
	ck_assert_str_eq(hv_btf_param(btf, &func, 3, &id), "");
	check_value(btf, 0, HV_BTF_VOID, 0);
	check_value(btf, ptr, HV_BTF_POINTER, slot + 1);
	check_value(btf, letters, HV_BTF_ARRAY, s8);
	check_value(btf, proto, HV_BTF_OTHER, 0);
	ck_assert(hv_btf_value(btf, s8, &value));
	ck_assert(value.form == HV_BTF_INT && value.is_signed && value.bits == 8);
	ck_assert(!value.is_letter && hv_btf_value(btf, letter, &value) && value.is_letter);
	ck_assert(!hv_btf_field(btf, &value, "flag", 4, &field));
	ck_assert(!hv_btf_value(btf, nr_types + 1, &value));
	ck_assert(hv_btf_value(btf, slot + 1, &to) && to.form == HV_BTF_COMPOUND && to.id == slot);
	ck_assert(hv_btf_field(btf, &to, "flags", 4, &field));
	ck_assert(field.bit_off == 70 && field.bit_len == 3 && field.id == s8);
	ck_assert(hv_btf_field(btf, &to, "value", 5, &field));
	ck_assert(field.bit_off == 64 && !field.bit_len);
	ck_assert(!hv_btf_field(btf, &to, "valu", 4, &field));
	ck_assert(!hv_btf_field(btf, &to, "", 0, &field));
	hv_btf_free(btf);
}
END_TEST

START_TEST(cycles_end)
{
	struct hv_btf *btf;
	uint32_t off;

	begin();
	type(TYPEDEF, "loop", 0, 0, 2);
	type(TYPEDEF, "pool", 0, 0, 1);
	type(STRUCT, "self", 2, 0, 8);
	member("", 3, 0);
	member("", 3, 0);
	array(5, 2);
	type(TYPEDEF, "deep", 0, 0, 4);
	btf = read_all();
	ck_assert(!hv_btf_size(btf, "loop", &off));
	ck_assert(!hv_btf_value(btf, 1, &(struct hv_btf_value){0}));
	ck_assert(!hv_btf_size(btf, "deep", &off));
	ck_assert(!hv_btf_member(btf, "loop", "x", &off, NULL));
	ck_assert(!hv_btf_member(btf, "self", "x", &off, NULL));
	ck_assert(!hv_btf_member(btf, "deep", "x", &off, NULL));
	hv_btf_free(btf);
}
END_TEST

START_TEST(invalid_ids_and_sizes_find_nothing)
{
	struct hv_btf *btf;
	uint32_t off;

	begin();
	type(TYPEDEF, "wild", 0, 0, 0xffffffff);
	type(TYPEDEF, "void_t", 0, 0, 0);
	array(integer("long", 0x40000000), 0x40000000);
	type(TYPEDEF, "huge", 0, 0, 4);
	type(STRUCT, "s", 1, 0, 8);
	member("m", 0x7fffffff, 0xffffffff);
	u32(0x7fffffff); /* name outside the strings */
	u32(STRUCT << 24);
	u32(8);
	nr_types++;
	btf = read_all();
	ck_assert(!hv_btf_size(btf, "wild", &off));
	ck_assert(!hv_btf_size(btf, "void_t", &off));
	ck_assert(!hv_btf_size(btf, "huge", &off));
	ck_assert(!hv_btf_member(btf, "s", "m", &off, NULL));
	hv_btf_free(btf);
}
END_TEST

START_TEST(types_before_an_unknown_kind_stay)
{
	struct hv_btf *btf;
	uint32_t size;

	begin();
	integer("int", 4);
	type(31, "new", 3, 0, 0);
	btf = read_all();
	ck_assert_uint_eq(hv_btf_nr_types(btf), 1);
	ck_assert(hv_btf_size(btf, "int", &size));
	hv_btf_free(btf);
}
END_TEST

static void check_refused(struct hv_err *err, const char *what)
{
	ck_assert_msg(err != NULL, "%s", what);
	ck_assert_int_eq(err->code, EINVAL);
	ck_assert_msg(strstr(err->message, what) != NULL, "%s: %s", what, err->message);
	hv_err_free(err);
}

/* BTF of a module for the kernel of sample(): its ids and strings continue after the kernel's. */
START_TEST(module_ids_continue_after_the_kernel)
{
	struct hv_btf *base, *btf = NULL;
	struct hv_btf_func func;
	struct hv_btf_value value;
	struct hv_btf_field field;
	uint32_t own, ptr, id, u32_id = 1, task = 0;

	sample();
	base = read_all();
	for (uint32_t i = 1; i <= nr_types && !task; i++)
		if (hv_btf_value(base, i, &value) && hv_btf_field(base, &value, "slots", 5, &field))
			task = i;
	begin_module(base);
	own = type(STRUCT, "own", 2, 0, 68);
	member("value", u32_id, 0);
	member("task", task, 32);
	ptr = type(PTR, "", 0, 0, own);
	id = type(FUNC_PROTO, "", 1, 0, u32_id);
	u32(str("what"));
	u32(ptr);
	type(FUNC, "open_it", 0, 0, id);
	{
		HV_AUTO_TEXT struct hv_text file = assemble();
		struct hv_span bytes = {(uint8_t *)file.data, file.len_bytes};

		ck_assert_ptr_null(hv_btf_new(bytes, base, &btf));
	}
	ck_assert_uint_eq(hv_btf_nr_types(btf), 4);
	ck_assert(!hv_btf_func_find(base, "open_it", &func));
	ck_assert(hv_btf_func_find(btf, "open_it", &func));
	ck_assert_uint_eq(func.return_id, u32_id);
	ck_assert_str_eq(hv_btf_param(btf, &func, 0, &id), "what");
	ck_assert(hv_btf_value(btf, id, &value) && value.form == HV_BTF_POINTER);
	ck_assert(hv_btf_value(btf, value.to, &value));
	ck_assert(hv_btf_field(btf, &value, "task", 4, &field));
	ck_assert_uint_eq(field.bit_off, 32);
	/* From there on the members are the kernel's. */
	ck_assert(hv_btf_value(btf, field.id, &value));
	ck_assert(hv_btf_field(btf, &value, "ptr", 3, &field));
	ck_assert_uint_eq(field.bit_off, 448);
	ck_assert(!hv_btf_value(btf, (uint32_t)hv_btf_nr_types(base) + 5, &value));
	/* Lookup by name finds only the module's own types. */
	ck_assert(hv_btf_size(btf, "own", &id) && id == 68);
	ck_assert(!hv_btf_size(btf, "task", &id));
	hv_btf_free(btf);
	hv_btf_free(base);
	begin();
}
END_TEST

START_TEST(refuses_invalid_btf)
{
	static const uint8_t later[24] = {0x9f, 0xeb, 2};
	static const uint8_t cut[24] = {0x9f, 0xeb, 1, 0, 24, [12] = 1};
	struct hv_btf *btf;
	size_t all;

	sample();
	all = 24 + types.len_bytes + strings.len_bytes;
	for (size_t len = 0; len < all; len++) {
		struct hv_err *err = read_len(len, &btf);

		ck_assert_msg(err != NULL, "%zu of %zu bytes", len, all);
		hv_err_free(err);
	}
	check_refused(hv_btf_new((struct hv_span){NULL, 0}, NULL, &btf),
		      "BTF: no magic (0x0) in 0 bytes");
	check_refused(hv_btf_new((struct hv_span){later, (64 << 20) + 1}, NULL, &btf),
		      "BTF: 67108865 bytes are too many");
	check_refused(hv_btf_new((struct hv_span){later, sizeof(later)}, NULL, &btf),
		      "BTF: unknown version 2 in 24 bytes");
	check_refused(hv_btf_new((struct hv_span){cut, sizeof(cut)}, NULL, &btf),
		      "BTF: sections end outside its 24 bytes");
	strings.data[strings.len_bytes - 1] = 'x';
	check_refused(read_len(all, &btf), " bytes) do not end with a NUL");
	sample();
	types.len_bytes -= 4;
	check_refused(read_len(all - 4, &btf), "outside the section");
}
END_TEST

/* All names are ends of one long string. A lookup must still be fast. */
START_TEST(names_as_long_as_all_strings)
{
	const size_t len = 8 << 20;
	HV_AUTO_FREE char *letters = hv_alloc(len);
	struct hv_btf *btf;
	uint32_t size;

	begin();
	memset(letters, 'a', len);
	hv_text_add_bytes(&strings, letters, len);
	hv_text_add_bytes(&strings, "", 1);
	for (uint32_t i = 1; i < 50000; i++) {
		u32(i);
		u32(STRUCT << 24);
		u32(8);
		nr_types++;
	}
	type(STRUCT, "wanted", 0, 0, 16);
	btf = read_all();
	ck_assert(hv_btf_size(btf, "wanted", &size));
	ck_assert_uint_eq(size, 16);
	ck_assert(!hv_btf_size(btf, "aaaa", &size));
	hv_btf_free(btf);
}
END_TEST

struct loading {
	bool works;
	unsigned nr;
	unsigned nr_failing; /* it works after this many calls */
};

static bool load(void *ctx)
{
	struct loading *l = ctx;

	l->nr++;
	return l->works || (l->nr_failing && l->nr > l->nr_failing);
}

/* A result that was found needs the bytes only once. A lookup without the bytes finds nothing, and is
 * repeated later. */
START_TEST(bytes_are_loaded_for_lookups)
{
	struct loading l = {.works = false};
	struct hv_btf_value value;
	struct hv_btf *btf;
	uint32_t off, size;
	int64_t wide;

	sample();
	btf = read_all();
	hv_btf_load_with(btf, load, &l);
	ck_assert(!hv_btf_member(btf, "task", "first", &off, &size));
	ck_assert(!hv_btf_size(btf, "slot", &size));
	ck_assert(!hv_btf_enumerator(btf, "WIDE", &wide));
	ck_assert(!hv_btf_struct(btf, "task", &value));
	l.works = true;
	for (unsigned i = 0; i < 2; i++) {
		check_member(btf, "first", 0, 4);
		ck_assert(!hv_btf_member(btf, "task", "none", &off, NULL));
		ck_assert(hv_btf_size(btf, "slot", &size));
		ck_assert_uint_eq(size, 12);
		ck_assert(!hv_btf_size(btf, "none", &size));
		ck_assert(hv_btf_enumerator(btf, "WIDE", &wide));
		ck_assert_int_eq(wide, 0x100000005);
		ck_assert_uint_eq(l.nr > 0, i == 0);
		l = (struct loading){.works = false};
	}
	hv_btf_free(btf);
}
END_TEST

/* The bytes may appear in the middle of a lookup, which has found nothing by then. */
START_TEST(bytes_that_are_loaded_late)
{
	struct hv_btf *btf;
	uint32_t size;

	sample();
	for (unsigned nr = 1; nr < 8; nr++) {
		struct loading l = {.nr_failing = nr};

		btf = read_all();
		hv_btf_load_with(btf, load, &l);
		hv_btf_size(btf, "slot", &size);
		l.works = true;
		ck_assert(hv_btf_size(btf, "slot", &size));
		hv_btf_free(btf);
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, bytes_are_loaded_for_lookups);
	tcase_add_test(tc, bytes_that_are_loaded_late);
	tcase_add_test(tc, names_as_long_as_all_strings);
	tcase_add_test(tc, finds_members);
	tcase_add_test(tc, finds_sizes_and_enumerators);
	tcase_add_test(tc, first_type_with_the_member_wins);
	tcase_add_test(tc, finds_functions);
	tcase_add_test(tc, cycles_end);
	tcase_add_test(tc, invalid_ids_and_sizes_find_nothing);
	tcase_add_test(tc, types_before_an_unknown_kind_stay);
	tcase_add_test(tc, module_ids_continue_after_the_kernel);
	tcase_add_test(tc, refuses_invalid_btf);
}

int main(void)
{
	int status = run_suite("btf", add_tests);

	hv_text_deinit(&types);
	hv_text_deinit(&strings);
	return status;
}
