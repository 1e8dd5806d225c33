/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Host buffers: the sizes of the vCPUs' rings, and changes of a size. The records come from a
 * buffer that acts as the guest's. */
#include <check.h>

#include "kernel/kernel.h"
#include "ringbuf/ring.h"
#include "ringbuf/writer.h"
#include "tests/lib/run_suite.h"
#include "tracer/events/buffer_state.h"
#include "tracer/events/cursor.h"
#include "tracer/events/decoder.h"
#include "tracer/events/host_buffer.h"

#define NR_CPUS	   3
#define GUEST_SLOT 1024	      /* slots in each of the guest's rings */
#define NR_CALLS   600	      /* in each ring at the start of a test */
#define TWO_PAGES  (2 * 4080) /* 255 records, in a ring of 256 */
#define THREE	   (3 * 4080) /* 382 records, in a ring of 512 */
#define LARGE	   (64 << 10) /* 2048 records */
#define MARGIN(nr) ((nr) / 8) /* also skipped when a reader was overtaken */

static const uint64_t differ_bytes[NR_CPUS] = {TWO_PAGES, LARGE, THREE};

static struct hv_kernel kernel; /* without tasks */
static struct hv_decoder *decoder;
static struct hv_buffer *guests;
static struct {
	struct hv_state state;
	struct hv_record records[GUEST_SLOT];
} blocks[NR_CPUS];
static struct hv_buffer *host;

/* Returns a time stamp that identifies a vCPU's call. */
static uint64_t tsc_of(unsigned cpu, uint64_t call)
{
	return 1 + call * NR_CPUS + cpu;
}

static void call(unsigned cpu, uint64_t nr)
{
	struct hv_record record = {
		{tsc_of(cpu, nr), 0, 0, (uint64_t)HV_RECORD_FUNCTION << HV_RECORD_KIND_SHIFT}};

	hv_ring_put(&blocks[cpu].state, blocks[cpu].records, GUEST_SLOT, &record, 1);
}

static struct hv_buffer *new_buffer(const uint64_t *sizes_bytes)
{
	struct hv_buffer *b;
	struct hv_err *err = hv_buffer_new(guests, sizes_bytes, &b);

	ck_assert_msg(!err, "%s", err ? err->message : "");
	hv_buffer_use_clock(b, HV_TRACE_CLOCK_TSC);
	return b;
}

static void setup(void)
{
	kernel = (struct hv_kernel){.core.as.arch = &hv_arch_x86_64};
	decoder = hv_decoder_new(&kernel, NULL, hv_names_new(&kernel), NULL);
	for (unsigned cpu = 0; cpu < NR_CPUS; cpu++)
		blocks[cpu].state = (struct hv_state){.head = hv_ring_head_at(0, GUEST_SLOT)};
	guests = hv_buffer_over(decoder, NR_CPUS);
	for (unsigned cpu = 0; cpu < NR_CPUS; cpu++)
		hv_buffer_set_ring(guests, cpu, &blocks[cpu].state, sizeof(blocks[cpu].records),
				   sizeof(blocks[cpu].records));
	hv_buffer_use_clock(guests, HV_TRACE_CLOCK_TSC);
	for (unsigned cpu = 0; cpu < NR_CPUS; cpu++)
		for (uint64_t i = 0; i < NR_CALLS; i++)
			call(cpu, i);
	host = new_buffer(differ_bytes);
}

static void teardown(void)
{
	hv_buffer_unref(host);
	hv_buffer_unref(guests);
	hv_names_free(decoder->names);
	hv_decoder_free(decoder);
}

/* Checks that CPU's part of B has the last NR of NR_CALLS calls, each once and complete. */
static void expect_last(struct hv_buffer *b, unsigned cpu, uint64_t nr)
{
	struct hv_cursor *c = hv_cursor_new(b, (int)cpu, HV_CURSOR_DUMP);
	uint64_t next = NR_CALLS - nr;
	struct hv_event event;

	while (hv_cursor_next(c, &event) == HV_NEXT_EVENT) {
		ck_assert_uint_eq(event.cpu, cpu);
		ck_assert_uint_eq(event.time_ns, tsc_of(cpu, next++));
	}
	ck_assert_uint_eq(next, NR_CALLS);
	hv_cursor_free(c);
}

