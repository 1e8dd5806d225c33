/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hist triggers of one type: the positions of errors, values, and entries that are too short.
 * tests/guest/cases_hist.py compares many of them with a kernel. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/run_suite.h"
#include "tree/settings/hist/hist_spec.h"

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
	uint8_t odd[3];
	char data[300];
} entry;

#define FIELD(type, name, is_signed)                                                               \
	{                                                                                          \
#name, type, offsetof(struct entry, name), sizeof(((struct entry *)0)->name), 0,   \
			0, is_signed                                                               \
	}

static struct hv_event_field common[] = {
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
	FIELD("u8[3]", odd, false),
	{"pointed", "const char *", offsetof(struct entry, f), 8, 0, 0, false},
	{"outside", "int", sizeof(struct entry) - 2, 4, 0, 0, true},
	{"text_outside", "char[8]", sizeof(struct entry) - 2, 8, 0, 0, true},
	{"endless", "char[8]", 0, UINT32_MAX, 0, 0, true},
};
static const struct hv_catalogue catalogue = {.common = {common, HV_ARRAY_LEN(common)}};
static const struct hv_event_type type = {
	.system = "test",
	.name = "test",
	.fields = {fields, HV_ARRAY_LEN(fields)},
};

static const struct hv_hist_scope scope = {.catalogue = &catalogue, .type = &type};

static void set_up(void)
{
	entry = (struct entry){.common_pid = 99, .a = -1, .b = 200, .c = -300, .d = 1u << 31};
	entry.e = -5;
	entry.f = UINT64_C(1) << 63;
	memcpy(entry.name, "12345678", 8);
	entry.text = 5u << 16 | offsetof(struct entry, data);
	entry.relative =
		300u << 16 | (offsetof(struct entry, data) - 4 - offsetof(struct entry, relative));
	memcpy(entry.data, "text", 5);
}

static struct hv_hist_spec parse(const char *text)
{
	struct hv_hist_faults faults = {0};
	struct hv_hist_spec s = {0};

	ck_assert_msg(hv_hist_spec_is(text), "%s", text);
	ck_assert_msg(hv_hist_spec_parse(&scope, text, &s, &faults), "%s: %s at %zu", text,
		      faults.list[0].why, faults.list[0].at);
	return s;
}

/* A ^ in TEXT precedes the faulty character. */
static void is_wrong(const char *text, int code, const char *why)
{
	HV_AUTO_FREE char *copy = hv_strdup(text);
	struct hv_hist_faults faults = {0};
	struct hv_hist_spec s;
	char *mark = strchr(copy, '^');

	if (mark)
		memmove(mark, mark + 1, strlen(mark));
	ck_assert_msg(!hv_hist_spec_parse(&scope, copy, &s, &faults), "%s", text);
	ck_assert_msg(faults.code == code, "%s: %d", text, faults.code);
	ck_assert_msg(faults.nr == (why ? 1 : 0), "%s: %u faults", text, faults.nr);
	ck_assert_pstr_eq(faults.list[0].why, why);
	ck_assert_msg(faults.list[0].at == (mark ? (size_t)(mark - copy) : 0), "%s: at %zu", text,
		      faults.list[0].at);
}

START_TEST(invalid_input_is_refused)
{
	is_wrong("hist", EINVAL, NULL);
	is_wrong("hist: ", EINVAL, NULL);
	is_wrong("hist:vals=a", EINVAL, NULL);
	is_wrong("hist:keys=a::pause", EINVAL, NULL);
	is_wrong("hist:keys=a,b,c,d", EINVAL, NULL);
	is_wrong("hist:keys=a:vals=b,c,d", EINVAL, NULL);
	is_wrong("hist:keys=text,relative", EINVAL, NULL);
	is_wrong("hist:keys=odd", ENOMEM, NULL);
	is_wrong("hist:keys=endless", EINVAL, NULL);
	is_wrong("hist:keys=a,endless", EINVAL, NULL);
	is_wrong("hist:keys=a:size=64", EINVAL, NULL);
	is_wrong("hist:keys=a:size=131073", EINVAL, NULL);
	is_wrong("hist:keys=a:size=99999999999999999999", ERANGE, NULL);
	is_wrong("hist:keys=a if", EINVAL, NULL);
	is_wrong("hist:if a", EINVAL, NULL);
	is_wrong("hist:keys=a:^vals=", EINVAL, "Empty assignment");
	is_wrong("hist:keys=a,^no_such", EINVAL, "Couldn't find field");
	is_wrong("hist:keys=a.^junk", EINVAL, "Invalid field modifier");
	is_wrong("hist:keys=a.^execname", EINVAL, "Invalid field modifier");
	is_wrong("hist:keys=a.buckets=^0", EINVAL, "Invalid field modifier");
	is_wrong("hist:keys=a.^graph", EINVAL, "Invalid field modifier");
	is_wrong("hist:keys=b:vals=^a.sym", EINVAL, "Invalid field modifier");
	is_wrong("hist:keys=a:sort=^b.x", EINVAL, "Sort field must be a key or a val");
	is_wrong("hist:keys=a:sort=a.^x", EINVAL, "Invalid sort modifier");
	is_wrong("hist:keys=a:^sort=a,", EINVAL, "Empty sort field");
	is_wrong("hist:keys=a:^sort=a,hitcount,a", EINVAL, "Too many sort fields (Max = 2)");
	is_wrong("hist:keys=a:nohitcount", ENOENT,
		 "Non-hitcount value is required for 'nohitcount'");
	is_wrong("hist:keys=^1x", EINVAL, "Expecting numeric literal");
	is_wrong("hist:keys=a-^name", EINVAL, "String type can not be an operand in expression");
	is_wrong("hist:keys=-(^name)", EINVAL, "String type can not be an operand in expression");
	is_wrong("hist:keys=d/^0", EDOM, "Division by zero");
	is_wrong("hist:keys=-(^d)+1", EINVAL, "Unary minus not supported in sub-expressions");
	is_wrong("hist:keys=^1+2+3+4+5", EINVAL, "Too many subexpressions (3 max)");
	is_wrong("hist:keys=32+^10*3/20-4", EINVAL, "Too many subexpressions (3 max)");
	is_wrong("hist:keys=common_timestamp.usecs-d", EINVAL,
		 "Timestamp units in expression don't match");
}
END_TEST

