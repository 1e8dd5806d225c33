/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The formats of host events, and their conversion to records and back. */
#include <check.h>
#include <string.h>

#include "tests/lib/run_suite.h"
#include "tracer/events/host_event.h"

#define COMMON                                                                                     \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char format[] = "name: sched_waking\nID: 317\nformat:\n" COMMON
			     "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:1;\n"
			     "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
			     "\tfield:unsigned long rip;\toffset:32;\tsize:8;\tsigned:0;\n"
			     "\nprint fmt: \"comm=%s pid=%d\", REC->comm, REC->pid\n";

START_TEST(a_format)
{
	struct hv_host_format f;
	const struct hv_event_field *field;

	ck_assert(hv_host_format_parse(format, &f));
	ck_assert_uint_eq(f.id, 317);
	ck_assert_str_eq(f.print_fmt, "\"comm=%s pid=%d\", REC->comm, REC->pid");
	ck_assert_uint_eq(f.fields.nr, 3);
	field = &f.fields.list[0];
	ck_assert_str_eq(field->name, "comm");
	ck_assert_str_eq(field->type, "char[16]");
	ck_assert_int_eq(field->len, 16);
	ck_assert(field->is_signed);
	field = &f.fields.list[2];
	ck_assert_str_eq(field->name, "rip");
	ck_assert_str_eq(field->type, "unsigned long");
	ck_assert_uint_eq(field->off, 32);
	ck_assert_uint_eq(field->size_bytes, 8);
	ck_assert_uint_eq(hv_host_format_u32(&f, "pid"), 24);
	ck_assert_uint_eq(hv_host_format_u32(&f, "rip"), 0);
	ck_assert_uint_eq(hv_host_format_u32(&f, "next_pid"), 0);
	hv_host_format_deinit(&f);
}
END_TEST

START_TEST(no_formats)
{
	static const char *const texts[] = {
		"",
		"name: x\n",
		"ID: 3\nprint fmt: \"\"\n",
		"ID: 3\n\tfield:int;\toffset:8;\tsize:4;\tsigned:1;\nprint fmt: \"\"\n",
		"ID: 3\n\tfield:int a;\toffset:8;\nprint fmt: \"\"\n",
		"ID: 3\n\tfield:int a[;\toffset:8;\tsize:4;\tsigned:1;\nprint fmt: \"\"\n",
		/* entries whose common fields differ from the guest's */
		("ID: 3\n\tfield:int common_pid;\toffset:8;\tsize:4;\tsigned:1;\n"
		 "\tfield:int a;\toffset:12;\tsize:4;\tsigned:1;\nprint fmt: \"\"\n"),
		"ID: 3\n\tfield:int a;\toffset:4;\tsize:4;\tsigned:1;\nprint fmt: \"\"\n",
	};
	struct hv_host_format f;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		ck_assert_msg(!hv_host_format_parse(texts[i], &f), "text %zu", i);
}
END_TEST

START_TEST(records_and_back)
{
	uint8_t entry[HV_HOST_ENTRY_MAX], back[HV_ENTRY_LEN_MAX];
	struct hv_record records[HV_HOST_RECORDS_MAX];
	const struct hv_decode decode = {0};
	struct hv_event event = {.id = HV_HOST_ID_FIRST + 1};
	uint32_t pid = 4711;
	unsigned nr;

	for (size_t len = HV_ENTRY_HEADER_LEN + 1; len <= sizeof(entry); len++) {
		for (size_t i = 0; i < len; i++)
			entry[i] = (uint8_t)(0xf0 ^ i * 7);
		entry[2] = HV_TRACE_IRQS_OFF;
		entry[3] = 1;
		memcpy(entry + 4, &pid, sizeof(pid));
		nr = hv_host_event_encode(12345, HV_HOST_ID_FIRST + 1, (struct hv_span){entry, len},
					  records);
		ck_assert_uint_le(nr, HV_HOST_RECORDS_MAX);
		for (unsigned i = 0; i < nr; i++)
			for (unsigned word = 0; word < 4; word++)
				ck_assert(!(records[i].word[word] & HV_RECORD_ZEROS));
		ck_assert_uint_eq(hv_record_tsc(&records[nr - 1]), 12345);
		ck_assert(hv_record_has_entry(&records[nr - 1]));
		hv_host_event_decode(&records[nr - 1], &event);
		hv_decode_entry(&decode, &records[nr - 1], records, &event, back);
		ck_assert_uint_eq(event.pid, 4711);
		ck_assert_uint_eq(event.flags, HV_TRACE_IRQS_OFF);
		ck_assert_uint_eq(event.preempt_depth, 1);
		ck_assert_str_eq(event.comm, HV_COMM_HOST);
		ck_assert_uint_eq(event.entry.len_bytes, len);
		ck_assert_mem_eq(back + 2, entry + 2, len - 2);
	}
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, a_format);
	tcase_add_test(tc, no_formats);
	tcase_add_test(tc, records_and_back);
}

int main(void)
{
	return run_suite("host_format", add);
}
