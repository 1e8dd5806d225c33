/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/host_tracer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/guard.h"
#include "base/text.h"
#include "tracer/events/clocks.h"
#include "tracer/events/host_event.h"
#include "tracer/events/merge.h"
#include "tracer/tracepoints/event_types.h"
#include "vmm/guest.h"
#include "vmm/hosttrace/instance.h"
#include "vmm/tsc.h"

#define PAGE_BYTES  65536 /* largest page size of host kernels */
#define PIPES_MAX   512
#define THREADS_MAX 8192
#define WAITING_MAX 262144 /* more than the buffers of a few busy CPUs hold */

_Static_assert(HV_NR_HOST_EVENTS <= HV_HOST_ID_END - HV_HOST_ID_FIRST, "each event has an id");

struct kind {
	struct hv_host_format format; /* id 0: the host lacks it */
	uint32_t prev_pid, next_pid;  /* offsets of the threads in an entry; 0: see `pid` */
	uint32_t pid; /* offset of the thread concerned; 0: the one in which it happened */
};

struct waiting {
	uint64_t time_ns, tsc, nr_lost, number; /* NUMBER: order of reading */
	unsigned cpu;
	uint16_t id, len_bytes;
	uint8_t entry[HV_HOST_ENTRY_MAX];
};

struct hv_host_tracer {
	struct hv_guest *guest;
	struct hv_clocks *clocks;
	unsigned nr_cpus;
	struct hv_err *why_not; /* owned */
	struct kind kinds[HV_NR_HOST_EVENTS];
	uint32_t mask;
	int pipes[PIPES_MAX];
	size_t nr_pipes;
	struct hv_host_threads threads; /* the list is owned */
	struct waiting *list;		/* owned; sorted by time from FIRST on */
	size_t first, nr, nr_room;
	uint64_t nr_read;
	uint64_t read_ns; /* on the guest's clock: LIST has all events before this time */
	uint64_t nr_lost; /* not yet reported with an event */
	uint8_t *page;	  /* owned */
};

/* -- types ------------------------------------------------------------------------------------- */

static void add_type(struct kind *k, size_t index, struct hv_event_types *types)
{
	const struct hv_event_type type = {
		.system = HV_HOST_SYSTEM,
		.name = hv_host_event_names[index].name,
		.print_fmt = k->format.print_fmt,
		.id = HV_HOST_ID_FIRST + (uint32_t)index,
		.is_available = true,
		.has_fields = true,
		.fields = k->format.fields,
		.reg_kind = HV_EVENT_REG_HOST,
	};

	k->prev_pid = hv_host_format_u32(&k->format, "prev_pid");
	k->next_pid = hv_host_format_u32(&k->format, "next_pid");
	k->pid = hv_host_format_u32(&k->format, "pid");
	hv_event_types_add(types, &type);
}

static struct hv_err *find_types(struct hv_host_tracer *t, struct hv_event_types *types)
{
	HV_AUTO_TEXT struct hv_text texts = {0};
	struct hv_err *err = hv_guest_host_formats(t->guest, &texts);
	const char *at = texts.data, *end = at + texts.len_bytes;
	size_t nr = 0;

	for (size_t i = 0; !err && i < HV_NR_HOST_EVENTS && at < end; i++, at += strlen(at) + 1) {
		if (!hv_host_format_parse(at, &t->kinds[i].format))
			continue;
		add_type(&t->kinds[i], i, types);
		nr++;
	}
	if (!err && !nr)
		err = hv_err_new(ENOENT, "this host's kernel does not have them");
	return err;
}

struct hv_host_tracer *hv_host_tracer_new(struct hv_guest *guest, struct hv_clocks *clocks,
					  struct hv_event_types *types, unsigned nr_cpus)
{
	struct hv_host_tracer *t = hv_alloc(sizeof(*t));

	t->guest = guest;
	t->clocks = clocks;
	t->nr_cpus = nr_cpus;
	if (!hv_clocks_has_host(clocks))
		t->why_not =
			hv_err_new(EOPNOTSUPP, "cannot read how the guest's clock follows the "
					       "host's (this needs KVM and its files in debugfs)");
	else
		t->why_not = find_types(t, types);
	return t;
}

const struct hv_err *hv_host_tracer_why_not(const struct hv_host_tracer *t)
{
	return t->why_not;
}

/* -- on and off -------------------------------------------------------------------------------- */