/* Kernels without stack fields accept stacks as keys. */
START_TEST(stacks)
{
	const uint64_t stack[] = {0x1010, 0x2010, 0};
	const struct hv_hist_record record = {{(const uint8_t *)&entry, sizeof(entry)},
					      .stack = stack};
	uint64_t key[HV_HIST_KEY_BYTES_MAX / 8];
	struct hv_hist_spec s;

	is_wrong("hist:keys=a,^common_stacktrace", EINVAL, "Couldn't find field");
	is_wrong("hist:keys=a:vals=^stacktrace", EINVAL, "Couldn't find field");
	is_wrong("hist:keys=a.^stacktrace", EINVAL, "Invalid field modifier");
	is_wrong("hist:keys=^stacktrace:sort=stacktrace", EINVAL,
		 "Sort field must be a key or a val");
	s = parse("hist:keys=a,stacktrace");
	ck_assert(hv_hist_spec_needs_stack(&s));
	ck_assert_uint_eq(s.key_bytes, 8 + HV_HIST_STACK_BYTES);
	memset(key, 0xff, sizeof(key));
	hv_hist_spec_key(&s, &record, (uint8_t *)key);
	ck_assert(key[1] == 0x1010 && key[2] == 0x2010 && !key[3] && !key[16]);
	hv_hist_spec_deinit(&s);
	s = parse("hist:keys=a:vals=b");
	ck_assert(!hv_hist_spec_needs_stack(&s));
	hv_hist_spec_deinit(&s);
}
END_TEST

/* The kernel accepts this. */
START_TEST(unsupported_features)
{
	is_wrong("hist:keys=a:vals=^name", EOPNOTSUPP, "A string cannot be a value");
}
END_TEST

START_TEST(parts)
{
	struct hv_hist_spec s = parse(" !hist:key=a,name:val=hitcount,b:sort=name.descending,a:"
				      "size=129:name=x:clock=local:pause  if a == 1 ");

	ck_assert(s.removes && s.pauses && !s.continues && !s.clears && !s.has_time);
	ck_assert_uint_eq(s.nr_keys, 2);
	ck_assert_uint_eq(s.nr_values, 2);
	ck_assert_str_eq(s.values[1]->name, "b");
	ck_assert_uint_eq(s.nr_sorts, 2);
	ck_assert(s.sorts[0].by == 3 && s.sorts[0].descending);
	ck_assert(s.sorts[1].by == 2 && !s.sorts[1].descending);
	ck_assert_uint_eq(s.size, 256);
	ck_assert_str_eq(s.name, "name=x");
	ck_assert_str_eq(s.clock, "local");
	ck_assert_str_eq(s.filter, "a == 1 ");
	hv_hist_spec_deinit(&s);
	ck_assert(!hv_hist_spec_is("history:keys=a") && !hv_hist_spec_is("traceon"));
}
END_TEST

static uint64_t value_of(const char *key)
{
	const struct hv_hist_record record = {{(const uint8_t *)&entry, sizeof(entry)}, 3, 5000};
	HV_AUTO_FREE char *text = hv_format("hist:keys=%s", key);
	struct hv_hist_spec s = parse(text);
	uint64_t value;
	uint8_t bytes[HV_HIST_KEY_BYTES_MAX];

	ck_assert_uint_eq(s.key_bytes, sizeof(value));
	hv_hist_spec_key(&s, &record, bytes);
	memcpy(&value, bytes, sizeof(value));
	hv_hist_spec_deinit(&s);
	return value;
}

