/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Perfetto's trace format: a sequence of TracePacket messages of its protobuf schema
 * (protos/perfetto/trace).
 *
 * Each task has a track with slices for function_graph calls and instants for other events. Each
 * vCPU has a track with the tasks it ran. Counters show how many vCPUs run a task, and how many
 * events were lost. Threads of the host have separate tracks. The name of a function is written
 * only with the first event that uses it.
 *
 * docs/users/files.md describes the contents of the file; tests/files/perfetto.proto has the used
 * part of the schema. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "export/export.h"
#include "export/page_decode.h"
#include "export/raw_pages.h"
#include "export/output.h"
#include "export/protobuf.h"
#include "tracer/events/host_event.h"

enum { /* numbers of message fields */
       TRACE_PACKET = 1,
       PACKET_CLOCKS = 6,
       PACKET_TIMESTAMP = 8,
       PACKET_SEQUENCE_ID = 10,
       PACKET_TRACK_EVENT = 11,
       PACKET_INTERNED_DATA = 12,
       PACKET_SEQUENCE_FLAGS = 13,
       PACKET_TRACK_DESCRIPTOR = 60,
       EVENT_TYPE = 9,
       EVENT_NAME_IID = 10,
       EVENT_TRACK_UUID = 11,
       EVENT_NAME = 23,
       EVENT_COUNTER_VALUE = 30,
       INTERNED_EVENT_NAMES = 2,
       EVENT_NAME_ENTRY_IID = 1,
       EVENT_NAME_ENTRY_NAME = 2,
       TRACK_UUID = 1,
       TRACK_NAME = 2,
       TRACK_THREAD = 4,
       TRACK_PARENT_UUID = 5,
       TRACK_COUNTER = 8,
       COUNTER_UNIT = 3,
       THREAD_PID = 1,
       THREAD_TID = 2,
       THREAD_NAME = 5,
       CLOCKS_CLOCK = 1,
       CLOCK_ID = 1,
       CLOCK_TIMESTAMP = 2,
};

enum clock { CLOCK_REAL = 1, CLOCK_OF_PACKETS = 6 };

enum event_type { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 };

#define HOST_ENTRY "kvm_entry"
#define HOST_EXIT  "kvm_exit"
#define IN_GUEST   "in the guest"

#define UNIT_COUNT    2
#define SEQUENCE_ID   1
#define STATE_CLEARED 1
#define NEEDS_STATE   2

/* Tracks. A task's track is TRACK_TASKS plus its pid. All idle tasks have pid 0, so each vCPU's
 * idle task has a separate track. */
#define TRACK_VCPUS (UINT64_C(1) << 32)
#define TRACK_IDLE  (UINT64_C(2) << 32)
#define TRACK_TASKS (UINT64_C(3) << 32)
#define TRACK_BUSY  (UINT64_C(4) << 32)
#define TRACK_LOST  (TRACK_BUSY + 1)
#define TRACK_HOST  (UINT64_C(5) << 32) /* of a host thread: plus 1, plus its id */
#define NO_TASK	    UINT32_MAX

/* -- the trace -------------------------------------------------------------------------------- */

struct perfetto {
	struct hv_export base;
	struct hv_output output;
	struct hv_page_decode decode;
	struct hv_page_merge merge;
	struct hv_map names, tracks; /* numbers of written function names and task tracks */
	uint32_t *tasks;	     /* owned, one per vCPU: the task on its track, or NO_TASK */
	bool sees_switches;	     /* idle vCPUs are known */
	bool has_host;		     /* the parent track of the host's threads was written */
	bool sees_runs;	       /* kvm_entry and kvm_exit exist: shows when vCPUs are in the guest */
	uint64_t nr_busy;      /* vCPUs that run a task other than the idle task */
	uint64_t nr_lost;      /* lost events; a lower bound if pages do not count them */
	struct hv_text packet; /* the messages under construction */
	struct hv_text part, inner;
};

static struct perfetto *perfetto_of(struct hv_export *x)
{
	return (struct perfetto *)x;
}

/* Returns the number of KEY, which must not be 0. Sets *RET_NEW if KEY was not in M. */
static uint64_t know(struct hv_map *m, uint64_t key, bool *ret_new)
{
	void *number = hv_map_find(m, key);

	*ret_new = !number;
	if (!number) {
		number = (void *)(uintptr_t)(m->nr + 1);
		hv_map_add(m, key, number);
	}
	return (uintptr_t)number;
}

