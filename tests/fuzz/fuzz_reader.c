/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs the whole reader on rings that the input writes, rewinds and tears, up to text and raw
 * pages: ring, merge, parts, decoding, cursors of every kind at the same time, a host buffer,
 * formats. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/kernel.h"
#include "patcher/patcher.h"
#include "ringbuf/ring.h"
#include "tracer/events/buffer.h"
#include "tracer/events/cursor.h"
#include "tracer/events/decoder.h"
#include "tracer/events/host_buffer.h"
#include "tree/format/format.h"
#include "tree/format/graph.h"
#include "tree/format/raw_page.h"

#define NR_CPUS	   2
#define NR_SLOTS   256 /* more than a complete stack */
#define NR_CURSORS 3
#define CALLS_MAX                                                                                  \
	(16 * NR_CPUS * NR_SLOTS) /* limit for one read: nothing writes to the rings during it */
#define TEXT_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A fake of the host's clock, which makes results reproducible. It advances at each call, because
 * the merge waits for some microseconds. Other clocks are real, because the fuzzer uses them. */
#define LOOK_NS 1000
static uint64_t fake_now_ns;

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (clock != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, clock, ts);
	fake_now_ns += LOOK_NS;
	ts->tv_sec = (time_t)(fake_now_ns / HV_NS_PER_S);
	ts->tv_nsec = (long)(fake_now_ns % HV_NS_PER_S);
	return 0;
}

struct step { /* a step in the input */
	uint8_t what;
	uint8_t cpu;
	int8_t at; /* offset from the head */
	uint8_t kind;
	uint16_t number;
	uint16_t tsc;
	uint32_t value;
} __attribute__((packed));

enum what {
	PUT,	    /* one record */
	PUT_RAW,    /* one word, without encoding */
	BURST,	    /* records of words or data, and the record that follows them */
	MOVE_HEAD,  /* by AT */
	SET_HEAD,   /* by VALUE, to any number of bytes */
	WAIT,	    /* VALUE us */
	READ,	    /* events from a cursor */
	PEEK,	    /* the next event of a cursor, and skips it */
	CONSUME,    /* the events that a cursor returned */
	CLEAR,	    /* the rings' buffer */
	MOVE,	    /* the rings' buffer into the host's */
	READ_HOST,  /* the host's buffer */
	NEW_CURSOR, /* of another kind */
	NR_WHAT
};

static struct hv_kernel kernel;
static struct hv_decoder *decoder;
static struct hv_buffer *rings;
static struct {
	struct hv_state state;
	struct hv_record records[NR_SLOTS];
} blocks[NR_CPUS];
static struct hv_buffer *host;
static struct hv_cursor *cursors[NR_CURSORS];
static struct hv_options options;
static struct hv_graph *graph;
static struct hv_raw_page page;

static uint8_t *empty_bytes(void)
{
	static uint8_t bytes[HV_RAW_PAGE_LEN];

	return memset(bytes, 0, sizeof(bytes));
}
static struct hv_text text;

static void check(int holds)
{
	if (!holds)
		abort();
}

/* The next position to be reserved. */
static uint64_t head(unsigned cpu)
{
	return blocks[cpu].state.head / sizeof(struct hv_record) - NR_SLOTS;
}

static void set_head(unsigned cpu, uint64_t position)
{
	blocks[cpu].state.head = hv_ring_head_at(position, NR_SLOTS);
}

