/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries of the guest's own events: built from data records, and split into data records. */
#include <check.h>

#include "tests/lib/run_suite.h"
#include "tracer/events/decode.h"

#define KIND(kind)   ((uint64_t)(kind) << HV_RECORD_KIND_SHIFT)
#define DEPTH(depth) ((uint64_t)(depth) << HV_RECORD_DEPTH_SHIFT)
#define CONTEXT	     (UINT64_C(0x0246) << 32 | 0x80010203)

static const struct hv_decode decode = {.arch = &hv_arch_x86_64};

/* Bits that a ring clears must be 0. */
static void check_zeros(const struct hv_record *record)
{
	for (unsigned i = 0; i < 4; i++)
		ck_assert_uint_eq(record->word[i] & HV_RECORD_ZEROS, 0);
}

/* Every byte of the data, and the fields that the host fills in before it. */
START_TEST(an_entry_is_put_together)
{
	const struct hv_record data[2] = {
		{{7, 0x2222222222222222, 0x3fffffffffffffff,
		  KIND(HV_RECORD_DATA) | DEPTH(0) | 0xb0a09080 |
			  UINT64_C(2) << HV_DATA_SECOND_SHIFT |
			  UINT64_C(3) << HV_DATA_FIRST_SHIFT}},
		{{7, 1, 2, KIND(HV_RECORD_DATA) | DEPTH(1) | 0x00000003}},
	};
	const struct hv_record record = {
		{7, 314 | 36u << HV_EVENT_LEN_SHIFT, 0, KIND(HV_RECORD_EVENT) | DEPTH(2)}};
	static const uint8_t wanted[36] = {
		0x3a, 0x01, 0x05, 0x21, 0x67, 0x12, 0x00, 0x00, 0x22, 0x22, 0x22, 0x22,
		0x22, 0x22, 0x22, 0xe2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbf,
		0x80, 0x90, 0xa0, 0xb0, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	};
	struct hv_event event = {.id = 314, .pid = 4711, .flags = 5, .preempt_depth = 1};
	uint8_t entry[HV_ENTRY_LEN_MAX];
	struct hv_decode d = decode;

	event.migrate_depth = 2;
	event.lazy_depth = 9;
	ck_assert(hv_record_has_entry(&record));
	hv_decode_entry(&d, &record, data, &event, entry);
	ck_assert_ptr_eq(event.entry.data, entry);
	ck_assert_uint_eq(event.entry.len_bytes, sizeof(wanted));
	ck_assert_mem_eq(entry, wanted, sizeof(wanted));
	d.lazy_count_off = 8;
	hv_decode_entry(&d, &record, data, &event, entry);
	ck_assert_uint_eq(entry[8], 9);
}
END_TEST

/* Entries of all lengths survive the conversion to records and back. */
START_TEST(an_entry_is_taken_apart)
{
	const struct hv_record raw = {
		{9, 20 | 64u << HV_EVENT_LEN_SHIFT, 7, KIND(HV_RECORD_EVENT) | DEPTH(3) | CONTEXT}};
	static struct hv_record list[HV_DATA_RECORDS_MAX + 1];
	uint8_t wanted[HV_ENTRY_LEN_MAX], entry[HV_ENTRY_LEN_MAX + HV_DATA_LEN];

	for (unsigned i = 0; i < sizeof(wanted); i++)
		wanted[i] = (uint8_t)(i * 37 | (i % 8 == 7 ? 0xc0 : 0));
	for (unsigned len = HV_ENTRY_HEADER_LEN; len <= sizeof(wanted);
	     len += len == 120 ? sizeof(wanted) - 120 : 1) {
		const struct hv_event own = {.id = 314, .entry = {wanted, len}};
		unsigned nr = hv_encode_entry(&raw, &own, list);
		struct hv_event event = {.id = 314};

		ck_assert(hv_record_has_entry(&list[nr - 1]));
		ck_assert_uint_eq(hv_record_number(&list[nr - 1]), nr - 1);
		ck_assert_uint_eq(hv_record_event_id(&list[nr - 1]), 314);
		ck_assert_uint_eq(list[nr - 1].word[2], 7);
		for (unsigned i = 0; i < nr; i++) {
			check_zeros(&list[i]);
			ck_assert_uint_eq(hv_record_tsc(&list[i]), 9);
			ck_assert_uint_eq(hv_record_number(&list[i]), i);
		}
		hv_decode_entry(&decode, &list[nr - 1], list, &event, entry);
		ck_assert_uint_eq(event.entry.len_bytes, len);
		ck_assert_mem_eq(entry + 8, wanted + 8, len - 8);
	}
}
END_TEST