static void close_pipes(struct hv_host_tracer *t)
{
	while (t->nr_pipes)
		close(t->pipes[--t->nr_pipes]);
	free(hv_take(t->page));
}

static struct hv_err *open_pipes(struct hv_host_tracer *t)
{
	struct hv_err *err = NULL;
	unsigned cpu = 0;

	if (t->nr_pipes)
		return NULL;
	t->page = hv_alloc(PAGE_BYTES);
	do {
		size_t nr = 0;

		err = hv_guest_host_pipes(t->guest, cpu, t->pipes + t->nr_pipes,
					  PIPES_MAX - t->nr_pipes, &nr, &cpu);
		t->nr_pipes += err ? 0 : nr;
	} while (!err && cpu && t->nr_pipes < PIPES_MAX);
	return err;
}

/* Also works if the recording process no longer exists. */
static void end(struct hv_host_tracer *t)
{
	struct hv_host_threads none = {0};

	t->mask = 0;
	close_pipes(t);
	hv_err_free(hv_guest_host_trace(t->guest, 0, &none));
}

struct hv_err *hv_host_tracer_set(struct hv_host_tracer *t, uint32_t mask)
{
	struct hv_err *err;

	if (t->mask == mask)
		return NULL;
	if (!mask) {
		end(t);
		return NULL;
	}
	if (!t->threads.tids)
		t->threads.tids = hv_alloc(THREADS_MAX * sizeof(*t->threads.tids));
	t->threads.max = THREADS_MAX;
	err = hv_guest_host_trace(t->guest, mask, &t->threads);
	if (!err)
		err = open_pipes(t);
	if (err)
		end(t);
	else
		t->mask = mask;
	return err;
}

void hv_host_tracer_free(struct hv_host_tracer *t)
{
	if (!t)
		return;
	if (t->mask)
		end(t);
	for (size_t i = 0; i < HV_NR_HOST_EVENTS; i++)
		hv_host_format_deinit(&t->kinds[i].format);
	hv_err_free(t->why_not);
	free(t->threads.tids);
	free(t->list);
	free(t->page);
	free(t);
}

bool hv_host_tracer_has_any(const struct hv_host_tracer *t)
{
	return t->mask || t->first < t->nr;
}

/* -- reading ----------------------------------------------------------------------------------- */

/* Returns the vCPU to which events of thread TID belong: its own, or 0 for other threads of the
 * VMM. Returns nr_cpus for any other thread. */
static unsigned cpu_of(const struct hv_host_tracer *t, uint32_t tid)
{
	for (unsigned i = 0; i < t->threads.nr; i++)
		if ((uint32_t)t->threads.tids[i] == tid)
			return i < t->threads.nr_vcpus ? i : 0;
	return t->nr_cpus;
}

static void keep(struct hv_host_tracer *t, unsigned cpu, size_t kind, struct hv_span entry,
		 uint64_t ticks)
{
	uint64_t tsc = hv_clocks_tsc_of_host(t->clocks, cpu, ticks);
	struct waiting *w;

	if (t->nr == t->nr_room) {
		t->nr_room = t->nr_room ? 2 * t->nr_room : 1024;
		t->list = hv_realloc_array(t->list, t->nr_room, sizeof(*t->list));
	}
	w = &t->list[t->nr++];
	*w = (struct waiting){
		.time_ns = hv_clocks_event_ns(t->clocks, HV_TRACE_CLOCK_GUEST, cpu, tsc),
		.tsc = tsc,
		.nr_lost = t->nr_lost,
		.number = t->nr_read++,
		.cpu = cpu,
		.id = (uint16_t)(HV_HOST_ID_FIRST + kind),
		.len_bytes = (uint16_t)entry.len_bytes,
	};
	t->nr_lost = 0;
	memcpy(w->entry, entry.data, entry.len_bytes);
}

/* Queues ENTRY for the vCPU of the thread whose id is at OFF in it, unless that vCPU is BUT.
 * Returns the vCPU. */
static unsigned keep_of(struct hv_host_tracer *t, uint32_t off, unsigned but, size_t kind,
			struct hv_span entry, uint64_t ticks)
{
	unsigned cpu;
	uint32_t tid;

	if (!hv_span_u32(entry, off, &tid))
		return t->nr_cpus;
	cpu = cpu_of(t, tid);
	if (cpu < t->nr_cpus && cpu != but)
		keep(t, cpu, kind, entry, ticks);
	return cpu;
}

