/* Cursors: the rings of a session as events in time order, each reader at its own place. */
#include "tracer/session_state.h"

#include <string.h>

#define TASKS_EVERY_NS 1000000000ULL

struct hv_cursor {
	struct hv_session *session; /* borrowed */
	struct hv_merge *merge;
	enum hv_cursor_mode mode;
	unsigned first_cpu; /* of the rings merged */
	unsigned nr_cpus;
	uint64_t lost;	     /* returned in events since the last consume */
	unsigned *nr_clears; /* owned, one a vCPU: the session's when the merge was made */
};

static uint64_t clock_ns(void *ctx, unsigned cpu, uint64_t tsc)
{
	return hv_clock_ns(ctx, cpu, tsc);
}

static void ring_of(struct hv_session *s, unsigned cpu, struct hv_ring *ret)
{
	const uint8_t *records = s->region.host + HV_REGION_RINGS_OFF + cpu * s->plan.ring_bytes;

	hv_ring_init(ret, hv_region_state(&s->region, cpu), (const struct hv_record *)records,
		     s->plan.nr_slots);
}

/* From MARKS on, one a vCPU. */
static void begin(struct hv_cursor *c, const struct hv_merge_mark *marks)
{
	struct hv_session *s = c->session;
	HV_AUTO_FREE struct hv_ring *rings = hv_alloc(c->nr_cpus * sizeof(*rings));

	for (unsigned i = 0; i < c->nr_cpus; i++)
		ring_of(s, c->first_cpu + i, &rings[i]);
	hv_merge_free(c->merge);
	c->merge = hv_merge_new(rings, c->first_cpu, c->nr_cpus, marks,
				(struct hv_merge_clock){clock_ns, s->clock});
	if (c->mode == HV_CURSOR_DUMP)
		hv_merge_stop_here(c->merge);
	memcpy(c->nr_clears, s->nr_clears + c->first_cpu, c->nr_cpus * sizeof(*c->nr_clears));
}

/* vCPUs that were cleared go on from there, the others where they are. */
static void follow_clears(struct hv_cursor *c)
{
	const struct hv_session *s = c->session;
	const unsigned *nr_clears = s->nr_clears + c->first_cpu;
	HV_AUTO_FREE struct hv_merge_mark *marks = NULL;

	if (memcmp(c->nr_clears, nr_clears, c->nr_cpus * sizeof(*nr_clears)) == 0)
		return;
	marks = hv_alloc(c->nr_cpus * sizeof(*marks));
	hv_merge_marks(c->merge, marks);
	for (unsigned i = 0; i < c->nr_cpus; i++)
		if (c->nr_clears[i] != nr_clears[i])
			marks[i] = s->marks[c->first_cpu + i];
	begin(c, marks);
}

struct hv_cursor *hv_cursor_new(struct hv_session *s, int only_cpu, enum hv_cursor_mode mode)
{
	struct hv_cursor *c = hv_alloc(sizeof(*c));

	c->session = s;
	c->first_cpu = only_cpu < 0 ? 0 : (unsigned)only_cpu;
	c->nr_cpus = only_cpu < 0 ? s->plan.nr_cpus : 1;
	c->mode = mode;
	c->nr_clears = hv_alloc(c->nr_cpus * sizeof(*c->nr_clears));
	begin(c, s->marks + c->first_cpu);
	return c;
}

void hv_cursor_free(struct hv_cursor *c)
{
	if (!c)
		return;
	hv_merge_free(c->merge);
	free(c->nr_clears);
	free(c);
}

static void note_task(struct hv_session *s, const struct hv_record *record)
{
	char comm[HV_COMM_LEN];
	uint32_t pid;

	hv_decode_task(record, &pid, comm);
	hv_comms_set(s->comms, pid, comm);
}

static void decode(struct hv_cursor *c, const struct hv_merge_item *item, struct hv_event *ret)
{
	hv_decode_function(&c->session->decode, &item->record, ret);
	ret->cpu = item->cpu;
	ret->time_ns = item->time_ns;
	ret->lost_before = item->lost_before;
	hv_event_set_comm(ret, ret->pid ? hv_session_comm(c->session, ret->pid) : NULL);
	c->lost += item->lost_before;
}

enum hv_next hv_cursor_next(struct hv_cursor *c, struct hv_event *ret)
{
	enum hv_merge_until until = c->mode == HV_CURSOR_DUMP ? HV_MERGE_FINAL : HV_MERGE_LIVE;
	uint64_t now_ns = hv_now_ns();
	struct hv_merge_item item;

	follow_clears(c);
	while (hv_merge_next(c->merge, now_ns, until, &item)) {
		if (hv_record_kind(&item.record) == HV_RECORD_TASK) {
			note_task(c->session, &item.record);
			continue;
		}
		decode(c, &item, ret);
		return HV_NEXT_EVENT;
	}
	return HV_NEXT_EMPTY;
}

void hv_cursor_consume(struct hv_cursor *c)
{
	hv_merge_marks(c->merge, c->session->marks + c->first_cpu);
	c->session->nr_lost += c->lost;
	c->lost = 0;
}

static void clear_cpu(struct hv_session *s, unsigned cpu)
{
	struct hv_ring ring;

	ring_of(s, cpu, &ring);
	s->nr_lost += hv_session_overwritten(s, cpu);
	s->marks[cpu] = hv_merge_mark_at(hv_ring_head(&ring));
	s->nr_clears[cpu]++;
}

void hv_session_clear(struct hv_session *s, int only_cpu)
{
	if (only_cpu >= 0)
		clear_cpu(s, (unsigned)only_cpu);
	for (unsigned cpu = 0; only_cpu < 0 && cpu < s->plan.nr_cpus; cpu++)
		clear_cpu(s, cpu);
}

static const char *find_in_tasks(struct hv_session *s, uint32_t pid)
{
	for (size_t i = 0; i < s->tasks.nr; i++)
		if (s->tasks.list[i].pid == pid)
			return s->tasks.list[i].comm;
	return NULL;
}

const char *hv_session_comm(struct hv_session *s, uint32_t pid)
{
	const char *comm = hv_comms_find(s->comms, pid);

	if (!comm)
		comm = find_in_tasks(s, pid);
	if (comm || hv_now_ns() - s->tasks_read_ns < TASKS_EVERY_NS)
		return comm;
	s->tasks_read_ns = hv_now_ns();
	hv_tasks_deinit(&s->tasks);
	/* No names is a bearable answer. */
	hv_err_free(hv_tasks_read(s->kernel, &s->tasks));
	return find_in_tasks(s, pid);
}

void hv_session_entries(struct hv_session *s, int only_cpu, uint64_t *ret_in_buffer,
			uint64_t *ret_written)
{
	struct hv_cursor *c = hv_cursor_new(s, only_cpu, HV_CURSOR_DUMP);
	struct hv_event event;
	uint64_t nr = 0;

	while (hv_cursor_next(c, &event) == HV_NEXT_EVENT)
		nr++;
	*ret_in_buffer = nr;
	*ret_written = nr + hv_merge_lost(c->merge);
	hv_cursor_free(c);
}

bool hv_session_comm_at(struct hv_session *s, size_t index, uint32_t *ret_pid,
			const char **ret_comm)
{
	return hv_comms_at(s->comms, index, ret_pid, ret_comm);
}
