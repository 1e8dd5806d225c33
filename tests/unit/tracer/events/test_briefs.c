/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Briefs shown by a cursor, and a buffer's counts, must agree with the events that follow. */
#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/events/one_ring.h"

/* Writes a record of KIND with random bits, as a hostile guest could. */
static void put_any(uint64_t position, unsigned kind, uint64_t *seed)
{
	uint64_t key = hv_record_key(position, NR_SLOTS), words[4];

	for (unsigned i = 0; i < 4; i++) {
		*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
		words[i] = *seed >> 2;
	}
	words[0] = 8 * position + (words[0] % 64 ? 0 : 11); /* rarely younger than the next one */
	if (kind == HV_RECORD_EXIT && words[2] & 1)
		words[1] = words[0] - (words[1] & 63);
	/* Contexts repeat while the thread flags change. */
	words[3] &= UINT64_C(0x7) << HV_RECORD_DEPTH_SHIFT | 0x80000000;
	words[3] |= (uint64_t)kind << HV_RECORD_KIND_SHIFT;
	for (unsigned i = 0; i < 4; i++)
		block.records[position % NR_SLOTS].word[i] = words[i] ^ key;
}

static void check_brief(const struct hv_brief *b, const struct hv_event *e)
{
	ck_assert_uint_eq(b->kind, e->kind);
	ck_assert_uint_eq(b->time_ns, e->time_ns);
	ck_assert_uint_eq(b->ip.v, e->ip.v);
	ck_assert_uint_eq(b->parent_ip.v, e->parent_ip.v);
	ck_assert_uint_eq(b->call_ns, e->call_ns);
	ck_assert_uint_eq(b->pid, e->pid);
	ck_assert_uint_eq(b->depth, e->depth);
	ck_assert_uint_eq(b->flags, e->flags);
	ck_assert_uint_eq(b->preempt_depth, e->preempt_depth);
	ck_assert_uint_eq(b->migrate_depth, e->migrate_depth);
	ck_assert_uint_eq(b->lazy_depth, e->lazy_depth);
	/* A brief has no room for these. */
	ck_assert_uint_eq(e->lost_before, 0);
	ck_assert_uint_eq(e->overrun, 0);
	ck_assert_uint_eq(e->has_retval, 0);
	ck_assert_uint_eq(e->host_ns, 0);
	ck_assert_uint_eq(e->of_section, 0);
}

/* Puts records of all kinds, mostly calls and returns, into the ring. */
static void put_random(uint64_t nr)
{
	static const unsigned kinds[] = {HV_RECORD_FUNCTION, HV_RECORD_ENTRY, HV_RECORD_EXIT,
					 HV_RECORD_FUNCTION, HV_RECORD_ENTRY, HV_RECORD_EXIT,
					 HV_RECORD_MORE,     HV_RECORD_TASK,  HV_RECORD_SECTION,
					 HV_RECORD_STACK,    HV_RECORD_WORDS, HV_RECORD_COMMAND};
	uint64_t seed = 11;

	decoder->decode.handler = hv_gva(0xffffffff80001000);
	decoder->decode.context_bits = (struct hv_context_bits){.need = 8, .lazy = 16};
	for (uint64_t i = 0; i < nr; i++) {
		unsigned other = (unsigned)(seed >> 59) % HV_ARRAY_LEN(kinds);

		put_any(START + i, kinds[i / 16 % 3 ? i % 3 : other], &seed);
	}
	publish(START + nr);
}

/* Takes all but LEAVE of the briefs of KINDS that the cursor shows, and compares them with OTHER's
 * events. */
static size_t take_same(struct hv_cursor *other, unsigned kinds, size_t leave)
{
	struct hv_brief briefs[HV_BRIEFS_MAX];
	size_t nr = hv_cursor_briefs(cursor, HV_BRIEFS_MAX, kinds, briefs);
	struct hv_event event;

	nr -= nr > leave ? leave : 0;
	for (size_t i = 0; i < nr; i++) {
		ck_assert_int_eq(hv_cursor_next(other, &event), HV_NEXT_EVENT);
		ck_assert(kinds & HV_BRIEF_KIND(event.kind));
		check_brief(&briefs[i], &event);
	}
	hv_cursor_take_briefs(cursor, nr);
	return nr;
}

