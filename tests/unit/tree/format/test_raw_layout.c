/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of trace_pipe_raw with the formats of several kernels, and with hostile formats. */
#include <string.h>

#include "kernel/events/catalogue.h"
#include "tests/lib/run_suite.h"
#include "tree/format/event_format.h"
#include "tree/format/raw_page.h"

static struct hv_event_field common[] = {
	{"common_type", "unsigned short", .off = 0, .size_bytes = 2},
	{"common_flags", "unsigned char", .off = 2, .size_bytes = 1},
	{"common_preempt_count", "unsigned char", .off = 3, .size_bytes = 1},
	{"common_pid", "int", .off = 4, .size_bytes = 4},
	{"common_preempt_lazy_count", "unsigned char", .off = 8, .size_bytes = 1},
};

static struct hv_event_field fields[8];
static struct hv_event_type type = {.system = "ftrace", .fields = {fields, 0}, .has_fields = true};
static struct hv_catalogue c;
static struct hv_raw_layout layout;
static struct hv_raw_page page;

static uint8_t *empty_bytes(void)
{
	static uint8_t bytes[HV_RAW_PAGE_LEN];

	return memset(bytes, 0, sizeof(bytes));
}

static void begin(const char *name, uint32_t id, size_t nr_common)
{
	hv_catalogue_deinit(&c);
	type.name = name;
	type.id = id;
	type.fields.nr = 0;
	c.common = (struct hv_event_fields){common, nr_common};
}

static void field(const char *name, uint32_t off, uint32_t size)
{
	fields[type.fields.nr++] =
		(struct hv_event_field){.name = name, .type = "", .off = off, .size_bytes = size};
}

/* Makes the layout of a guest whose only type is TYPE. */
static void make(void)
{
	c.types = hv_realloc_array(c.types, 1, sizeof(type));
	c.types[0] = type;
	c.nr = 1;
	hv_catalogue_index(&c);
	hv_raw_layout_init(&layout, &c);
}

static void write_one(const struct hv_event *e)
{
	hv_raw_page_init(&page, &layout, empty_bytes(), HV_RAW_DATA_LEN);
	ck_assert(hv_raw_page_add(&page, e));
}

/* Returns the LEN bytes at OFF of the payload. */
static uint64_t get(size_t off, size_t len)
{
	uint64_t value = 0;

	memcpy(&value, page.bytes + HV_RAW_HEAD_LEN + 4 + off, len);
	return value;
}

/* The format of 5.10. */
static void begin_return(void)
{
	begin("funcgraph_exit", 10, 4);
	field("func", 8, 8);
	field("overrun", 16, 8);
	field("calltime", 24, 8);
	field("rettime", 32, 8);
	field("depth", 40, 4);
}

static void is_known(enum hv_event_kind kind)
{
	ck_assert_mem_eq(&layout.records[kind], &hv_raw_layout_known.records[kind],
			 sizeof(layout.records[kind]));
}

START_TEST(known_formats)
{
	hv_raw_layout_init(&layout, hv_tracer_types());
	ck_assert_mem_eq(&layout, &hv_raw_layout_known, sizeof(layout));
}
END_TEST

START_TEST(return_of_5_10)
{
	struct hv_event e = {.kind = HV_EVENT_GRAPH_EXIT, .depth = 3, .overrun = 7};

	e.ip.v = 0xffffffff81000010;
	e.call_ns = 11;
	e.time_ns = 12;
	begin_return();
	make();
	write_one(&e);
	ck_assert_uint_eq(page.len_bytes, 4 + 44);
	ck_assert_uint_eq(get(0, 2), 10);
	ck_assert_uint_eq(get(8, 8), e.ip.v);
	ck_assert_uint_eq(get(16, 8), 7);
	ck_assert_uint_eq(get(24, 8), 11);
	ck_assert_uint_eq(get(32, 8), 12);
	ck_assert_uint_eq(get(40, 4), 3);
	is_known(HV_EVENT_GRAPH_ENTRY);
}
END_TEST

