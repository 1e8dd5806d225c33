/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types as text: each kind of member, and hostile BTF. */
#include <check.h>

#include "kernel/types/type_text.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/types/btf_build.h"

static struct hv_btf *read_all(void)
{
	HV_AUTO_TEXT struct hv_text file = assemble();
	struct hv_btf *btf = NULL;
	struct hv_err *err =
		hv_btf_new((struct hv_span){(uint8_t *)file.data, file.len_bytes}, NULL, &btf);

	ck_assert_msg(!err, "%s", err ? err->message : "");
	return btf;
}

static void check_text(const char *name, const char *expected)
{
	struct hv_btf *btf = read_all();
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_err *err = hv_type_text(btf, name, true, &text);

	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert_str_eq(text.data, expected);
	hv_btf_free(btf);
}

static uint32_t number(const char *name, uint32_t size, uint32_t encoding)
{
	uint32_t id = type(INT, name, 0, 0, size);

	u32(encoding << 24 | size * 8);
	return id;
}

START_TEST(shows_each_kind_of_member)
{
	uint32_t s32, u8, letter, wide, pid_t_, name, point, anonymous, counter, kind, fwd, proto;
	uint32_t points, function, self, any, words, grid, rest, flags;

	begin();
	s32 = number("int", 4, 1);
	u8 = number("unsigned char", 1, 0);
	letter = number("char", 1, 1);
	wide = number("__int128", 16, 1);
	pid_t_ = type(TYPEDEF, "pid_t", 0, 0, type(CONST, "", 0, 0, s32));
	name = array(letter, 16);
	point = type(STRUCT, "point", 2, 0, 8);
	member("x", s32, 0);
	member("y", s32, 32);
	anonymous = type(UNION, "", 2, 0, 8);
	member("whole", point, 0);
	member("half", s32, 0);
	type(STRUCT, "", 1, 0, 4);
	member("counter", s32, 0);
	counter = type(TYPEDEF, "atomic_t", 0, 0, nr_types);
	kind = type(ENUM, "kind", 1, 0, 4);
	u32(str("KIND_ONE"));
	u32(1);
	fwd = type(PTR, "", 0, 0, type(FWD, "other", 0, 1, 0));
	proto = type(FUNC_PROTO, "", 0, 0, pid_t_);
	function = type(PTR, "", 0, 0, proto);
	any = type(PTR, "", 0, 0, type(CONST, "", 0, 0, 0));
	words = type(PTR, "", 0, 0, array(any, 3));
	grid = array(array(point, 4), 3);
	rest = array(u8, 0);
	points = array(point, 0);
	flags = type(INT, "unsigned int", 0, 0, 4);
	u32(3u << 16 | 5); /* five bits from bit 3, as old compilers wrote bit-fields */
	self = nr_types + 2;
	type(STRUCT, "task", 18, 1, 512);
	member("pid", pid_t_, 0);
	member("", anonymous, 64);
	member("comm", name, 128);
	member("usage", counter, 256);
	member("kind", kind, 288);
	member("parent", self, 320);
	member("other", fwd, 384);
	member("call", function, 448);
	member("any", any, 512);
	member("words", words, 576);
	member("on", s32, 1u << 24 | 641);
	member("old", flags, 672);
	member("grid", grid, 704);
	member("", s32, 4u << 24 | 1504);
	member("bad", 9999, 1504);
	member("wide", wide, 1536);
	member("rest", rest, 4096);
	member("points", points, 4096);
	ck_assert_uint_eq(type(PTR, "", 0, 0, nr_types), self);
	check_text("task", "struct\t512\twhole\ttask\n"
			   "0\t0\t0\t4\ti\t-\tpid_t\t-\tpid\n"
			   "0\t64\t0\t8\tn\t-\tunion\t-\t\n"
			   "1\t64\t0\t8\ts\t-\tstruct point\tpoint\twhole\n"
			   "2\t64\t0\t4\ti\t-\tint\t-\tx\n"
			   "2\t96\t0\t4\ti\t-\tint\t-\ty\n"
			   "1\t64\t0\t4\ti\t-\tint\t-\thalf\n"
			   "0\t128\t0\t1\tc\t16\tchar[16]\t-\tcomm\n"
			   "0\t256\t0\t4\ts\t-\tatomic_t\tatomic_t\tusage\n"
			   "1\t256\t0\t4\ti\t-\tint\t-\tcounter\n"
			   "0\t288\t0\t4\tu\t-\tenum kind\t-\tkind\n"
			   "0\t320\t0\t8\tp\t-\tstruct task *\ttask\tparent\n"
			   "0\t384\t0\t8\tp\t-\tunion other *\tother\tother\n"
			   "0\t448\t0\t8\tp\t-\tpid_t (*)()\t-\tcall\n"
			   "0\t512\t0\t8\tp\t-\tvoid *\t-\tany\n"
			   "0\t576\t0\t8\tp\t-\tvoid *(*)[3]\t-\twords\n"
			   "0\t641\t1\t4\ti\t-\tint\t-\ton\n"
			   "0\t675\t5\t4\tu\t-\tunsigned int\t-\told\n"
			   "0\t704\t0\t8\ts\t12\tstruct point[3][4]\tpoint\tgrid\n"
			   "1\t704\t0\t4\ti\t-\tint\t-\tx\n"
			   "1\t736\t0\t4\ti\t-\tint\t-\ty\n"
			   "0\t1536\t0\t16\to\t-\t__int128\t-\twide\n"
			   "0\t4096\t0\t1\tu\t0\tunsigned char[0]\t-\trest\n"
			   "0\t4096\t0\t8\ts\t0\tstruct point[0]\tpoint\tpoints\n");
	check_text("atomic_t", "struct\t4\twhole\tatomic_t\n0\t0\t0\t4\ti\t-\tint\t-\tcounter\n");
}
END_TEST