#define WORD_BITS ((UINT64_C(1) << HV_WORD_BITS) - 1)

/* The guest chooses where the entry ends. */
START_TEST(results_follow_an_entry)
{
	static const struct {
		uint64_t end;
		unsigned len, results; /* length of the entry; offset of the results, 0: none */
	} cases[] = {{21, 21, 24},
		     {24, 24, 24},
		     {8, 8, 8},
		     {40, 40, 40},
		     {39, 39, 40},
		     {41, 48, 0},
		     {7, 48, 0},
		     {0, 48, 0},
		     {48, 48, 0},
		     {UINT64_MAX, 48, 0},
		     {UINT64_MAX - 6, 48, 0}};
	struct hv_record record = {{7, 314 | (48u | HV_EVENT_RESULTS) << HV_EVENT_LEN_SHIFT, 0,
				    KIND(HV_RECORD_EVENT) | DEPTH(2)}};
	uint8_t entry[HV_ENTRY_LEN_MAX];

	ck_assert(hv_record_has_entry(&record));
	for (unsigned i = 0; i < HV_ARRAY_LEN(cases); i++) {
		/* The end is in the last 8 of 40 bytes: 12 to 19 of the second record. */
		struct hv_record data[2] = {
			{{7, 0, 0, KIND(HV_RECORD_DATA)}},
			{{7, 0, (cases[i].end & UINT32_MAX) << 32 & WORD_BITS,
			  KIND(HV_RECORD_DATA) | DEPTH(1) | cases[i].end >> 32 |
				  (cases[i].end >> 30 & 3) << HV_DATA_SECOND_SHIFT}}};
		struct hv_event event = {.id = 314};

		hv_decode_entry(&decode, &record, data, &event, entry);
		ck_assert_uint_eq(event.entry.len_bytes, cases[i].len);
		ck_assert_uint_eq(event.results_len, cases[i].results ? 40 - cases[i].results : 0);
		ck_assert(event.results == (cases[i].results ? entry + cases[i].results : NULL));
	}
	record.word[1] = 314 | (12u | HV_EVENT_RESULTS) << HV_EVENT_LEN_SHIFT;
	record.word[3] = KIND(HV_RECORD_EVENT) | DEPTH(1);
	ck_assert(hv_record_has_entry(&record));
	for (unsigned i = 0; i < 2; i++) {
		struct hv_event event = {.id = 314};

		hv_decode_entry(&decode, &record, &(struct hv_record){0}, &event, entry);
		ck_assert_uint_eq(event.entry.len_bytes, 12);
		ck_assert_uint_eq(event.results_len, 0);
	}
}
END_TEST

START_TEST(an_entry_fills_its_data)
{
	for (unsigned word = 0; word <= UINT16_MAX; word++) {
		unsigned len = word & (HV_EVENT_RESULTS - 1);
		unsigned fits = (len + 11) / 20; /* as the trampoline computes it */

		for (unsigned nr = fits ? fits - 1 : 0; nr <= fits + 1 && nr <= 0x1ff; nr++) {
			struct hv_record r = {{0, (uint64_t)word << HV_EVENT_LEN_SHIFT, 0,
					       KIND(HV_RECORD_EVENT) | DEPTH(nr)}};

			ck_assert(hv_record_has_entry(&r) ==
				  (nr == fits && len >= 8 && len <= HV_ENTRY_LEN_MAX));
		}
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, an_entry_is_put_together);
	tcase_add_test(tc, an_entry_is_taken_apart);
	tcase_add_test(tc, results_follow_an_entry);
	tcase_add_test(tc, an_entry_fills_its_data);
}

int main(void)
{
	return run_suite("entry", add_tests);
}