static uint64_t overrun_of(struct hv_buffer *b, int cpu)
{
	struct hv_buffer_stat stat;

	hv_buffer_stat(b, cpu, NULL, &stat);
	return stat.overrun;
}

static void put_name(struct hv_buffer *b, unsigned cpu, uint64_t tsc, const char *name)
{
	struct hv_record records[2] = {hv_encode_task(tsc, 7, 7, name),
				       {{tsc + 1, 0, UINT64_C(7) << HV_CALL_PID_SHIFT,
					 (uint64_t)HV_RECORD_FUNCTION << HV_RECORD_KIND_SHIFT}}};

	if (b)
		hv_buffer_put_records(b, hv_lane_of_cpu(cpu), records, 2);
	else
		hv_ring_put(&blocks[cpu].state, blocks[cpu].records, GUEST_SLOT, records, 2);
}

static void expect_name(const char *name)
{
	ck_assert_str_eq(hv_names_find(decoder->names, 7), name);
}

/* A dump shows names that tasks had earlier. A drain whose filters use names must not. */
static void dump(struct hv_buffer *b, enum hv_cursor_mode mode, const char *name)
{
	struct hv_cursor *c = hv_cursor_new(b, -1, mode);
	struct hv_event event;
	unsigned nr = 0;

	while (hv_cursor_next(c, &event) == HV_NEXT_EVENT) {
		if (event.pid != 7)
			continue;
		nr++;
		ck_assert_str_eq(event.comm, name);
		expect_name(name);
	}
	ck_assert_uint_ge(nr, 2);
	hv_cursor_free(c);
}

START_TEST(the_last_name_is_found_on_any_vcpu)
{
	const uint64_t later = 10 * NR_CALLS;
	char names[3][HV_COMM_LEN] = {"init", "sh", "cat"};

	put_name(NULL, 0, later, names[0]);
	put_name(NULL, 2, later + 20, names[2]);
	put_name(NULL, 1, later + 10, names[1]);
	hv_buffer_note_names(guests);
	expect_name("cat");
	dump(guests, HV_CURSOR_DUMP, "cat");
}
END_TEST

START_TEST(a_host_reader_keeps_newer_names)
{
	char now[HV_COMM_LEN] = "cat", once[HV_COMM_LEN] = "sh";

	hv_names_add(decoder->names, 7, 7, now);
	put_name(host, 0, 1, once);
	put_name(host, 0, 3, once);
	hv_buffer_note_names(host);
	dump(host, HV_CURSOR_DUMP, "cat");
	dump(host, HV_CURSOR_FOLLOW, "cat");
}
END_TEST

START_TEST(each_vcpu_keeps_its_buffer_size)
{
	hv_buffer_move(guests, -1, host);
	for (unsigned cpu = 0; cpu < NR_CPUS; cpu++)
		ck_assert_uint_eq(hv_buffer_size(host, cpu), differ_bytes[cpu]);
	expect_last(host, 0, 255 - MARGIN(255));
	expect_last(host, 1, NR_CALLS);
	expect_last(host, 2, 382 - MARGIN(382));
	ck_assert_uint_eq(overrun_of(host, 0), NR_CALLS - 255 + MARGIN(255));
	ck_assert_uint_eq(overrun_of(host, 1), 0);
	ck_assert_uint_eq(hv_buffer_unread(host, 0), hv_buffer_size(host, 0));
	ck_assert_uint_eq(hv_buffer_unread(host, 1), NR_CALLS * sizeof(struct hv_record));
}
END_TEST