/* Queues ENTRY for each vCPU that it concerns: a switch between two vCPUs is an event of both. */
static void take_entry(struct hv_host_tracer *t, struct hv_span entry, uint64_t ticks)
{
	const struct kind *k = t->kinds;
	uint16_t id = 0;
	unsigned cpu;
	size_t i = 0;

	hv_span_u16(entry, 0, &id);
	while (i < HV_NR_HOST_EVENTS && k[i].format.id != id)
		i++;
	if (!id || i == HV_NR_HOST_EVENTS || !(t->mask >> i & 1))
		return;
	if (entry.len_bytes > HV_HOST_ENTRY_MAX || entry.len_bytes < HV_ENTRY_HEADER_LEN) {
		t->nr_lost++;
		return;
	}
	if (k[i].prev_pid && k[i].next_pid) {
		cpu = keep_of(t, k[i].prev_pid, t->nr_cpus, i, entry, ticks);
		keep_of(t, k[i].next_pid, cpu, i, entry, ticks);
		return;
	}
	keep_of(t, k[i].pid ? k[i].pid : 4, t->nr_cpus, i, entry, ticks);
}

static void take_page(struct hv_host_tracer *t, struct hv_span bytes)
{
	struct hv_host_page page;
	struct hv_span entry;

	if (!hv_host_page_begin(bytes, &page))
		return;
	t->nr_lost += page.nr_lost;
	while (hv_host_page_next(&page, &entry))
		take_entry(t, entry, page.ticks);
}

static int by_time(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Returns the lowest time of all vCPUs, because the guest's clock may differ slightly between
 * them. */
static uint64_t guest_ns(const struct hv_host_tracer *t, uint64_t host_ticks)
{
	uint64_t least = UINT64_MAX;

	for (unsigned cpu = 0; cpu < t->nr_cpus; cpu++) {
		uint64_t tsc = hv_clocks_tsc_of_host(t->clocks, cpu, host_ticks);
		uint64_t ns = hv_clocks_event_ns(t->clocks, HV_TRACE_CLOCK_GUEST, cpu, tsc);

		if (ns < least)
			least = ns;
	}
	return least;
}

/* The host records an exit before the vCPU resumes. So this reads everything that the host did
 * before the guest's present records. */
static void read_pipes(struct hv_host_tracer *t)
{
	size_t before;
	uint64_t now = 0;

	if (t->first) {
		memmove(t->list, t->list + t->first, (t->nr - t->first) * sizeof(*t->list));
		t->nr -= t->first;
		t->first = 0;
	}
	before = t->nr;
	hv_host_ticks(&now);
	for (size_t i = 0; i < t->nr_pipes; i++) {
		ssize_t n = 1;

		while (n > 0 && t->nr < WAITING_MAX) {
			n = read(t->pipes[i], t->page, PAGE_BYTES);
			if (n > 0)
				take_page(t, (struct hv_span){t->page, (size_t)n});
		}
	}
	if (t->nr > before)
		qsort(t->list, t->nr, sizeof(*t->list), by_time);
	t->read_ns = guest_ns(t, now);
}

static void show(const struct waiting *w, struct hv_host_item *ret)
{
	const struct hv_span entry = {w->entry, w->len_bytes};

	ret->nr_records = hv_host_event_encode(w->tsc, w->id, entry, ret->records);
	ret->event = (struct hv_event){
		.kind = HV_EVENT_GUESTS,
		.cpu = w->cpu,
		.time_ns = w->time_ns,
		.lost_before = w->nr_lost,
		.entry = entry,
		.id = w->id,
	};
	hv_host_event_decode(&ret->records[ret->nr_records - 1], &ret->event);
}

bool hv_host_tracer_next(struct hv_host_tracer *t, uint64_t until_ns, struct hv_host_item *ret)
{
	if (t->mask && t->read_ns < until_ns)
		read_pipes(t);
	if (t->first == t->nr || t->list[t->first].time_ns >= until_ns)
		return false;
	show(&t->list[t->first++], ret);
	return true;
}

uint64_t hv_host_tracer_settled_ns(const struct hv_host_tracer *t)
{
	uint64_t now = 0, ns;

	hv_host_ticks(&now);
	ns = guest_ns(t, now);
	return ns > HV_MERGE_WAIT_NS ? ns - HV_MERGE_WAIT_NS : 0;
}
