/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Durations from an event to the one that ends it, in pages of two vCPUs. */
#include <check.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/guard.h"
#include "export/export.h"
#include "kernel/events/catalogue.h"
#include "tests/lib/run_suite.h"
#include "tree/format/raw_page.h"

#define FORMAT(name, id)                                                                           \
	"name: " name "\nID: " id "\nformat:\n"                                                    \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"                               \
	"\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n"

#define NUMBER(name, off, size)                                                                    \
	"\tfield:unsigned long long " name ";\toffset:" off ";\tsize:" size ";\tsigned:0;\n"
/* The event of a return, with the time that the host took. */
#define RETURNS                                                                                    \
	"name: funcgraph_exit\nID: 10\nformat:\n" NUMBER("common_type", "0", "2")                  \
		NUMBER("common_flags", "2", "1") NUMBER("common_preempt_count", "3", "1")          \
			NUMBER("common_pid", "4", "4") NUMBER("func", "8", "8")                    \
				NUMBER("depth", "16", "4") NUMBER("overrun", "20", "4")            \
					NUMBER("calltime", "24", "8") NUMBER("rettime", "32", "8") \
						NUMBER("host_ns", "40", "8") "\nprint fmt: \"\"\n"

enum { BEGIN = 300, END };

static struct hv_export *x;
static int out;

static void open_with_clock(const char *name, const char *clock)
{
	static const char begins[] = FORMAT("irq_handler_entry", "300");
	static const char ends[] = FORMAT("irq_handler_exit", "301");
	static const char returns[] = RETURNS;
	static const struct hv_export_event events[] = {
		{"irq", {begins, sizeof(begins) - 1}},
		{"irq", {ends, sizeof(ends) - 1}},
		{"ftrace", {returns, sizeof(returns) - 1}},
	};
	const struct hv_export_head head = {
		.nr_cpus = 2,
		.page_bytes = HV_RAW_PAGE_LEN,
		.clock = clock,
		.events = events,
		.nr_events = HV_ARRAY_LEN(events),
	};
	struct hv_export_config config = {.path = "-"};

	config.fd = out = memfd_create("histogram", 0);
	ck_assert_int_ge(out, 0);
	ck_assert_ptr_null(hv_export_open(hv_export_find(name), &config, &head, &x));
}

static void open_format(const char *name)
{
	open_with_clock(name, "local");
}

/* Adds a page with a return of the function at 0x10. */
static void add_return(uint64_t call_ns, uint64_t time_ns, uint64_t host_ns)
{
	uint8_t page[HV_RAW_PAGE_LEN] = {0};
	struct hv_raw_layout layout = hv_raw_layout_known;
	struct hv_raw_more more = {0};
	struct hv_event e = {.kind = HV_EVENT_GRAPH_EXIT,
			     .ip = hv_gva(0x10),
			     .call_ns = call_ns,
			     .time_ns = time_ns,
			     .host_ns = host_ns};
	struct hv_raw_page p;

	ck_assert(hv_raw_layout_add(&layout, HV_RAW_HOST, &more));
	hv_raw_page_init(&p, &layout, page, HV_RAW_DATA_LEN);
	ck_assert(hv_raw_page_add(&p, &e));
	hv_raw_page_finish(&p);
	ck_assert_ptr_null(hv_export_add(x, 0, (struct hv_span){page, sizeof(page)}));
}

/* Adds a page of CPU with event ID of task 7. */
static void add(unsigned cpu, uint16_t id, uint64_t time_ns, int irq, uint64_t lost)
{
	uint8_t page[HV_RAW_PAGE_LEN] = {0};
	uint32_t entry[4] = {id, 7, (uint32_t)irq};
	struct hv_event e = {
		.kind = HV_EVENT_GUESTS,
		.id = id,
		.time_ns = time_ns,
		.lost_before = lost,
		.entry = {(const uint8_t *)entry, sizeof(entry)},
	};
	struct hv_raw_page p;

	hv_raw_page_init(&p, &hv_raw_layout_known, page, HV_RAW_DATA_LEN);
	ck_assert(hv_raw_page_add(&p, &e));
	hv_raw_page_finish(&p);
	ck_assert_ptr_null(hv_export_add(x, cpu, (struct hv_span){page, sizeof(page)}));
}