START_TEST(only_a_full_vcpu_buffer_drops)
{
	struct hv_buffer_stat stat;

	hv_buffer_when_full(host, HV_FULL_DROPS);
	hv_buffer_move(guests, -1, host);
	for (unsigned cpu = 0; cpu < NR_CPUS; cpu++) {
		uint64_t nr_kept = differ_bytes[cpu] / sizeof(struct hv_record);
		uint64_t nr = nr_kept < NR_CALLS ? nr_kept : NR_CALLS;

		hv_buffer_stat(host, (int)cpu, NULL, &stat);
		ck_assert_uint_eq(stat.entries, nr);
		ck_assert_uint_eq(stat.oldest_ns, tsc_of(cpu, 0));
		ck_assert_uint_eq(stat.youngest_ns, tsc_of(cpu, nr - 1));
		ck_assert_uint_eq(stat.dropped, NR_CALLS - nr);
	}
}
END_TEST

/* A vCPU whose size does not change keeps its records and counts. */
START_TEST(resizing_one_vcpu_keeps_the_others)
{
	const uint64_t smaller_bytes[NR_CPUS] = {TWO_PAGES, TWO_PAGES, LARGE};
	struct hv_buffer *resized = new_buffer(smaller_bytes);
	struct hv_buffer_stat was, is;
	struct hv_cursor *c;
	struct hv_event event;

	hv_buffer_move(guests, -1, host);
	c = hv_cursor_new(host, 0, HV_CURSOR_TAKE);
	for (unsigned i = 0; i < 10; i++)
		ck_assert_int_eq(hv_cursor_next(c, &event), HV_NEXT_EVENT);
	hv_cursor_consume(c);
	hv_cursor_free(c);
	hv_buffer_stat(host, 0, NULL, &was);
	ck_assert_uint_eq(was.read, 10);
	hv_buffer_move(host, -1, resized);
	hv_buffer_stat(resized, 0, NULL, &is);
	ck_assert_uint_eq(is.read, was.read);
	ck_assert_uint_eq(is.entries, was.entries);
	ck_assert_uint_eq(is.overrun, was.overrun);
	expect_last(resized, 0, 255 - MARGIN(255) - 10);
	expect_last(resized, 1, 255 - MARGIN(255));
	expect_last(resized, 2, 382 - MARGIN(382));
	ck_assert_uint_eq(hv_buffer_size(resized, 1), TWO_PAGES);
	hv_buffer_unref(resized);
}
END_TEST

/* Each of these sizes alone would be possible. */
START_TEST(the_sum_of_sizes_must_fit)
{
	enum { MANY = 4096 };
	uint64_t free_bytes = (uint64_t)sysconf(_SC_AVPHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	HV_AUTO_FREE uint64_t *sizes_bytes = hv_alloc(MANY * sizeof(*sizes_bytes));
	HV_AUTO_ERR struct hv_err *err = NULL;
	struct hv_buffer *b = NULL;

	guests->nr_cpus = MANY;
	for (unsigned cpu = 0; cpu < MANY; cpu++)
		sizes_bytes[cpu] = free_bytes / 64;
	err = hv_buffer_new(guests, sizes_bytes, &b);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, ENOMEM);
	ck_assert_ptr_null(b);
}
END_TEST

START_TEST(an_oversized_vcpu_buffer_is_refused)
{
	const uint64_t sizes_bytes[NR_CPUS] = {TWO_PAGES, TWO_PAGES, UINT64_C(1) << 62};
	HV_AUTO_ERR struct hv_err *err = NULL;
	struct hv_buffer *b = NULL;

	err = hv_buffer_new(guests, sizes_bytes, &b);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, ENOMEM);
	ck_assert_ptr_null(b);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_last_name_is_found_on_any_vcpu);
	tcase_add_test(tc, a_host_reader_keeps_newer_names);
	tcase_add_test(tc, each_vcpu_keeps_its_buffer_size);
	tcase_add_test(tc, only_a_full_vcpu_buffer_drops);
	tcase_add_test(tc, resizing_one_vcpu_keeps_the_others);
	tcase_add_test(tc, the_sum_of_sizes_must_fit);
	tcase_add_test(tc, an_oversized_vcpu_buffer_is_refused);
}

int main(void)
{
	return run_suite("buffer", add_tests);
}
