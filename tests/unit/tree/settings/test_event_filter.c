/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Filters on entries of one type. tests/guest/cases_filters.py compares errors with a kernel's;
 * this tests the rest. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/fake_session.h"
#include "tests/lib/run_suite.h"
#include "tree/settings/event_filter.h"

#define NR_CPUS 70

static struct entry {
	uint16_t common_type;
	uint8_t common_flags;
	uint8_t common_preempt_count;
	int32_t common_pid;
	int8_t a;
	uint8_t b;
	int16_t c;
	uint32_t d;
	int64_t e;
	uint64_t f;
	char name[8];
	uint32_t text;	   /* __data_loc */
	uint32_t relative; /* __rel_loc */
	uint32_t mask;	   /* __data_loc */
	uint8_t odd[3];
	uint8_t unused;
	char data[64];
} entry;

#define FIELD(type, name, is_signed)                                                               \
	{                                                                                          \
#name, type, offsetof(struct entry, name), sizeof(((struct entry *)0)->name), 0,   \
			0, is_signed                                                               \
	}

static struct hv_event_field common[] = {
	FIELD("unsigned short", common_type, false),
	FIELD("unsigned char", common_flags, false),
	FIELD("unsigned char", common_preempt_count, false),
	FIELD("int", common_pid, true),
};
static struct hv_event_field fields[] = {
	FIELD("s8", a, true),
	FIELD("u8", b, false),
	FIELD("short", c, true),
	FIELD("unsigned int", d, false),
	FIELD("s64", e, true),
	FIELD("unsigned long", f, false),
	FIELD("char[8]", name, true),
	FIELD("__data_loc char[]", text, true),
	FIELD("__rel_loc char[]", relative, true),
	FIELD("__data_loc cpumask_t", mask, false),
	FIELD("u8[3]", odd, false),
	{"pointed", "const char *", offsetof(struct entry, f), 8, 0, 0, false},
	{"outside", "int", sizeof(struct entry) - 2, 4, 0, 0, true},
};
static struct hv_catalogue catalogue = {.common = {common, HV_ARRAY_LEN(common)}};
static const struct hv_event_type type = {
	.system = "test",
	.name = "test",
	.fields = {fields, HV_ARRAY_LEN(fields)},
};
static struct hv_session *session;

static struct hv_event_filter *parse(const char *filter, struct hv_filter_fault *fault)
{
	const struct hv_filter_scope scope = {session->kernel, &catalogue, &type, NR_CPUS};

	*fault = (struct hv_filter_fault){0};
	return hv_event_filter_parse(&scope, filter, fault);
}

static bool passes(const char *filter)
{
	const struct hv_filter_record record = {
		.entry = {(const uint8_t *)&entry, sizeof(entry)},
		.cpu = 3,
		.comm = "bash\0\0\0\0\0\0\0\0\0\0\0",
		.kernel = session->kernel,
	};
	struct hv_filter_fault fault;
	struct hv_event_filter *f = parse(filter, &fault);
	bool result;

	ck_assert_msg(f != NULL, "%s: %s at %zu", filter, fault.why, fault.at);
	result = hv_event_filter_passes(f, &record);
	hv_event_filter_free(f);
	return result;
}

#define yes(filter) ck_assert_msg(passes(filter), "%s", filter)
#define no(filter)  ck_assert_msg(!passes(filter), "%s", filter)

static void is_wrong(const char *filter, int code, const char *why, size_t at)
{
	struct hv_filter_fault fault;

	ck_assert_msg(!parse(filter, &fault), "%s", filter);
	ck_assert_msg(fault.code == code, "%s: %d", filter, fault.code);
	ck_assert_pstr_eq(fault.why, why);
	ck_assert_msg(fault.at == at, "%s: at %zu", filter, fault.at);
}

static void set_up(void)
{
	session = hv_fake_new();
	entry = (struct entry){.common_pid = 99, .a = -1, .b = 200, .c = -300, .d = 1u << 31};
	entry.e = -5;
	entry.f = UINT64_C(1) << 63;
}

static void tear_down(void)
{
	hv_fake_free(session);
}

START_TEST(numbers)
{
	yes("a == -1");
	yes("a == 0xff"); /* only the bits of the field are compared */
	yes("a < 0");
	no("a > 0");
	yes("a <= -1 && a >= -1");
	yes("b == 200 && b != 0");
	yes("b > 100");
	yes("c < -299 && c > -301");
	yes("d == 0x80000000 && d > 1");
	yes("e == -5 && e < 0");
	yes("f == 9223372036854775808 && f > 1 && f & 0x8000000000000000");
	no("f & 0x7fffffffffffffff");
	yes("b == 0310 && common_pid == 99 && common_pid & 1");
	yes("d > 2147483647");
	no("outside == 0");
	no("outside != 0");
	no("odd == 0"); /* no number has this size */
	no("odd != 0");
}
END_TEST