/* Ends the current packet. */
static struct hv_err *put_packet(struct perfetto *p)
{
	hv_protobuf_number(&p->packet, PACKET_SEQUENCE_ID, SEQUENCE_ID);
	hv_protobuf_message(&p->output.pending, TRACE_PACKET, &p->packet);
	hv_text_clear(&p->packet);
	return hv_output_mark(&p->output);
}

/* Adds a track that is not a task's. PARENT may be 0. */
static struct hv_err *put_track(struct perfetto *p, uint64_t uuid, uint64_t parent,
				const char *name)
{
	hv_text_clear(&p->part);
	hv_protobuf_number(&p->part, TRACK_UUID, uuid);
	if (parent)
		hv_protobuf_number(&p->part, TRACK_PARENT_UUID, parent);
	hv_protobuf_string(&p->part, TRACK_NAME, name, strlen(name));
	hv_protobuf_message(&p->packet, PACKET_TRACK_DESCRIPTOR, &p->part);
	return put_packet(p);
}

static struct hv_err *put_task_track(struct perfetto *p, uint64_t uuid, const struct hv_event *e)
{
	HV_AUTO_TEXT struct hv_text name = {0};

	hv_text_add_utf8(&name, e->comm, sizeof(e->comm));
	hv_text_clear(&p->inner);
	hv_protobuf_number(&p->inner, THREAD_PID, e->pid);
	hv_protobuf_number(&p->inner, THREAD_TID, e->pid);
	hv_protobuf_string(&p->inner, THREAD_NAME, name.data, name.len_bytes);
	hv_text_clear(&p->part);
	hv_protobuf_number(&p->part, TRACK_UUID, uuid);
	hv_protobuf_message(&p->part, TRACK_THREAD, &p->inner);
	hv_protobuf_message(&p->packet, PACKET_TRACK_DESCRIPTOR, &p->part);
	return put_packet(p);
}

/* Returns the track of E's task, and describes the track when it is first used. */
static struct hv_err *find_track(struct perfetto *p, const struct hv_event *e, uint64_t *ret)
{
	uint64_t uuid = e->pid ? TRACK_TASKS + e->pid : TRACK_IDLE + e->cpu + 1;
	bool is_new;
	HV_AUTO_FREE char *name = NULL;

	*ret = uuid;
	know(&p->tracks, uuid, &is_new);
	if (!is_new)
		return NULL;
	if (e->pid)
		return put_task_track(p, uuid, e);
	name = hv_format("idle on vCPU %u", e->cpu);
	return put_track(p, uuid, TRACK_IDLE, name);
}

static void begin_event(struct perfetto *p, enum event_type type, uint64_t track)
{
	hv_text_clear(&p->part);
	hv_protobuf_number(&p->part, EVENT_TYPE, type);
	hv_protobuf_number(&p->part, EVENT_TRACK_UUID, track);
}

static struct hv_err *end_event(struct perfetto *p, uint64_t time_ns)
{
	hv_protobuf_number(&p->packet, PACKET_TIMESTAMP, time_ns);
	hv_protobuf_message(&p->packet, PACKET_TRACK_EVENT, &p->part);
	hv_protobuf_number(&p->packet, PACKET_SEQUENCE_FLAGS, NEEDS_STATE);
	return put_packet(p);
}

static struct hv_err *put_named(struct perfetto *p, enum event_type type, uint64_t track,
				uint64_t time_ns, const char *name, size_t len_bytes)
{
	begin_event(p, type, track);
	hv_protobuf_string(&p->part, EVENT_NAME, name, len_bytes);
	return end_event(p, time_ns);
}

/* Adds a counter track for integers. */
static struct hv_err *put_counter_track(struct perfetto *p, uint64_t uuid, const char *name)
{
	hv_text_clear(&p->inner);
	hv_protobuf_number(&p->inner, COUNTER_UNIT, UNIT_COUNT);
	hv_text_clear(&p->part);
	hv_protobuf_number(&p->part, TRACK_UUID, uuid);
	hv_protobuf_string(&p->part, TRACK_NAME, name, strlen(name));
	hv_protobuf_message(&p->part, TRACK_COUNTER, &p->inner);
	hv_protobuf_message(&p->packet, PACKET_TRACK_DESCRIPTOR, &p->part);
	return put_packet(p);
}

static struct hv_err *put_counter(struct perfetto *p, uint64_t track, uint64_t time_ns,
				  uint64_t value)
{
	begin_event(p, COUNTER, track);
	hv_protobuf_number(&p->part, EVENT_COUNTER_VALUE, value);
	return end_event(p, time_ns);
}