/* The field follows all fields of the kernel, at the offset that the format shows. */
START_TEST(the_hosts_time_of_a_return)
{
	struct hv_event e = {
		.kind = HV_EVENT_GRAPH_EXIT, .depth = 3, .time_ns = 12, .host_ns = 1ull << 33};
	struct hv_raw_more more = {0};

	begin_return();
	make();
	ck_assert(hv_raw_layout_add(&layout, HV_RAW_HOST, &more));
	ck_assert_uint_eq(more.list[0].off, 48);
	ck_assert_uint_eq(more.list[0].size_bytes, 8);
	write_one(&e);
	ck_assert_uint_eq(page.len_bytes, 4 + 56);
	ck_assert_uint_eq(get(32, 8), 12);
	ck_assert_uint_eq(get(40, 8), 3);
	ck_assert_uint_eq(get(more.list[0].off, 8), e.host_ns);
	ck_assert(!hv_raw_layout_add(&layout, HV_RAW_HOST, &more));

	/* A layout made from that format has the field. */
	field(more.list[0].name, more.list[0].off, more.list[0].size_bytes);
	make();
	ck_assert_uint_eq(layout.records[HV_EVENT_GRAPH_EXIT].len_bytes, 56);
	write_one(&e);
	ck_assert_uint_eq(get(48, 8), e.host_ns);
}
END_TEST

/* The kernel's format lacks the field, so hvtrace adds it before the host's time. */
START_TEST(the_value_of_a_return)
{
	struct hv_event e = {.kind = HV_EVENT_GRAPH_EXIT,
			     .retval = 1ull << 40,
			     .has_retval = true,
			     .host_ns = 7};
	struct hv_raw_more more = {0};

	layout = hv_raw_layout_known;
	ck_assert(hv_raw_layout_add(&layout, HV_RAW_RETVAL, &more));
	ck_assert(!hv_raw_layout_add(&layout, HV_RAW_RETVAL, &more));
	ck_assert(hv_raw_layout_add(&layout, HV_RAW_HOST, &more));
	ck_assert_uint_eq(more.nr, 2);
	ck_assert_str_eq(more.list[0].name, "retval");
	ck_assert_uint_eq(more.list[0].off, 40);
	ck_assert_uint_eq(more.list[1].off, 48);
	write_one(&e);
	ck_assert_uint_eq(get(40, 8), e.retval);
	ck_assert_uint_eq(get(48, 8), 7);
}
END_TEST

START_TEST(no_room_for_the_hosts_time)
{
	struct hv_raw_more more = {0};

	begin_return();
	field("unknown", 44, 50);
	make();
	ck_assert(!hv_raw_layout_add(&layout, HV_RAW_HOST, &more));
	ck_assert_uint_eq(layout.records[HV_EVENT_GRAPH_EXIT].len_bytes, 94);
}
END_TEST

/* The fast path of most events does not write the field, so returns must not take it. */
START_TEST(the_hosts_time_is_in_every_return)
{
	struct hv_event e = {.kind = HV_EVENT_GRAPH_EXIT, .time_ns = 12, .host_ns = 7};
	struct hv_raw_more more = {0};

	layout = hv_raw_layout_known;
	ck_assert(hv_raw_layout_add(&layout, HV_RAW_HOST, &more));
	ck_assert_uint_eq(more.list[0].off, 40);
	write_one(&e);
	ck_assert(hv_raw_page_add(&page, &e));
	ck_assert_uint_eq(get(40, 8), 7);
	ck_assert_uint_eq(get(4 + 48 + 40, 8), 7);
}
END_TEST

START_TEST(call_of_7_2)
{
	struct hv_event e = {.kind = HV_EVENT_GRAPH_ENTRY, .depth = 3};

	begin("funcgraph_entry", 11, 4);
	field("func", 8, 8);
	field("depth", 16, 8);
	field("args", 24, 0);
	make();
	memset(&page, 0xff, sizeof(page));
	write_one(&e);
	ck_assert_uint_eq(page.len_bytes, 4 + 24);
	ck_assert_uint_eq(get(16, 8), 3);
}
END_TEST