START_TEST(refuses_other_names)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_btf *btf;
	struct hv_err *err;

	begin();
	integer("int", 4);
	type(FWD, "task", 0, 0, 0);
	btf = read_all();
	for (unsigned i = 0; i < 4; i++) {
		err = hv_type_text(btf, ((const char *[]){"int", "task", "", "nobody"})[i], true,
				   &text);
		ck_assert_int_eq(err->code, ENOENT);
		hv_err_free(err);
	}
	err = hv_type_text(NULL, "task", false, &text);
	ck_assert_int_eq(err->code, ENOENT);
	hv_err_free(err);
	ck_assert_uint_eq(text.len_bytes, 0);
	hv_btf_free(btf);
}
END_TEST

START_TEST(a_part_of_a_type_says_so)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_btf *btf;

	begin();
	type(UNION, "u\tn\n", 0, 0, 8);
	btf = read_all();
	ck_assert_ptr_null(hv_type_text(btf, "u\tn\n", false, &text));
	ck_assert_str_eq(text.data, "union\t8\tpart\tu?n?\n");
	hv_btf_free(btf);
}
END_TEST

static void check_too_long(const char *name)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_btf *btf = read_all();
	struct hv_err *err = hv_type_text(btf, name, true, &text);

	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, E2BIG);
	ck_assert_ptr_nonnull(strstr(err->message, ": the type has too many members"));
	ck_assert_uint_lt(text.len_bytes, HV_TYPE_TEXT_MAX + 2048);
	hv_err_free(err);
	hv_btf_free(btf);
}

START_TEST(hostile_types_end)
{
	char name[1024];

	/* contains itself */
	begin();
	type(STRUCT, "self", 2, 0, 8);
	member("a", 1, 0);
	member("b", 1, 64);
	check_too_long("self");
	/* 2^31 members */
	begin();
	for (unsigned i = 0; i < 31; i++) {
		type(STRUCT, i < 30 ? "" : "top", 2, 0, 8);
		member("", i, 0);
		member("", i, 0);
	}
	check_too_long("top");
	/* long names */
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	begin();
	integer("int", 4);
	type(STRUCT, "long", 20000, 0, 8);
	for (unsigned i = 0; i < 20000; i++)
		member(name, 1, 0);
	check_too_long("long");
	/* typedefs and pointers in a circle, and an array that is too large */
	begin();
	type(TYPEDEF, "t", 0, 0, 1);
	type(PTR, "", 0, 0, 2);
	array(4, 1u << 31);
	array(3, 4);
	type(STRUCT, "odd", 3, 0, 8);
	member("t", 1, 0);
	member("p", 2, 0);
	member("a", 4, 0);
	check_text("odd", "struct\t8\twhole\todd\n0\t0\t0\t8\tp\t-\t? "
			  "********************************\t-\tp\n");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_set_timeout(tc, 60); /* with sanitizers, on a busy host */
	tcase_add_test(tc, shows_each_kind_of_member);
	tcase_add_test(tc, refuses_other_names);
	tcase_add_test(tc, a_part_of_a_type_says_so);
	tcase_add_test(tc, hostile_types_end);
}

int main(void)
{
	return run_suite("type_text", add_tests);
}