/* The first packet that uses a function contains its name. */
static void add_function(struct perfetto *p, struct hv_gva ip)
{
	const struct hv_symbol *symbol = hv_page_decode_symbol(&p->decode, ip);
	HV_AUTO_TEXT struct hv_text name = {0}, entry = {0};
	bool is_new;
	uint64_t iid = know(&p->names, symbol ? symbol->addr.v | 1 : ip.v | 1, &is_new);

	hv_protobuf_number(&p->part, EVENT_NAME_IID, iid);
	if (!is_new)
		return;
	if (symbol)
		hv_text_add_utf8(&name, symbol->name, HV_SYMBOL_NAME_MAX);
	else
		hv_text_printf(&name, "0x%" PRIx64, ip.v);
	hv_protobuf_number(&entry, EVENT_NAME_ENTRY_IID, iid);
	hv_protobuf_string(&entry, EVENT_NAME_ENTRY_NAME, name.data, name.len_bytes);
	hv_text_clear(&p->inner);
	hv_protobuf_message(&p->inner, INTERNED_EVENT_NAMES, &entry);
	hv_protobuf_message(&p->packet, PACKET_INTERNED_DATA, &p->inner);
}

static struct hv_err *put_function(struct perfetto *p, enum event_type type, uint64_t track,
				   const struct hv_event *e)
{
	begin_event(p, type, track);
	if (type != SLICE_END)
		add_function(p, e->ip);
	return end_event(p, e->time_ns);
}

static bool is_busy(uint32_t pid)
{
	return pid && pid != NO_TASK;
}

/* A task is on the vCPU's track from its first event until another task's event. */
static struct hv_err *put_switch(struct perfetto *p, const struct hv_event *e)
{
	uint64_t track = TRACK_VCPUS + e->cpu + 1;
	HV_AUTO_TEXT struct hv_text name = {0};
	struct hv_err *err = NULL;

	if (p->tasks[e->cpu] == e->pid)
		return NULL;
	if (p->tasks[e->cpu] != NO_TASK) {
		begin_event(p, SLICE_END, track);
		err = end_event(p, e->time_ns);
	}
	p->nr_busy += is_busy(e->pid);
	p->nr_busy -= is_busy(p->tasks[e->cpu]);
	p->tasks[e->cpu] = e->pid;
	hv_text_add_utf8(&name, e->comm, sizeof(e->comm));
	hv_text_printf(&name, "-%" PRIu32, e->pid);
	if (!err)
		err = put_named(p, SLICE_BEGIN, track, e->time_ns, name.data, name.len_bytes);
	if (!err && p->sees_switches)
		err = put_counter(p, TRACK_BUSY, e->time_ns, p->nr_busy);
	return err;
}

static struct hv_err *put_lost(struct perfetto *p, const struct hv_merged *m)
{
	HV_AUTO_FREE char *name =
		m->lost ? hv_format("%" PRIu64 " events lost", m->lost) : hv_strdup("events lost");

	struct hv_err *err = put_named(p, INSTANT, TRACK_VCPUS + m->cpu + 1, m->event.time_ns, name,
				       strlen(name));

	p->nr_lost += m->lost ? m->lost : 1;
	return err ? err : put_counter(p, TRACK_LOST, m->event.time_ns, p->nr_lost);
}

static struct hv_err *put_text(struct perfetto *p, uint64_t track, const struct hv_event *e)
{
	HV_AUTO_TEXT struct hv_text name = {0};
	size_t len =
		e->text_len && e->text[e->text_len - 1] == '\n' ? e->text_len - 1 : e->text_len;

	hv_text_add_utf8(&name, e->text, len);
	hv_text_add(&name, "");
	return put_named(p, INSTANT, track, e->time_ns, name.data, name.len_bytes);
}

/* Shows the next task of sched_switch. */
static struct hv_err *switch_to_next(struct perfetto *p, const struct hv_event_type *type,
				     const struct hv_event *e)
{
	const struct hv_catalogue *c = &p->decode.catalogue;
	const struct hv_event_field *pid = hv_event_type_field(c, type, "next_pid");
	const struct hv_event_field *comm = hv_event_type_field(c, type, "next_comm");
	struct hv_event next = {.cpu = e->cpu, .time_ns = e->time_ns};
	struct hv_entry_value value;

	if (!pid || !comm || !hv_span_u32(e->entry, pid->off, &next.pid) ||
	    !hv_entry_value(comm, e->entry, &value) || value.kind != HV_ENTRY_STRING)
		return NULL;
	if (value.bytes.len_bytes >= sizeof(next.comm))
		value.bytes.len_bytes = sizeof(next.comm) - 1;
	memcpy(next.comm, value.bytes.data, value.bytes.len_bytes);
	p->sees_switches = true;
	return put_switch(p, &next);
}