START_TEST(marker_of_preempt_rt)
{
	struct hv_event e = {
		.kind = HV_EVENT_PRINT, .text = "hello", .text_len = 5, .lazy_depth = 2};

	begin("print", 5, 5);
	field("ip", 16, 8);
	field("buf", 24, 0);
	make();
	write_one(&e);
	ck_assert_uint_eq(page.len_bytes, 4 + 32);
	ck_assert_uint_eq(get(8, 1), 2);
	ck_assert_str_eq((char *)page.bytes + HV_RAW_HEAD_LEN + 4 + 24, "hello\n");
}
END_TEST

START_TEST(id_of_raw_data)
{
	struct hv_event e = {.kind = HV_EVENT_RAW_DATA, .text = "abcdxyz", .text_len = 7};

	begin("raw_data", 16, 4);
	field("id", 8, 4);
	field("buf", 12, 0);
	make();
	write_one(&e);
	ck_assert_uint_eq(get(0, 2), 16);
	ck_assert_uint_eq(page.len_bytes, 4 + 16);
	ck_assert_mem_eq(page.bytes + HV_RAW_HEAD_LEN + 4 + 8, "abcdxyz\0", 8);
}
END_TEST

START_TEST(callers_of_a_stack)
{
	const struct hv_gva callers[] = {hv_gva(0x10), hv_gva(0x20)};
	struct hv_event e = {.kind = HV_EVENT_STACK, .callers = callers, .nr_callers = 2};

	begin("kernel_stack", 4, 4);
	field("size", 8, 4);
	field("caller", 16, 64);
	make();
	is_known(HV_EVENT_STACK);
	write_one(&e);
	ck_assert_uint_eq(page.len_bytes, 4 + 32);
	ck_assert_uint_eq(get(8, 8), 2);
	ck_assert_uint_eq(get(24, 8), 0x20);
}
END_TEST

/* Formats that no kernel can have are ignored. */
START_TEST(impossible_formats_are_ignored)
{
	static const struct {
		uint32_t off, size;
	} bad[] = {{UINT32_MAX, 8}, {97, 8}, {90, 8}, {8, 3}, {8, 0}, {8, UINT32_MAX}, {255, 1}};

	for (size_t i = 0; i < HV_ARRAY_LEN(bad); i++) {
		begin("function", 1, 4);
		field("ip", bad[i].off, bad[i].size);
		field("parent_ip", 16, 8);
		make();
		is_known(HV_EVENT_FUNCTION);
	}
	begin("function", 1, 4);
	field("ip", 8, 8);
	make();
	is_known(HV_EVENT_FUNCTION);
	begin("function", 0x10002, 4);
	field("ip", 8, 8);
	field("parent_ip", 16, 8);
	make();
	is_known(HV_EVENT_FUNCTION);
	field("unknown", 24, UINT32_MAX);
	type.id = 1;
	make();
	is_known(HV_EVENT_FUNCTION);
	begin("print", 5, 4);
	field("ip", 8, 8);
	field("buf", 256 + 24, 0);
	make();
	is_known(HV_EVENT_PRINT);
	begin("function", 1, 0);
	field("ip", 8, 8);
	field("parent_ip", 16, 8);
	make();
	is_known(HV_EVENT_FUNCTION);
	hv_catalogue_deinit(&c);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, known_formats);
	tcase_add_test(tc, return_of_5_10);
	tcase_add_test(tc, the_hosts_time_of_a_return);
	tcase_add_test(tc, the_value_of_a_return);
	tcase_add_test(tc, no_room_for_the_hosts_time);
	tcase_add_test(tc, the_hosts_time_is_in_every_return);
	tcase_add_test(tc, call_of_7_2);
	tcase_add_test(tc, marker_of_preempt_rt);
	tcase_add_test(tc, id_of_raw_data);
	tcase_add_test(tc, callers_of_a_stack);
	tcase_add_test(tc, impossible_formats_are_ignored);
}

int main(void)
{
	return run_suite("raw_layout", add_tests);
}