static void setup(void)
{
	static const struct hv_hold_stat holds;
	static const struct hv_gva_range trampolines;
	static struct hv_clocks *clocks;
	struct hv_clock *clock;
	const uint64_t sizes_bytes[NR_CPUS] = {8192, 8192};

	kernel.core.as.arch = &hv_arch_x86_64;
	if (!clocks) {
		check(!hv_clock_new(&kernel, &clock));
		clocks = hv_clocks_new(clock, NULL, &kernel, &holds);
	}
	kernel.layout.context_bits.need = 8;
	decoder = hv_decoder_new(&kernel, clocks, hv_names_new(&kernel),
				 hv_callers_new(&kernel, &trampolines));
	hv_names_set_max(decoder->names, 16);
	fake_now_ns = HV_NS_PER_S;
	memset(blocks, 0, sizeof(blocks));
	for (unsigned cpu = 0; cpu < NR_CPUS; cpu++)
		set_head(cpu, 0);
	rings = hv_buffer_over(decoder, NR_CPUS);
	for (unsigned cpu = 0; cpu < NR_CPUS; cpu++)
		hv_buffer_set_ring(rings, cpu, &blocks[cpu].state, sizeof(blocks[cpu].records),
				   sizeof(blocks[cpu].records));
	check(!hv_buffer_new(rings, sizes_bytes, &host));
	for (unsigned i = 0; i < NR_CURSORS; i++)
		cursors[i] = hv_cursor_new(rings, -1, (enum hv_cursor_mode)i);
	options = hv_options_default();
	graph = hv_graph_new(&kernel, NR_CPUS);
	hv_raw_page_init(&page, &hv_raw_layout_known, empty_bytes(), HV_RAW_DATA_LEN);
}

static void teardown(void)
{
	for (unsigned i = 0; i < NR_CURSORS; i++)
		hv_cursor_free(cursors[i]);
	hv_graph_free(graph);
	hv_buffer_unref(host);
	hv_buffer_unref(rings);
	hv_callers_free(decoder->callers);
	hv_names_free(decoder->names);
	hv_decoder_free(decoder);
	hv_text_clear(&text);
}

static void put(unsigned cpu, uint64_t position, unsigned kind, unsigned number,
		const struct step *s)
{
	uint64_t key = hv_record_key(position, NR_SLOTS);
	uint64_t word3 = (uint64_t)(kind & 15) << HV_RECORD_KIND_SHIFT |
			 (uint64_t)(number & HV_RECORD_DEPTH_MAX) << HV_RECORD_DEPTH_SHIFT |
			 (s->value & 0xff);
	uint64_t words[4] = {s->tsc, (uint64_t)s->value << 16, s->value, word3};
	struct hv_record *slot = &blocks[cpu].records[position % NR_SLOTS];

	for (unsigned i = 0; i < 4; i++)
		slot->word[i] = words[i] ^ key;
}

/* Writes a stack or a guest event like a trampoline does, possibly with errors. */
static void burst(unsigned cpu, const struct step *s)
{
	uint64_t position = head(cpu) + (uint64_t)(int64_t)s->at;
	bool is_guests = (s->kind & 15) == HV_RECORD_EVENT;
	unsigned nr = s->number & 255;
	struct step last = *s;

	/* The length of the entry, in word 1, equals the data or is slightly smaller. */
	if (is_guests)
		last.value = HV_ENTRY_HEADER_LEN + nr * HV_DATA_LEN - s->value % HV_DATA_LEN;
	for (unsigned i = 0; i < nr; i++)
		put(cpu, position + i, is_guests ? HV_RECORD_DATA : HV_RECORD_WORDS, i, s);
	put(cpu, position + nr, s->kind, is_guests ? nr : nr ? nr - 1 : 0, &last);
	set_head(cpu, position + nr + 1);
}

static void show(struct hv_cursor *c, const struct hv_event *e, const struct hv_event *next)
{
	const struct hv_style style = {
		.kernel = &kernel,
		.clock = HV_CLOCK_RAW,
		.options = &options,
	};

	check(e->cpu < NR_CPUS);
	check(e->preempt_depth <= 15 && e->migrate_depth <= 15);
	check(e->nr_callers <= HV_CALLERS_MAX);
	check(e->entry.len_bytes <= HV_ENTRY_LEN_MAX);
	check((e->kind == HV_EVENT_GUESTS) == (e->entry.len_bytes >= HV_ENTRY_HEADER_LEN));
	if (e->kind == HV_EVENT_COMMAND)
		return;
	hv_format_event(&text, &style, e);
	if (e->kind == HV_EVENT_GRAPH_ENTRY || e->kind == HV_EVENT_GRAPH_EXIT)
		if (hv_graph_event(graph, &text, &style, e, next))
			hv_cursor_skip(c, e->cpu);
	if (!hv_raw_page_add(&page, e)) {
		hv_raw_page_finish(&page);
		hv_raw_page_init(&page, &hv_raw_layout_known, empty_bytes(), HV_RAW_DATA_LEN);
		check(hv_raw_page_add(&page, e));
	}
	if (text.len_bytes > TEXT_MAX)
		hv_text_clear(&text);
}