static struct hv_err *put_guests(struct perfetto *p, uint64_t track, const struct hv_event *e)
{
	const struct hv_event_type *type = hv_catalogue_by_id(&p->decode.catalogue, e->id);
	struct hv_err *err;

	if (!type)
		return NULL;
	err = put_named(p, INSTANT, track, e->time_ns, type->name, strlen(type->name));
	if (!err && strcmp(type->name, "sched_switch") == 0)
		err = switch_to_next(p, type, e);
	return err;
}

/* Adds an event of a host thread. The track is not a thread track, because the thread's id may
 * equal the pid of a guest task, and both would share a track. A slice shows when it runs a vCPU in
 * the guest. */
static struct hv_err *put_host(struct perfetto *p, const struct hv_event *e)
{
	const struct hv_event_type *type = hv_catalogue_by_id(&p->decode.catalogue, e->id);
	uint64_t track = TRACK_HOST + 1 + e->pid;
	struct hv_err *err = NULL;
	bool is_new;

	if (!type)
		return NULL;
	know(&p->tracks, track, &is_new);
	if (is_new) {
		HV_AUTO_FREE char *name =
			e->pid ? hv_format("thread %" PRIu32, e->pid) : hv_strdup("idle");

		if (!p->has_host)
			err = put_track(p, TRACK_HOST, 0, "host");
		p->has_host = true;
		if (!err)
			err = put_track(p, track, TRACK_HOST, name);
	}
	if (!err && p->sees_runs && strcmp(type->name, HOST_EXIT) == 0) {
		begin_event(p, SLICE_END, track);
		err = end_event(p, e->time_ns);
	}
	if (!err)
		err = put_named(p, INSTANT, track, e->time_ns, type->name, strlen(type->name));
	if (!err && p->sees_runs && strcmp(type->name, HOST_ENTRY) == 0)
		err = put_named(p, SLICE_BEGIN, track, e->time_ns, IN_GUEST, strlen(IN_GUEST));
	return err;
}

static struct hv_err *put_event(struct perfetto *p, const struct hv_event *e)
{
	struct hv_err *err;
	uint64_t track;

	if (e->kind == HV_EVENT_GUESTS && hv_host_event_is(e->id))
		return put_host(p, e);
	err = put_switch(p, e);
	if (!err)
		err = find_track(p, e, &track);
	if (err)
		return err;
	switch (e->kind) {
	case HV_EVENT_FUNCTION:
		return put_function(p, INSTANT, track, e);
	case HV_EVENT_GRAPH_ENTRY:
		return put_function(p, SLICE_BEGIN, track, e);
	case HV_EVENT_GRAPH_EXIT:
		return put_function(p, SLICE_END, track, e);
	case HV_EVENT_PRINT:
		return put_text(p, track, e);
	case HV_EVENT_GUESTS:
		return put_guests(p, track, e);
	case HV_EVENT_RAW_DATA:
	case HV_EVENT_STACK:
	case HV_EVENT_COMMAND:
		break;
	}
	return NULL;
}

static struct hv_err *write_events(struct perfetto *p)
{
	struct hv_err *err = NULL;
	struct hv_merged m;
	struct hv_event e;

	while (!err && hv_page_merge_next(&p->merge, &m)) {
		if (m.has_lost)
			err = put_lost(p, &m);
		if (!err && hv_page_decode_event(&p->decode, &m, &e))
			err = put_event(p, &e);
	}
	return err;
}

static void add_clock(struct perfetto *p, enum clock id, uint64_t time_ns)
{
	hv_text_clear(&p->inner);
	hv_protobuf_number(&p->inner, CLOCK_ID, id);
	hv_protobuf_number(&p->inner, CLOCK_TIMESTAMP, time_ns);
	hv_protobuf_message(&p->part, CLOCKS_CLOCK, &p->inner);
}

/* Maps clock value 0 to wall-clock time. */
static struct hv_err *put_date(struct perfetto *p, const struct hv_export_head *head)
{
	if (!head->has_date)
		return NULL;
	hv_text_clear(&p->part);
	add_clock(p, CLOCK_OF_PACKETS, 0);
	add_clock(p, CLOCK_REAL, head->clock_epoch_ns);
	hv_protobuf_message(&p->packet, PACKET_CLOCKS, &p->part);
	return put_packet(p);
}

