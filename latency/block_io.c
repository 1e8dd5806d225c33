/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to block devices: how long each is in the guest's queue, and how long the device takes.
 * The device is the host's: its image, its storage, its limits. */
#include "latency/finders.h"

#include <string.h>

#define PROBES	  8
#define NO_SECTOR UINT64_MAX

/* A request without a sector, as a flush or a command, is issued at 0, but completed at -1
 * (blk_rq_trace_sector(), blk_rq_pos()). */
static uint64_t sector_of(const struct hv_moment *m)
{
	return m->number == NO_SECTOR ? 0 : m->number;
}

static size_t place_of(uint32_t device, uint64_t sector, unsigned i)
{
	uint64_t hash = (sector ^ (uint64_t)device << 40) * UINT64_C(0x9e3779b97f4a7c15);

	return ((hash >> 32) + i) & (HV_IO_REQUESTS_MAX - 1);
}

static struct hv_request *find(struct hv_finders *f, const struct hv_moment *m)
{
	for (unsigned i = 0; i < PROBES; i++) {
		struct hv_request *r = &f->requests[place_of(m->device, sector_of(m), i)];

		if (r->is_used && r->device == m->device && r->sector == sector_of(m))
			return r;
	}
	return NULL;
}

/* A request for which there is no room takes the place of another one. */
static struct hv_request *make(struct hv_finders *f, const struct hv_moment *m)
{
	struct hv_request *r = find(f, m);

	for (unsigned i = 0; !r && i < PROBES; i++)
		if (!f->requests[place_of(m->device, sector_of(m), i)].is_used)
			r = &f->requests[place_of(m->device, sector_of(m), i)];
	if (!r)
		r = &f->requests[place_of(m->device, sector_of(m), 0)];
	*r = (struct hv_request){
		.is_used = true,
		.device = m->device,
		.sector = sector_of(m),
		.task = hv_stall_task(m->pid, m->comm),
	};
	memcpy(r->what, m->text, sizeof(r->what));
	return r;
}

static void add(struct hv_finders *f, const struct hv_request *r, enum hv_stall_kind kind,
		unsigned cpu, uint64_t from_ns, uint64_t to_ns)
{
	struct hv_stall stall = {
		.kind = kind,
		.cpu = cpu,
		.from_ns = from_ns,
		.to_ns = to_ns,
		.number = r->sector,
		.device = r->device,
		.task = r->task,
	};

	memcpy(stall.name, r->what, sizeof(r->what));
	if (from_ns)
		hv_finders_add(f, &stall);
}

static void issue(struct hv_finders *f, const struct hv_moment *m)
{
	struct hv_request *r = find(f, m);

	if (!r || r->issued_ns)
		r = make(f, m);
	add(f, r, HV_STALL_IO_QUEUE, m->cpu, r->queued_ns, m->time_ns);
	r->issued_ns = m->time_ns;
}

void hv_block_io_see(struct hv_finders *f, const struct hv_moment *m)
{
	struct hv_request *r;

	if (m->kind == HV_MOMENT_IO_QUEUED) {
		make(f, m)->queued_ns = m->time_ns;
	} else if (m->kind == HV_MOMENT_IO_ISSUED) {
		issue(f, m);
	} else if (m->kind == HV_MOMENT_IO_DONE) {
		r = find(f, m);
		if (!r)
			return;
		add(f, r, HV_STALL_IO_DEVICE, m->cpu, r->issued_ns, m->time_ns);
		r->is_used = false;
	}
}

void hv_block_io_end(struct hv_finders *f, uint64_t now_ns)
{
	for (size_t i = 0; i < HV_IO_REQUESTS_MAX; i++) {
		const struct hv_request *r = &f->requests[i];

		if (!r->is_used)
			continue;
		add(f, r, r->issued_ns ? HV_STALL_IO_DEVICE : HV_STALL_IO_QUEUE, 0,
		    r->issued_ns ? r->issued_ns : r->queued_ns, now_ns);
	}
}