START_TEST(briefs_match_full_events)
{
	static const unsigned kinds[] = {HV_BRIEF_ALL, HV_BRIEF_KIND(HV_EVENT_GRAPH_EXIT)};
	const unsigned of = kinds[_i % 2];
	struct hv_cursor *other = hv_cursor_new(rings, -1, HV_CURSOR_UNNAMED);
	size_t nr = 0, nr_brief = 0;
	struct hv_event a, b;
	struct hv_buffer_stat stat;

	hv_cursor_free(cursor);
	cursor = hv_cursor_new(rings, -1, HV_CURSOR_UNNAMED);
	put_random(NR_SLOTS - START);
	hv_buffer_use_clock(rings, _i < 2 ? HV_TRACE_CLOCK_TSC : HV_TRACE_CLOCK_GUEST);
	while (hv_cursor_next(cursor, &a) == HV_NEXT_EVENT) {
		ck_assert_int_eq(hv_cursor_next(other, &b), HV_NEXT_EVENT);
		ck_assert_int_eq(a.kind, b.kind);
		ck_assert_uint_eq(a.time_ns, b.time_ns);
		nr++;
		nr_brief += take_same(other, of, nr % 3);
	}
	ck_assert_int_ne(hv_cursor_next(other, &b), HV_NEXT_EVENT);
	ck_assert_uint_gt(nr_brief, 20);
	hv_cursor_consume(cursor);
	hv_buffer_stat(rings, -1, NULL, &stat);
	ck_assert_uint_eq(stat.read, nr + nr_brief);
	ck_assert_uint_eq(stat.entries, 0);
	hv_cursor_free(other);
}
END_TEST

/* A look ahead has taken the record before the exit. A brief would lose it. */
START_TEST(an_exit_with_a_return_value_has_no_brief)
{
	struct hv_brief briefs[HV_BRIEFS_MAX];
	struct hv_event event;

	put(START, HV_RECORD_FUNCTION, 10, 0);
	put(START + 1, HV_RECORD_MORE, 20, 0);
	put(START + 2, HV_RECORD_EXIT, 20, 0);
	publish(START + 3);
	expect(HV_EVENT_FUNCTION, &event);
	ck_assert_uint_eq(hv_cursor_briefs(cursor, HV_BRIEFS_MAX, HV_BRIEF_ALL, briefs), 0);
	ck_assert(hv_cursor_peek(cursor, 0, &event));
	ck_assert_uint_eq(hv_cursor_briefs(cursor, HV_BRIEFS_MAX, HV_BRIEF_ALL, briefs), 0);
	expect(HV_EVENT_GRAPH_EXIT, &event);
	ck_assert_uint_eq(event.has_retval, 1);
}
END_TEST

START_TEST(a_clear_stops_briefs)
{
	struct hv_brief briefs[HV_BRIEFS_MAX];
	struct hv_event event;

	for (unsigned i = 0; i < 8; i++)
		put(START + i, HV_RECORD_FUNCTION, 10 + i, 0);
	publish(START + 8);
	expect(HV_EVENT_FUNCTION, &event);
	ck_assert_uint_eq(hv_cursor_briefs(cursor, HV_BRIEFS_MAX, HV_BRIEF_ALL, briefs), 7);
	ck_assert_uint_eq(hv_cursor_briefs(cursor, 3, HV_BRIEF_ALL, briefs), 3);
	hv_cursor_take_briefs(cursor, 2);
	ck_assert_uint_eq(hv_cursor_briefs(cursor, 1, HV_BRIEF_ALL, briefs), 1);
	ck_assert_uint_eq(briefs[0].time_ns, 13);
	hv_buffer_clear(rings, -1);
	ck_assert_uint_eq(hv_cursor_briefs(cursor, HV_BRIEFS_MAX, HV_BRIEF_ALL, briefs), 0);
	ck_assert(!next(&event));
}
END_TEST

static void put_task(uint64_t position, uint32_t pid, const char *comm)
{
	uint64_t key = hv_record_key(position, NR_SLOTS);
	char name[HV_COMM_LEN] = {0};
	struct hv_record r;

	strncpy(name, comm, sizeof(name) - 1);
	r = hv_encode_task(8 * position, pid, pid, name);
	for (unsigned i = 0; i < HV_ARRAY_LEN(r.word); i++)
		r.word[i] ^= key;
	block.records[position % NR_SLOTS] = r;
}

static void put_call_of(uint64_t position, uint32_t pid)
{
	struct hv_record *r = &block.records[position % NR_SLOTS];

	put(position, position % 5 ? HV_RECORD_FUNCTION : HV_RECORD_ENTRY, 8 * position,
	    position % 7);
	r->word[2] ^= (uint64_t)pid << HV_CALL_PID_SHIFT;
}

