/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/events/host_buffer.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/guard.h"
#include "tracer/events/buffer_state.h"
#include "tracer/events/cursor.h"
#include "tracer/events/decode.h"
#include "tracer/events/decoder.h"
#include "tracer/events/host_event.h"

/* -- buffers in host memory -------------------------------------------------------------------- */

#define RING_BYTES_MIN 8192
#define MEMORY_SHARE   2		   /* use at most half of the host's free memory */
#define KEPT_BYTES     ((size_t)256 << 20) /* part of the process's limit reserved for other uses */

/* A mapping counts against the limit of the process when it is created. */
static void *map(size_t len_bytes)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	size_t whole_bytes = (len_bytes + page_bytes - 1) / page_bytes * page_bytes;
	void *memory = mmap(NULL, whole_bytes + KEPT_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	munmap((char *)memory + whole_bytes, KEPT_BYTES);
	return memory;
}

/* The ring is rounded up to a power of two, because slots and laps are bits of a position
 * (docs/internals/ring.md). The excess at its old end does not count. */
static uint64_t ring_bytes_of(uint64_t size_bytes)
{
	uint64_t bytes = RING_BYTES_MIN;

	while (bytes < size_bytes)
		bytes *= 2;
	return bytes;
}

/* Returns the memory for the rings of all vCPUs; 0: more than the host can provide. */
static uint64_t rings_bytes(const uint64_t *sizes_bytes, unsigned nr_cpus)
{
	uint64_t free_bytes = (uint64_t)sysconf(_SC_AVPHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t left_bytes = free_bytes / MEMORY_SHARE, bytes = 0;

	for (unsigned cpu = 0; cpu < nr_cpus; cpu++) {
		uint64_t ring_bytes = ring_bytes_of(sizes_bytes[cpu]);

		if (ring_bytes > left_bytes)
			return 0;
		left_bytes -= ring_bytes;
		bytes += ring_bytes;
	}
	return bytes;
}

static struct hv_err *no_memory(const uint64_t *sizes_bytes, unsigned nr_cpus)
{
	uint64_t kb = 0;

	for (unsigned cpu = 0; cpu < nr_cpus; cpu++)
		kb += sizes_bytes[cpu] / 1024;
	return hv_err_new(ENOMEM, "no memory for %u buffers of %llu KiB together", nr_cpus,
			  (unsigned long long)kb);
}

struct hv_err *hv_buffer_new(const struct hv_buffer *beside, const uint64_t *sizes_bytes,
			     struct hv_buffer **ret)
{
	unsigned nr_cpus = beside->nr_cpus;
	uint64_t bytes = rings_bytes(sizes_bytes, nr_cpus);
	size_t len_bytes = nr_cpus * sizeof(struct hv_state) + bytes;
	uint8_t *memory = bytes ? map(len_bytes) : NULL, *at = memory;
	struct hv_buffer *b;

	if (!memory)
		return no_memory(sizes_bytes, nr_cpus);
	b = hv_buffer_alloc(beside->decoder, nr_cpus);
	for (unsigned cpu = 0; cpu < nr_cpus; cpu++) {
		uint64_t ring_bytes = ring_bytes_of(sizes_bytes[cpu]);
		struct hv_state *state = (struct hv_state *)at;

		state->head = hv_ring_head_at(0, ring_bytes / sizeof(struct hv_record));
		hv_buffer_set_ring(b, cpu, state, ring_bytes, sizes_bytes[cpu]);
		at += sizeof(*state) + ring_bytes;
	}
	b->memory = memory;
	b->memory_bytes = len_bytes;
	*ret = b;
	return NULL;
}

static void put_all(struct hv_buffer *b, unsigned cpu, const struct hv_record *records, size_t nr)
{
	hv_buffer_put_records(b, hv_lane_of_cpu(cpu), records, nr);
}

static void put(struct hv_buffer *b, unsigned cpu, const struct hv_record *record)
{
	put_all(b, cpu, record, 1);
}

static bool has_room(const struct hv_buffer *b, unsigned cpu, uint64_t nr)
{
	return hv_buffer_head(b, cpu) - b->cpus[cpu].consumed.position + nr <= b->cpus[cpu].nr_kept;
}

/* Idle tasks always have the same name, and unknown names are not recorded. */
static bool is_named(const struct hv_buffer_lane *c, const struct hv_event *e)
{
	if (c->named_pid == e->pid && memcmp(c->named_comm, e->comm, HV_COMM_LEN) == 0)
		return true;
	return e->pid == 0 || strcmp(e->comm, HV_COMM_UNKNOWN) == 0 ||
	       (e->kind == HV_EVENT_GUESTS && hv_host_event_is(e->id));
}

static void set_depth(struct hv_record *record, uint16_t depth)
{
	unsigned kind = hv_record_kind(record);

	if (kind != HV_RECORD_ENTRY && kind != HV_RECORD_EXIT)
		return;
	record->word[3] &= ~((uint64_t)HV_RECORD_DEPTH_MAX << HV_RECORD_DEPTH_SHIFT);
	record->word[3] |= (uint64_t)(depth & HV_RECORD_DEPTH_MAX) << HV_RECORD_DEPTH_SHIFT;
}

/* Copies the records of E, which the cursor returned, to RET, with the depth of E, and the type and
 * entry if E is a guest event: the caller may have changed these (tree/instance/demux/demux.h).
 * Returns the number of records. */
static unsigned copy_records(const struct hv_cursor *cursor, const struct hv_event *e,
			     struct hv_record *ret)
{
	unsigned nr;
	const struct hv_record *records = hv_cursor_records(cursor, &nr), *last = &records[nr - 1];

	if (e->kind == HV_EVENT_GUESTS && hv_record_event_id(last) != e->id)
		return hv_encode_entry(last, e, ret);
	memcpy(ret, records, nr * sizeof(*ret));
	set_depth(&ret[nr - 1], e->depth);
	return nr;
}

void hv_buffer_put_host(struct hv_buffer *b, const struct hv_record *records, unsigned nr,
			const struct hv_event *e)
{
	struct hv_record lost = hv_encode_lost(hv_record_tsc(&records[0]), e->lost_before);

	if (b->when_full == HV_FULL_DROPS && !has_room(b, e->cpu, nr + 1)) {
		b->cpus[e->cpu].nr_dropped++;
		return;
	}
	if (e->lost_before)
		put(b, e->cpu, &lost);
	put_all(b, e->cpu, records, nr);
}

/* The records of an event, with the additional ones before it. */
struct listed {
	struct hv_record list[2 + HV_EVENT_RECORDS_MAX];
	unsigned nr;
	bool named;
};

/* Starts the list with the number of lost events and the task's name, if it differs from the name
 * before. */
static void list_before(const struct hv_buffer *b, uint64_t tsc, const struct hv_event *e,
			struct listed *ret)
{
	ret->nr = 0;
	ret->named = is_named(&b->cpus[e->cpu], e);
	if (e->lost_before)
		ret->list[ret->nr++] = hv_encode_lost(tsc, e->lost_before);
	if (!ret->named)
		ret->list[ret->nr++] = hv_encode_task(tsc, e->pid, e->tgid, e->comm);
}

/* Writes all records or none. */
static void put_listed(struct hv_buffer *b, const struct hv_event *e, const struct listed *listed)
{
	struct hv_buffer_lane *c = &b->cpus[e->cpu];

	if (b->when_full == HV_FULL_DROPS && !has_room(b, e->cpu, listed->nr)) {
		c->nr_dropped++;
		return;
	}
	if (!listed->named) {
		c->named_pid = e->pid;
		memcpy(c->named_comm, e->comm, HV_COMM_LEN);
	}
	put_all(b, e->cpu, listed->list, listed->nr);
}

void hv_buffer_put(struct hv_buffer *b, const struct hv_cursor *cursor, const struct hv_event *e)
{
	struct listed listed;
	unsigned nr;

	list_before(b, hv_record_tsc(&hv_cursor_records(cursor, &nr)[0]), e, &listed);
	listed.nr += copy_records(cursor, e, listed.list + listed.nr);
	put_listed(b, e, &listed);
}

void hv_buffer_put_late(struct hv_buffer *b, const struct hv_record *of,
			const struct hv_cursor *cursor, const struct hv_event *e)
{
	struct hv_record record = *of;
	struct listed listed;
	unsigned nr;

	record.word[0] = hv_cursor_records(cursor, &nr)[0].word[0];
	list_before(b, hv_record_tsc(&record), e, &listed);
	listed.nr += hv_encode_entry(&record, e, listed.list + listed.nr);
	put_listed(b, e, &listed);
}

/* Records of hv_buffer_put_briefs(), written together at the end. */
struct batch {
	struct hv_record list[2 * HV_BRIEFS_MAX]; /* at most one task record before each */
	size_t nr;
	struct hv_event task; /* task of the last event; only kind, pid, tgid and comm are set */
	bool named;	      /* no task record is needed for it */
};

static void add_task(struct hv_buffer_lane *c, uint64_t tsc, struct batch *batch)
{
	const struct hv_event *task = &batch->task;

	batch->list[batch->nr++] = hv_encode_task(tsc, task->pid, task->tgid, task->comm);
	batch->named = true;
	c->named_pid = task->pid;
	memcpy(c->named_comm, task->comm, HV_COMM_LEN);
}

static inline void add_brief(struct hv_buffer *b, unsigned cpu, const struct hv_record *record,
			     const struct hv_brief *brief, struct batch *batch)
{
	struct hv_buffer_lane *c = &b->cpus[cpu];

	if (batch->task.pid != brief->pid) {
		batch->task.pid = brief->pid;
		hv_decoder_name_task(b->decoder, &batch->task);
		batch->named = is_named(c, &batch->task);
	}
	if (b->when_full == HV_FULL_DROPS && !has_room(b, cpu, batch->nr + 1 + !batch->named)) {
		c->nr_dropped++;
		return;
	}
	if (!batch->named)
		add_task(c, hv_record_tsc(record), batch);
	batch->list[batch->nr] = *record;
	set_depth(&batch->list[batch->nr++], brief->depth);
}

void hv_buffer_put_briefs(struct hv_buffer *b, const struct hv_cursor *cursor,
			  const struct hv_brief *briefs, uint64_t which)
{
	unsigned cpu;
	const struct hv_kept *shown = hv_cursor_brief_records(cursor, &cpu);
	struct batch batch;

	if (!which)
		return;
	batch.nr = 0;
	batch.task.kind = HV_EVENT_FUNCTION;
	batch.task.pid = 0; /* an idle task needs no name */
	batch.named = true;
	for (; which; which &= which - 1) {
		int i = __builtin_ctzll(which);

		add_brief(b, cpu, &shown[i].record, &briefs[i], &batch);
	}
	put_all(b, cpu, batch.list, batch.nr);
}

static size_t move_briefs(struct hv_cursor *c, struct hv_buffer *to)
{
	struct hv_brief briefs[HV_BRIEFS_MAX];
	size_t nr = hv_cursor_briefs(c, HV_BRIEFS_MAX, HV_BRIEF_ALL, briefs);

	hv_buffer_put_briefs(to, c, briefs, hv_briefs_first(nr));
	hv_cursor_take_briefs(c, nr);
	return nr;
}

void hv_buffer_move(struct hv_buffer *from, int only_cpu, struct hv_buffer *to)
{
	struct hv_cursor *c = hv_cursor_new(from, only_cpu, HV_CURSOR_TAKE);
	struct hv_lanes lanes = hv_lanes_of(from, only_cpu);
	struct hv_event event;

	for (;;) {
		while (move_briefs(c, to))
			;
		if (hv_cursor_next(c, &event) != HV_NEXT_EVENT)
			break;
		hv_buffer_put(to, c, &event);
	}
	for (unsigned i = 0; i < lanes.nr; i++) {
		const struct hv_buffer_lane *taken = &from->lanes[lanes.first + i];
		struct hv_buffer_lane *added = &to->cpus[hv_cpu_of_lane(lanes.first + i)];

		added->nr_lost += taken->nr_lost;
		added->nr_dropped += taken->nr_dropped;
		added->nr_read += taken->nr_read;
	}
	hv_cursor_consume(c);
	for (unsigned i = 0; i < lanes.nr; i++) {
		struct hv_buffer_lane *taken = &from->lanes[lanes.first + i];

		taken->nr_clears++;
		from->nr_clears++;
		taken->nr_lost = taken->nr_read = taken->nr_dropped = 0;
		taken->named_pid = 0;
	}
	hv_cursor_free(c);
}

/* -- markers ----------------------------------------------------------------------------------- */

#define CPU 0

/* Finds the youngest record of a lane. Returns false if the lane is empty, or the record is being
 * written. */
static bool youngest_of(struct hv_buffer *b, unsigned lane, struct hv_record *ret)
{
	struct hv_ring ring;
	uint64_t lost;

	hv_buffer_ring(b, lane, &ring);
	ring.position = hv_ring_head(&ring) - 1;
	if (ring.position == UINT64_MAX)
		return false;
	return hv_ring_read(&ring, hv_now_ns(), ret, &lost) == HV_RING_RECORD;
}

/* Returns the present time, or the time right after the youngest record if that is later, because
 * the guest's clock may have only the resolution of a tick. */
static uint64_t time_of_mark(struct hv_buffer *b)
{
	struct hv_clocks *clocks = b->decoder->clocks;
	struct hv_lanes lanes = hv_lanes_of(b, -1);
	struct hv_record record;
	uint64_t time_ns = 0;

	hv_clocks_now_ns(clocks, HV_TRACE_CLOCK_GUEST, &time_ns);
	for (unsigned i = 0; i < lanes.nr; i++) {
		unsigned lane = lanes.first + i;
		uint64_t ns;

		if (!youngest_of(b, lane, &record))
			continue;
		ns = hv_clocks_event_ns(clocks, HV_TRACE_CLOCK_GUEST, hv_cpu_of_lane(lane),
					hv_record_tsc(&record));
		if (ns >= time_ns)
			time_ns = ns < UINT64_MAX ? ns + 1 : ns;
	}
	return time_ns;
}

/* The time stamp is exact if the guest's counter is known. */
static uint64_t tsc_of_mark(struct hv_buffer *b)
{
	uint64_t tsc;

	if (hv_clocks_now_tsc(b->decoder->clocks, CPU, &tsc))
		return tsc;
	return hv_clocks_tsc_at(b->decoder->clocks, CPU, time_of_mark(b));
}

struct hv_marker_time hv_buffer_put_marker(struct hv_buffer *b, enum hv_event_kind kind,
					   const char *bytes, size_t len_bytes)
{
	uint64_t id = hv_marker_texts_add(&b->decoder->marker_texts, kind, bytes, len_bytes);
	uint64_t tsc = tsc_of_mark(b);
	struct hv_record record = {
		.word = {tsc, id, 0, (uint64_t)HV_RECORD_MARK << HV_RECORD_KIND_SHIFT},
	};

	hv_buffer_put_records(b, b->markers ? 0 : hv_lane_of_cpu(CPU), &record, 1);
	return (struct hv_marker_time){
		tsc,
		hv_clocks_event_ns(b->decoder->clocks, HV_TRACE_CLOCK_GUEST, CPU, tsc),
	};
}

void hv_buffer_put_made(struct hv_buffer *b, uint64_t tsc, const struct hv_event *e)
{
	const struct hv_record marker = {
		.word = {tsc, 0, 0, (uint64_t)HV_RECORD_EVENT << HV_RECORD_KIND_SHIFT},
	};
	struct hv_record records[HV_DATA_RECORDS_MAX + 1];
	unsigned nr = hv_encode_entry(&marker, e, records);

	hv_buffer_put_host(b, records, nr, e);
}