START_TEST(values)
{
	ck_assert_uint_eq(value_of("a"), UINT64_MAX);
	ck_assert_uint_eq(value_of("b"), 200);
	ck_assert_int_eq((int64_t)value_of("c"), -300);
	ck_assert_uint_eq(value_of("d.hex"), 1u << 31);
	ck_assert_int_eq((int64_t)value_of("e"), -5);
	ck_assert_uint_eq(value_of("pointed"), UINT64_C(1) << 63);
	ck_assert_uint_eq(value_of("outside"), 0);
	ck_assert_uint_eq(value_of("common_cpu"), 3);
	ck_assert_uint_eq(value_of("cpu"), 3);
	ck_assert_uint_eq(value_of("common_timestamp"), 5000);
	ck_assert_uint_eq(value_of("x.y.b"), 200);
	ck_assert_uint_eq(value_of("b.buckets=30"), 180);
	ck_assert_uint_eq(value_of("b.log2"), 8);
	ck_assert_uint_eq(value_of("d.log2"), 31);
	ck_assert_uint_eq(value_of("e.log2"), 64);
	ck_assert_uint_eq(value_of("outside.log2"), 0);
	ck_assert_uint_eq(value_of("b+d-1"), 199 + (UINT64_C(1) << 31));
	ck_assert_int_eq((int64_t)value_of("-(b)"), -200);
	ck_assert_uint_eq(value_of("16-8-4-2"), 2);
	ck_assert_uint_eq(value_of("64/8/4/2"), 1);
	ck_assert_uint_eq(value_of("4*3/2*2"), 12);
	ck_assert_uint_eq(value_of("4+6/2-2"), 5);
	ck_assert_uint_eq(value_of("b/outside"), UINT64_MAX);
	/* 200 / 3: the kernel's multiplication yields one more. */
	ck_assert_uint_eq(value_of("b/3"), 67);
	ck_assert_uint_eq(value_of("d/3"), (1u << 31) / 3);
}
END_TEST

static void has_text(const char *key, const char *want)
{
	const struct hv_hist_record record = {{(const uint8_t *)&entry, sizeof(entry)}, 0, 0};
	HV_AUTO_FREE char *text = hv_format("hist:keys=%s", key);
	struct hv_hist_spec s = parse(text);
	uint8_t bytes[HV_HIST_KEY_BYTES_MAX];

	memset(bytes, 'x', sizeof(bytes));
	hv_hist_spec_key(&s, &record, bytes);
	ck_assert_str_eq((const char *)bytes, want);
	for (size_t i = strlen(want); i < s.key_bytes; i++)
		ck_assert_uint_eq(bytes[i], 0);
	hv_hist_spec_deinit(&s);
}

START_TEST(texts)
{
	char longest[256] = "";

	has_text("name", "1234567");
	has_text("text", "text");
	has_text("relative", "text");
	has_text("text_outside", "");
	memset(entry.data, 'a', sizeof(entry.data));
	memset(longest, 'a', sizeof(longest) - 1);
	has_text("relative", longest);
	has_text("text", "aaaaa");
	entry.text += 1000u << 16;
	has_text("text", "");
	entry.relative = 0xffffffff;
	has_text("relative", "");
}
END_TEST

static void alike(const char *a, const char *b, bool want)
{
	struct hv_hist_spec first = parse(a), second = parse(b);

	ck_assert_msg(hv_hist_spec_is_like(&first, &second) == want, "%s, %s", a, b);
	hv_hist_spec_deinit(&first);
	hv_hist_spec_deinit(&second);
}

START_TEST(equal_triggers_are_recognized)
{
	alike("hist:keys=a", "!hist:keys=a:size=200:vals=hitcount:pause", true);
	alike("hist:keys=a.buckets=2", "hist:keys=a.buckets=3", true);
	alike("hist:keys=a", "hist:keys=b", false);
	alike("hist:keys=a", "hist:keys=a.hex", false);
	alike("hist:keys=a", "hist:keys=a,b", false);
	alike("hist:keys=a", "hist:keys=a:vals=b", false);
	alike("hist:keys=a", "hist:keys=a:sort=a", false);
	alike("hist:keys=a:sort=a", "hist:keys=a:sort=a.descending", false);
	alike("hist:keys=a", "hist:keys=common_cpu", false);
}
END_TEST

START_TEST(the_command_in_error_messages)
{
	static const char *const commands[][2] = {
		{"hist", "hist:"},
		{"hist:", "hist:"},
		{" !hist: keys=a", "hist:keys=a"},
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(commands); i++) {
		HV_AUTO_FREE char *command = hv_hist_spec_command(commands[i][0]);

		ck_assert_str_eq(command, commands[i][1]);
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, NULL);
	tcase_add_test(tc, the_command_in_error_messages);
	tcase_add_test(tc, invalid_input_is_refused);
	tcase_add_test(tc, stacks);
	tcase_add_test(tc, unsupported_features);
	tcase_add_test(tc, parts);
	tcase_add_test(tc, values);
	tcase_add_test(tc, texts);
	tcase_add_test(tc, equal_triggers_are_recognized);
}

int main(void)
{
	return run_suite("hist_spec", add_tests);
}