/* Compares with the value of the same expression in C. */
START_TEST(operators)
{
	for (int i = 0; i < 16; i++) {
		bool a = i & 1, b = i & 2, c = i & 4, d = i & 8;

		entry.a = a;
		entry.b = b;
		entry.c = c;
		entry.d = d;
#define CHECK(expression, text) ck_assert_msg((expression) == passes(text), "%d: %s", i, text)
#define A			"a == 1"
#define B			"b==1"
#define C			"c == 1"
#define D			"d == 1"
		CHECK(a && b, A "&&" B);
		CHECK(a || b, A "||" B);
		CHECK((a && b) || (c && d), A "&&" B "||" C "&&" D);
		CHECK(a || (b && c) || d, A "||" B "&&" C "||" D);
		CHECK((a || b) && (c || d), "(" A "||" B ")&&(" C "||" D ")");
		CHECK(a && (b || c) && d, A " && ( " B " || " C " ) && " D);
		CHECK(!a && !(b || c), "!" A " && !(" B "||" C ")");
		CHECK(!(a && !(b && !(c && d))), "!(" A "&&!(" B "&&!(" C "&&" D ")))");
		CHECK(!!(!a || !!b), "!!(!" A "|| !! " B ")");
		CHECK(a && b && c && d, A "&&" B "&&" C "&&" D);
		CHECK(a || b || c || d, "((((" A ")||" B ")||" C ")||" D ")");
		CHECK(!(a || b) || (!(c || d) && a), "!(" A "||" B ")||!(" C "||" D ")&&" A);
	}
}
END_TEST

START_TEST(arrays)
{
	memcpy(entry.name, "cat\0xyz", 8);
	yes("name == \"cat\" && name == 'cat'");
	no("name == 'ca' || name == 'cats'");
	yes("name != 'dog'");
	yes("name ~ 'ca*' && name ~ '*a*' && name ~ 'c?t' && name ~ '[b-d]at' && name ~ '!d*'");
	no("name ~ 'd*' || name ~ '!c*'");
	/* The kernel matches up to the end of the array, including bytes after a NUL. */
	no("name ~ '*at'");
	yes("name ~ '*yz'");
	yes("name ~ '*xy*'");
	yes("name != ''");
	memcpy(entry.name, "fulltext", 8);
	yes("name == 'fulltext'");
	yes("name == 'fulltext and more'"); /* strncmp() */
	no("name == 'fulltex'");
	yes("name ~ 'full*'");
	no("name ~ 'fulltext and*'");
	no("name ~ '1'");
	memcpy(entry.name, "1*\0\0\0\0\0", 8);
	yes("name ~ '1*'"); /* an index in set_ftrace_filter, but text here */
	no("name ~ '1'");
}
END_TEST

START_TEST(dynamic_texts)
{
	size_t data = offsetof(struct entry, data);

	strcpy(entry.data, "one two");
	entry.text = (uint32_t)data | 8u << 16;
	entry.relative = (uint32_t)(data + 4 - offsetof(struct entry, relative) - 4) | 4u << 16;
	yes("text == 'one two' && text ~ '*two' && text ~ 'one*' && text ~ '*e t*'");
	yes("text ~ 'o*e*t?o'");
	no("text == 'one' || text ~ '*one' || text ~ '*wo t*'");
	yes("relative == 'two' && relative ~ '*wo'");
	entry.text = (uint32_t)data; /* of length 0: up to the NUL */
	yes("text == 'one two' && text ~ 'one*' && text ~ '*e t*'");
	no("text ~ '*two'");
}
END_TEST

START_TEST(hostile_texts)
{
	static const uint32_t places[] = {0xffffffff,
					  0xffff0000,
					  0x0000ffff,
					  sizeof(struct entry),
					  sizeof(struct entry) + 1,
					  0xffff0000 | (sizeof(struct entry) - 1)};

	memset(entry.data, 'x', sizeof(entry.data));
	for (size_t i = 0; i < HV_ARRAY_LEN(places); i++) {
		entry.text = entry.relative = entry.mask = places[i];
		passes("text == 'x' || text ~ 'x*' || text ~ '*x' || text ~ '*xx*' || text ~ "
		       "'x?x'");
		passes("relative == 'x' || relative ~ '*x' || relative ~ '*xx*' || relative ~ "
		       "'[x]'");
		passes("mask == CPUS{0} || mask & CPUS{0,69} || mask != CPUS{all}");
	}
	entry.text = 0x0000ffff;
	no("text != 'x'"); /* the entry has no text */
}
END_TEST

START_TEST(fields_of_the_event)
{
	yes("COMM == 'bash' && comm != 'sh' && comm ~ 'b*' && COMM ~ '*as*'");
	no("comm ~ '*sh'"); /* matched up to the end of the array */
	yes("CPU == 3 && cpu < 4 && cpu <= 3 && cpu != 4 && cpu >= 3 && cpu > -1");
	no("CPU & 3");
}
END_TEST