static struct hv_err *put_head(struct perfetto *p, const struct hv_export_head *head)
{
	struct hv_err *err;

	hv_protobuf_number(&p->packet, PACKET_SEQUENCE_FLAGS, STATE_CLEARED);
	err = put_packet(p);
	if (!err)
		err = put_date(p, head);
	if (!err)
		err = put_track(p, TRACK_VCPUS, 0, "vCPUs");
	if (!err)
		err = put_track(p, TRACK_IDLE, 0, "idle");
	if (!err)
		err = put_counter_track(p, TRACK_BUSY, "vCPUs that run a task");
	if (!err)
		err = put_counter_track(p, TRACK_LOST, "events lost");
	for (unsigned i = 0; i < head->nr_cpus && !err; i++) {
		HV_AUTO_FREE char *name = hv_format("vCPU %u", i);

		err = put_track(p, TRACK_VCPUS + i + 1, TRACK_VCPUS, name);
	}
	return err;
}

/* The slices of host threads need both events. */
static bool has_runs(const struct perfetto *p)
{
	bool has_entry = false, has_exit = false;

	for (uint16_t id = HV_HOST_ID_FIRST; id < HV_HOST_ID_END; id++) {
		const struct hv_event_type *type = hv_catalogue_by_id(&p->decode.catalogue, id);

		has_entry |= type && strcmp(type->name, HOST_ENTRY) == 0;
		has_exit |= type && strcmp(type->name, HOST_EXIT) == 0;
	}
	return has_entry && has_exit;
}

static void perfetto_free(struct hv_export *x)
{
	struct perfetto *p = perfetto_of(x);

	hv_output_deinit(&p->output);
	hv_page_decode_deinit(&p->decode);
	hv_page_merge_deinit(&p->merge);
	hv_text_deinit(&p->packet);
	hv_text_deinit(&p->part);
	hv_text_deinit(&p->inner);
	hv_map_deinit(&p->names);
	hv_map_deinit(&p->tracks);
	free(p->tasks);
	free(p);
}

static struct hv_err *perfetto_open(const struct hv_export_config *config,
				    const struct hv_export_head *head, struct hv_export **ret)
{
	struct perfetto *p = hv_alloc(sizeof(*p));
	struct hv_err *err;

	hv_output_init(&p->output, config);
	hv_page_decode_init(&p->decode, head);
	hv_page_merge_init(&p->merge, head->nr_cpus, head->page_bytes);
	p->tasks = hv_realloc_array(NULL, head->nr_cpus, sizeof(*p->tasks));
	for (unsigned i = 0; i < head->nr_cpus; i++)
		p->tasks[i] = NO_TASK;
	p->sees_runs = has_runs(p);
	err = put_head(p, head);
	if (err) {
		perfetto_free(&p->base);
		return err;
	}
	*ret = &p->base;
	return NULL;
}

/* Events are written in the next turn, when the names of their tasks can be known. */
static struct hv_err *perfetto_add(struct hv_export *x, unsigned cpu, struct hv_span page)
{
	struct perfetto *p = perfetto_of(x);

	hv_page_merge_add(&p->merge, cpu, page);
	if (!x->wants_names)
		x->wants_names = hv_page_decode_lacks_names(&p->decode, page);
	return NULL;
}

static struct hv_err *perfetto_name_tasks(struct hv_export *x, struct hv_export_text names)
{
	hv_page_decode_name_tasks(&perfetto_of(x)->decode, names);
	return NULL;
}

static struct hv_err *perfetto_turn(struct hv_export *x)
{
	struct perfetto *p = perfetto_of(x);
	struct hv_err *err = write_events(p);

	hv_page_merge_turn(&p->merge);
	return err ? err : hv_output_flush(&p->output);
}

static struct hv_err *perfetto_end(struct hv_export *x)
{
	struct perfetto *p = perfetto_of(x);
	struct hv_err *err;

	hv_page_merge_end(&p->merge);
	err = p->output.error ? NULL : write_events(p);
	return err ? err : hv_output_end(&p->output);
}

const struct hv_export_format hv_export_perfetto = {
	.name = "perfetto",
	.suffix = ".pftrace",
	.other_suffix = ".perfetto-trace",
	.input = HV_EXPORT_PAGES,
	.has_date = 1,
	.open = perfetto_open,
	.add = perfetto_add,
	.name_tasks = perfetto_name_tasks,
	.turn = perfetto_turn,
	.end = perfetto_end,
	.free = perfetto_free,
};