static void check_text(const char *wanted)
{
	char text[2048] = "";

	ck_assert_ptr_null(hv_export_end(x));
	hv_export_free(x);
	ck_assert_int_ge(pread(out, text, sizeof(text) - 1, 0), 0);
	close(out);
	ck_assert_str_eq(text, wanted);
}

/* The page with the end comes first because its vCPU has the smaller number. */
START_TEST(an_event_ends_on_another_vcpu)
{
	open_format("histogram-json");
	add(0, END, 2000, -1, 0);
	add(1, BEGIN, 1000, -1, 0);
	ck_assert_ptr_null(hv_export_turn(x));
	add(1, BEGIN, 5000, 11, 0);
	add(1, END, 5600, 11, 0);
	ck_assert_ptr_null(hv_export_turn(x));
	check_text("{\"version\":1,\"event\":\"irq:irq_handler_entry\",\"until\":\"irq:irq_handler_"
		   "exit\",\"of\":{\"irq\":-1},\"unit\":\"ns\",\"calls\":1,\"total\":1000,"
		   "\"shortest\":1000,\"longest\":1000,\"buckets\":[{\"from\":512,\"calls\":1}]}\n"
		   "{\"version\":1,\"event\":\"irq:irq_handler_entry\",\"until\":\"irq:irq_handler_"
		   "exit\",\"of\":{\"irq\":11},\"unit\":\"ns\",\"calls\":1,\"total\":600,"
		   "\"shortest\":600,\"longest\":600,\"buckets\":[{\"from\":512,\"calls\":1}]}\n");
}
END_TEST

START_TEST(losses_are_reported)
{
	open_format("histogram");
	add(0, BEGIN, 1000, 11, 0);
	add(0, BEGIN, 1500, 12, 3);
	add(0, END, 2000, 11, 0);
	add(0, END, 2500, 12, 0);
	check_text("irq:irq_handler_entry irq=12 until irq_handler_exit: 1 time, average 1 us, "
		   "shortest 1 us, longest 1 us, in all 1 us\n"
		   "      512 ns .. 1.02 us               1 "
		   "|@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n\n"
		   "1 time, events were lost: calls in progress then are not counted\n");
}
END_TEST

/* Adds calls. Some were long because of the host. */
static void add_calls_of_host(void)
{
	add_return(1000, 1600, 0);
	add_return(2000, 2700, 50);
	add_return(3000, 9000, 5000);
}

START_TEST(bars_show_the_host_time)
{
	open_format("histogram");
	add_calls_of_host();
	check_text("0x10: 3 calls, average 2.43 us, shortest 600 ns, longest 6 us, in all 7.3 us, "
		   "the host's part 5.05 us\n"
		   "      512 ns .. 1.02 us               2 "
		   "|@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@| host 50 ns\n"
		   "     1.02 us .. 2.05 us               0 "
		   "|                                        |\n"
		   "     2.05 us .. 4.1 us                0 "
		   "|                                        |\n"
		   "      4.1 us .. 8.19 us               1 "
		   "|@@@@@@@@@@@@@@@@@@@@                    | host 5 us\n\n");
}
END_TEST

START_TEST(json_has_the_host_time)
{
	open_format("histogram-json");
	add_calls_of_host();
	check_text("{\"version\":1,\"function\":\"0x10\",\"unit\":\"ns\",\"calls\":3,"
		   "\"total\":7300,\"shortest\":600,\"longest\":6000,\"host\":5050,"
		   "\"buckets\":[{\"from\":512,\"calls\":2,\"host\":50},"
		   "{\"from\":4096,\"calls\":1,\"host\":5000}]}\n");
}
END_TEST

/* The host's time is in ns, but the durations are not. */
START_TEST(ticks_are_not_compared_with_host_time)
{
	open_with_clock("histogram-json", "x86-tsc");
	add_calls_of_host();
	check_text("{\"version\":1,\"function\":\"0x10\",\"unit\":\"ticks\",\"calls\":3,"
		   "\"total\":7300,\"shortest\":600,\"longest\":6000,"
		   "\"buckets\":[{\"from\":512,\"calls\":2},{\"from\":4096,\"calls\":1}]}\n");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, an_event_ends_on_another_vcpu);
	tcase_add_test(tc, losses_are_reported);
	tcase_add_test(tc, bars_show_the_host_time);
	tcase_add_test(tc, json_has_the_host_time);
	tcase_add_test(tc, ticks_are_not_compared_with_host_time);
}

int main(void)
{
	return run_suite("histogram", add_tests);
}
