/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A ring of one vCPU, filled by the tests, and a cursor over it. The clock is the counter. */
#pragma once

#include <check.h>
#include <unistd.h>

#include "kernel/kernel.h"
#include "patcher/patcher.h"
#include "ringbuf/ring.h"
#include "tracer/events/buffer_state.h"
#include "tracer/events/cursor.h"
#include "tracer/events/decoder.h"
#include "tracer/events/host_buffer.h"

#define NR_SLOTS 1024
#define START	 512 /* existing records */

static struct hv_kernel kernel;
static struct hv_decoder *decoder;
static struct hv_buffer *rings;
static struct {
	struct hv_state state;
	struct hv_record records[NR_SLOTS];
} block;
static struct hv_buffer *host;
static struct hv_cursor *cursor;

static inline void open_ring(struct hv_kernel *k)
{
	static const struct hv_hold_stat holds;
	static const struct hv_gva_range trampolines;
	const uint64_t size_bytes = sizeof(block.records);
	struct hv_clock *clock;

	ck_assert_ptr_null(hv_clock_new(k, &clock));
	decoder = hv_decoder_new(k, hv_clocks_new(clock, NULL, k, &holds), hv_names_new(k),
				 hv_callers_new(k, &trampolines));
	block.state = (struct hv_state){.head = hv_ring_head_at(START, NR_SLOTS)};
	memset(block.records, 0, sizeof(block.records));
	rings = hv_buffer_over(decoder, 1);
	hv_buffer_set_ring(rings, 0, &block.state, sizeof(block.records), sizeof(block.records));
	hv_buffer_use_clock(rings, HV_TRACE_CLOCK_TSC);
	hv_buffer_clear(rings, -1);
	ck_assert_ptr_null(hv_buffer_new(rings, &size_bytes, &host));
	hv_buffer_use_clock(host, HV_TRACE_CLOCK_TSC);
	cursor = hv_cursor_new(rings, -1, HV_CURSOR_FOLLOW);
}

static inline void setup(void)
{
	kernel = (struct hv_kernel){.core.as.arch = &hv_arch_x86_64};
	open_ring(&kernel);
}

static inline void teardown(void)
{
	hv_cursor_free(cursor);
	hv_buffer_unref(host);
	hv_buffer_unref(rings);
	hv_callers_free(decoder->callers);
	hv_names_free(decoder->names);
	hv_clocks_free(decoder->clocks);
	hv_decoder_free(decoder);
}

static inline void put(uint64_t position, unsigned kind, uint64_t tsc, unsigned number)
{
	uint64_t key = hv_record_key(position, NR_SLOTS);
	uint64_t word2 = kind == HV_RECORD_MORE ? UINT64_C(1) << HV_MORE_VALUE_SHIFT : 0;
	uint64_t word3 = (uint64_t)kind << HV_RECORD_KIND_SHIFT | (uint64_t)number
									  << HV_RECORD_DEPTH_SHIFT;

	block.records[position % NR_SLOTS] =
		(struct hv_record){{tsc ^ key, key, word2 ^ key, word3 ^ key}};
}

/* HEAD: the next position to be reserved. */
static inline void publish(uint64_t head)
{
	__atomic_store_n(&block.state.head, hv_ring_head_at(head, NR_SLOTS), __ATOMIC_RELEASE);
}

static inline uint64_t published(void)
{
	return block.state.head / sizeof(struct hv_record) - NR_SLOTS;
}

/* Reads the next event and, like a drain, also puts it into a host buffer. Returns false if there
 * is no event. */
static inline bool next(struct hv_event *ret)
{
	if (hv_cursor_next(cursor, ret) != HV_NEXT_EVENT)
		return false;
	if (ret->kind != HV_EVENT_COMMAND)
		hv_buffer_put(host, cursor, ret);
	return true;
}

/* The merge waits HV_MERGE_WAIT_NS for records that are reserved but not written. */
static inline void expect(enum hv_event_kind kind, struct hv_event *ret)
{
	while (!next(ret))
		usleep(1000);
	ck_assert_int_eq(ret->kind, kind);
}

/* The reader waits for records that never come, and then sees a head below its position. */
static inline void rewind_to(uint64_t head)
{
	struct hv_event event;

	publish(published() + 10);
	ck_assert(!next(&event));
	publish(head);
	ck_assert(!next(&event));
}