START_TEST(sets_of_cpus)
{
	uint64_t words[2] = {0x8, 0};

	entry.d = 3;
	yes("CPU == CPUS{3} && CPU & CPUS{3} && CPU & CPUS{1-3} && CPU != CPUS{1-3}");
	no("CPU & CPUS{0-2} || CPU == CPUS{1-3} || CPU == CPUS{2}");
	yes("d == CPUS{3} && d & CPUS{3} && d & CPUS{1,3} && d != CPUS{2} && d != CPUS{2,3}");
	no("d == CPUS{3,4} || d & CPUS{4-5}");
	entry.d = NR_CPUS;
	no("d != CPUS{2,3}"); /* no such CPU */
	memcpy(entry.data, words, sizeof(words));
	entry.mask = (uint32_t)offsetof(struct entry, data) | 16u << 16;
	yes("mask == CPUS{3} && mask & CPUS{2-4} && mask != CPUS{2-4}");
	no("mask & CPUS{4-69} || mask != CPUS{3}");
	words[1] = UINT64_C(1) << 5;
	memcpy(entry.data, words, sizeof(words));
	yes("mask == CPUS{3,69} && mask & CPUS{69}");
	words[1] |= UINT64_C(1) << 6; /* beyond the CPUs */
	memcpy(entry.data, words, sizeof(words));
	yes("mask == CPUS{3,69}");
	no("odd & CPUS{0}");
}
END_TEST

START_TEST(functions_and_pointers)
{
	hv_fake_site(session, 0xffffffff81000100, "one", NULL, 0);
	hv_fake_site(session, 0xffffffff81000200, "two", NULL, 0);
	hv_fake_print_string(session, 0xffffffff82000000, "pointed at");
	entry.f = 0xffffffff81000110;
	yes("f.function == one && f.function != two");
	yes("f.function == 0xffffffff81000150");
	no("f.function != one || f.function == two ");
	entry.f = 0xffffffff82000000;
	yes("pointed == 'pointed at' && pointed ~ '*at' && pointed ~ 'p*' && pointed != 'x'");
	entry.f = 1;
	no("pointed == 'x' || pointed != 'x'");
}
END_TEST

START_TEST(invalid_input_is_refused)
{
	char filter[600];

	is_wrong("", EINVAL, NULL, 0);
	is_wrong("a == 1 &&", EINVAL, "Meaningless filter expression", 9);
	is_wrong("a == 1 || b == 1 &&", EINVAL, "Meaningless filter expression", 19);
	is_wrong("a == 1 && !", EINVAL, "Meaningless filter expression", 11);
	is_wrong("(a == 1 && )", EPERM, NULL, 0);
	is_wrong("!", EINVAL, "No filter found", 1);
	is_wrong("f.function == nosuch", EINVAL, "Function not found", 21);
	is_wrong("pointed.ustring == 'x'", EOPNOTSUPP,
		 "Strings of user space cannot be read from outside", 20);
	is_wrong("a == CPUS{70}", EINVAL, "Invalid cpulist", 13);
	is_wrong("a == CPUSx", EINVAL, "Missing '{'", 11);
	is_wrong("a == CPUS", EINVAL, "Missing '{'", 11); /* the kernel's message */
	memset(filter, 'x', sizeof(filter));
	memcpy(filter, "name == '", 9);
	filter[9 + 256] = '\'';
	filter[9 + 257] = '\0';
	is_wrong(filter, EINVAL, "Operand too long", 9 + 257);
	filter[9 + 255] = '\'';
	filter[9 + 256] = '\0';
	no(filter);
	memset(filter, '(', sizeof(filter));
	filter[sizeof(filter) - 1] = '\0';
	is_wrong(filter, ENOENT, "Too many '('", sizeof(filter) - 2);
}
END_TEST

START_TEST(many_parentheses)
{
	char filter[HV_EVENT_FILTER_MAX + 1];
	size_t nr = (HV_EVENT_FILTER_MAX - 7) / 3;

	memset(filter, '!', 2 * nr);
	for (size_t i = 0; i < nr; i++)
		filter[2 * i + 1] = '(';
	strcpy(filter + 2 * nr, "a == -1");
	memset(filter + 2 * nr + 7, ')', nr);
	filter[3 * nr + 7] = '\0';
	ck_assert(passes(filter) == (nr % 2 == 0));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, numbers);
	tcase_add_test(tc, operators);
	tcase_add_test(tc, arrays);
	tcase_add_test(tc, dynamic_texts);
	tcase_add_test(tc, hostile_texts);
	tcase_add_test(tc, fields_of_the_event);
	tcase_add_test(tc, sets_of_cpus);
	tcase_add_test(tc, functions_and_pointers);
	tcase_add_test(tc, invalid_input_is_refused);
	tcase_add_test(tc, many_parentheses);
}

int main(void)
{
	return run_suite("event_filter", add_tests);
}
