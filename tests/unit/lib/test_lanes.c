/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/lanes.h"

#include "lib/format.h"
#include "tests/lib/run_suite.h"

#define PAGE_BYTES 256

/* Makes a page with NR events at TIME_NS, TIME_NS + 10, ... */
static struct hv_span page_of(uint64_t time_ns, unsigned nr, uint64_t flags)
{
	static uint8_t page[PAGE_BYTES];
	uint64_t commit = (nr * 8u) | flags;

	memset(page, 0, sizeof(page));
	memcpy(page, &time_ns, 8);
	memcpy(page + 8, &commit, 8);
	for (unsigned i = 0; i < nr; i++)
		memcpy(page + 16 + 8 * i, &(uint32_t){1 | (i ? 10 : 0) << 5}, 4);
	return (struct hv_span){page, sizeof(page)};
}

static void expect(struct lanes *l, const uint64_t *times, unsigned nr)
{
	struct lane_event e;

	for (unsigned i = 0; i < nr; i++) {
		ck_assert(lanes_can_deliver(l));
		ck_assert(lanes_next(l, &e));
		ck_assert_uint_eq(e.time_ns, times[i]);
	}
	ck_assert(!lanes_can_deliver(l));
	ck_assert(!lanes_next(l, &e));
}

START_TEST(events_wait_for_earlier_ones_of_other_vcpus)
{
	struct lanes l;

	ck_assert(lanes_init(&l, 2));
	lanes_begin_turn(&l);
	ck_assert(lanes_add(&l, 0, page_of(1000, 3, 0)));
	lanes_end_turn(&l);
	expect(&l, NULL, 0);
	ck_assert(lanes_have_events(&l));
	lanes_begin_turn(&l);
	ck_assert(lanes_add(&l, 1, page_of(995, 3, 0)));
	lanes_end_turn(&l);
	expect(&l, (uint64_t[]){995, 1000}, 2);
	/* A turn without pages delivers the rest. */
	lanes_begin_turn(&l);
	lanes_end_turn(&l);
	expect(&l, (uint64_t[]){1005, 1010, 1015, 1020}, 4);
	ck_assert(!lanes_have_events(&l));
	lanes_deinit(&l);
}
END_TEST

START_TEST(a_vcpu_with_more_pages_holds_the_others_back)
{
	struct lanes l;

	ck_assert(lanes_init(&l, 2));
	lanes_begin_turn(&l);
	ck_assert(lanes_add(&l, 0, page_of(9000, 1, 0)));
	lanes_end_turn(&l);
	lanes_begin_turn(&l);
	ck_assert(lanes_add(&l, 1, page_of(1000, 2, 0)));
	l.list[1].has_more = true;
	lanes_end_turn(&l);
	expect(&l, (uint64_t[]){1000}, 1);
	lanes_deinit(&l);
}
END_TEST

START_TEST(loss_is_reported_once)
{
	struct lane_event e;
	struct lanes l;

	ck_assert(lanes_init(&l, 1));
	lanes_begin_turn(&l);
	ck_assert(lanes_add(&l, 0, page_of(1000, 1, 0)));
	ck_assert(lanes_add(&l, 0, page_of(2000, 2, 1u << 31)));
	lanes_begin_turn(&l);
	lanes_end_turn(&l);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert(lanes_next(&l, &e));
		ck_assert_int_eq(e.has_lost, i == 1);
	}
	lanes_deinit(&l);
}
END_TEST

/* A hostile service reports many vCPUs and sends pages endlessly. */
START_TEST(memory_is_bounded)
{
	struct lanes l;
	unsigned nr = 0;

	ck_assert(lanes_init(&l, 4096));
	ck_assert_uint_le(l.max_bytes * l.nr, 256u << 20);
	lanes_begin_turn(&l);
	while (!lanes_is_full(&l, 5)) {
		ck_assert(lanes_add(&l, 5, page_of(1000, 1, 0)));
		nr++;
	}
	ck_assert_uint_eq(nr, l.max_bytes / PAGE_BYTES);
	/* Not a page. */
	ck_assert(lanes_add(&l, 6, (struct hv_span){(const uint8_t *)"x", 1}));
	ck_assert_ptr_null(l.list[6].first);
	lanes_deinit(&l);
}
END_TEST

START_TEST(fields_of_a_format)
{
	static const char text[] = "name: function\nID: 7\nformat:\n"
				   "\tfield:unsigned long parent_ip;\toffset:16;\tsize:8;\n"
				   "\tfield:void *ip;\toffset:8;\tsize:8;\n"
				   "\tfield:char comm[16];\toffset:24;\tsize:16;\n"
				   "\tfield:u8 far;\toffset:99999;\tsize:1;\n"
				   "\tfield:int short_line;\toffset:4";
	const uint8_t entry[24] = {[8] = 0x34, [9] = 0x12};
	struct format_field f;
	uint64_t value;
	uint16_t id = 0;

	ck_assert(format_id(text, &id));
	ck_assert_uint_eq(id, 7);
	ck_assert(format_field(text, "ip", &f));
	ck_assert_uint_eq(f.off, 8);
	ck_assert(format_value(&f, (struct hv_span){entry, sizeof(entry)}, &value));
	ck_assert_uint_eq(value, 0x1234);
	ck_assert(!format_value(&f, (struct hv_span){entry, 15}, &value));
	ck_assert(format_field(text, "parent_ip", &f));
	ck_assert_uint_eq(f.off, 16);
	ck_assert(!format_field(text, "comm[16]", &f));
	ck_assert(!format_field(text, "far", &f));
	ck_assert(!format_field(text, "short_line", &f));
	ck_assert(!format_field(text, "nosuch", &f));
	ck_assert(!format_field("", "x", &f));
	ck_assert(!format_id("", &id));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, events_wait_for_earlier_ones_of_other_vcpus);
	tcase_add_test(tc, a_vcpu_with_more_pages_holds_the_others_back);
	tcase_add_test(tc, loss_is_reported_once);
	tcase_add_test(tc, memory_is_bounded);
	tcase_add_test(tc, fields_of_a_format);
}

int main(void)
{
	return run_suite("lanes", add_tests);
}