/* Writes calls of tasks with names, of idle tasks, and of unknown tasks. */
static void put_calls_of_tasks(uint64_t from, uint64_t end)
{
	static const uint32_t pids[] = {5, 5, 5, 6, 5, 0, 6, 6, 7, 5, 5};

	put_task(from, 5, "five");
	put_task(from + 1, 6, "six");
	for (uint64_t at = from + 2; at < end; at++) {
		if (at % 50 == 0)
			put_task(at, 6, at % 100 ? "six" : "sechs");
		else
			put_call_of(at, pids[at % HV_ARRAY_LEN(pids)]);
	}
	publish(end);
}

static bool is_call(unsigned kind)
{
	return kind == HV_EVENT_GRAPH_ENTRY || kind == HV_EVENT_GRAPH_EXIT;
}

/* Puts the next event of C into TO, except every third one. */
static bool put_next(struct hv_buffer *to, struct hv_cursor *c, uint64_t *n)
{
	struct hv_event event;

	if (hv_cursor_next(c, &event) != HV_NEXT_EVENT)
		return false;
	event.depth ^= is_call(event.kind);
	if (event.kind != HV_EVENT_COMMAND && ++*n % 3)
		hv_buffer_put(to, c, &event);
	return true;
}

/* Like put_next(), for the briefs that C shows. */
static size_t put_shown(struct hv_buffer *to, struct hv_cursor *c, uint64_t *n)
{
	struct hv_brief briefs[HV_BRIEFS_MAX];
	size_t nr = hv_cursor_briefs(c, HV_BRIEFS_MAX, HV_BRIEF_ALL, briefs);
	uint64_t which = 0;

	for (size_t i = 0; i < nr; i++) {
		briefs[i].depth ^= is_call(briefs[i].kind);
		which |= (uint64_t)(++*n % 3 != 0) << i;
	}
	hv_buffer_put_briefs(to, c, briefs, which);
	hv_cursor_take_briefs(c, nr);
	return nr;
}

/* Equal byte for byte, whether a full buffer overwrites or drops. */
START_TEST(copied_briefs_equal_copied_events)
{
	const uint64_t size_bytes = 100 * sizeof(struct hv_record);
	struct hv_cursor *a = hv_cursor_new(rings, -1, HV_CURSOR_DRAIN);
	struct hv_cursor *b = hv_cursor_new(rings, -1, HV_CURSOR_DRAIN);
	uint64_t nr_a = 0, nr_b = 0, nr_brief = 0, nr;
	struct hv_buffer *other;

	hv_buffer_unref(host);
	ck_assert_ptr_null(hv_buffer_new(rings, &size_bytes, &host));
	ck_assert_ptr_null(hv_buffer_new(rings, &size_bytes, &other));
	hv_buffer_when_full(host, _i ? HV_FULL_DROPS : HV_FULL_OVERWRITES);
	hv_buffer_when_full(other, _i ? HV_FULL_DROPS : HV_FULL_OVERWRITES);
	put_random(100);
	put_calls_of_tasks(START + 100, NR_SLOTS);
	while (put_next(other, a, &nr_a))
		;
	do
		while ((nr = put_shown(host, b, &nr_b)))
			nr_brief += nr;
	while (put_next(host, b, &nr_b));
	ck_assert_uint_eq(nr_a, nr_b);
	ck_assert_uint_gt(nr_brief, 300);
	ck_assert_int_eq(host->cpus[0].nr_dropped != 0, _i);
	ck_assert_uint_eq(host->cpus[0].nr_dropped, other->cpus[0].nr_dropped);
	ck_assert_mem_eq(host->memory, other->memory, host->memory_bytes);
	hv_buffer_unref(other);
	hv_cursor_free(a);
	hv_cursor_free(b);
}
END_TEST

static size_t no_len(const struct hv_event *event hv_unused)
{
	return 0;
}

/* hv_buffer_stat() decodes calls only to measure them. */
START_TEST(counts_match_decoded_events)
{
	struct hv_buffer_stat counted, measured;

	put_random(NR_SLOTS - START);
	hv_buffer_stat(rings, -1, NULL, &counted);
	hv_buffer_stat(rings, -1, no_len, &measured);
	ck_assert_uint_gt(counted.entries, 300);
	ck_assert_uint_eq(counted.entries, measured.entries);
	ck_assert_uint_eq(counted.oldest_ns, measured.oldest_ns);
	ck_assert_uint_eq(counted.youngest_ns, measured.youngest_ns);
	ck_assert_uint_eq(counted.overrun, measured.overrun);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, briefs_match_full_events, 0, 4);
	tcase_add_test(tc, an_exit_with_a_return_value_has_no_brief);
	tcase_add_test(tc, a_clear_stops_briefs);
	tcase_add_loop_test(tc, copied_briefs_equal_copied_events, 0, 2);
	tcase_add_test(tc, counts_match_decoded_events);
}

int main(void)
{
	return run_suite("briefs", add_tests);
}