static void read_all(struct hv_cursor *c, struct hv_buffer *into)
{
	struct hv_event event, next;
	unsigned nr = 0;

	while (hv_cursor_next(c, &event) == HV_NEXT_EVENT) {
		unsigned nr_records;
		bool known;

		check(nr++ < CALLS_MAX);
		hv_cursor_records(c, &nr_records);
		check(nr_records <= HV_EVENT_RECORDS_MAX);
		if (into && event.kind != HV_EVENT_COMMAND)
			hv_buffer_put(into, c, &event);
		known = hv_cursor_peek(c, event.cpu, &next);
		show(c, &event, known ? &next : NULL);
	}
}

static void read_host(void)
{
	struct hv_cursor *c = hv_cursor_new(host, -1, HV_CURSOR_DUMP);
	struct hv_buffer_stat stat;

	read_all(c, NULL);
	hv_cursor_free(c);
	hv_buffer_stat(host, -1, hv_raw_event_len, &stat);
}

static void peek(unsigned i, unsigned cpu)
{
	struct hv_event event;

	if (hv_cursor_peek(cursors[i], cpu, &event))
		hv_cursor_skip(cursors[i], cpu);
}

static void new_cursor(unsigned i, const struct step *s)
{
	hv_cursor_free(cursors[i]);
	cursors[i] = hv_cursor_new(rings, s->value & 4 ? (int)(s->cpu % NR_CPUS) : -1,
				   (enum hv_cursor_mode)(s->value & 3));
}

static void take(const struct step *s)
{
	unsigned cpu = s->cpu % NR_CPUS, i = s->number % NR_CURSORS;
	uint64_t position = head(cpu) + (uint64_t)(int64_t)s->at;

	switch ((enum what)(s->what % NR_WHAT)) {
	case PUT:
		put(cpu, position, s->kind, s->number, s);
		break;
	case PUT_RAW:
		blocks[cpu].records[position % NR_SLOTS].word[s->kind & 3] =
			(uint64_t)s->value << 32 | (uint64_t)s->tsc << 16 | s->number;
		break;
	case BURST:
		burst(cpu, s);
		break;
	case MOVE_HEAD:
		set_head(cpu, position);
		break;
	case SET_HEAD:
		blocks[cpu].state.head = (uint64_t)s->value << (s->kind & 63);
		break;
	case WAIT:
		fake_now_ns += (s->value & 0xfffff) * 1000ull;
		break;
	case READ:
		read_all(cursors[i], s->value & 1 ? host : NULL);
		break;
	case PEEK:
		peek(i, s->value & 4 ? cpu : 0);
		break;
	case CONSUME:
		hv_cursor_consume(cursors[i]);
		break;
	case CLEAR:
		hv_buffer_clear(rings, s->value & 1 ? -1 : (int)cpu);
		break;
	case MOVE:
		hv_buffer_when_full(host, (enum hv_when_full)(s->value & 1));
		hv_buffer_move(rings, s->value & 2 ? -1 : (int)cpu, host);
		break;
	case READ_HOST:
		read_host();
		break;
	case NEW_CURSOR:
		new_cursor(i, s);
		break;
	case NR_WHAT:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct step s;

	setup();
	for (size_t off = 0; off + sizeof(s) <= len; off += sizeof(s)) {
		memcpy(&s, data + off, sizeof(s));
		take(&s);
	}
	fake_now_ns += HV_NS_PER_S;
	for (unsigned i = 0; i < NR_CURSORS; i++)
		read_all(cursors[i], NULL);
	read_host();
	teardown();
	return 0;
}
