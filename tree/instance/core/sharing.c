/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/core/sharing.h"

#include "tracer/events/host_buffer.h"
#include "tree/instance/core/recording.h"
#include "tree/instance/core/state.h"

/* Starts to share the guest's rings. The top instance's buffer must be in host memory. */
static void begin(struct hv_instances *all)
{
	all->drain = hv_drain_new(all->session);
	for (struct hv_instance *in = &all->top; in; in = in->next)
		hv_drain_add(all->drain, &in->sink);
}

static bool has_first_sizes(const struct hv_instance *top)
{
	const struct hv_buffer *guests = top->all->session->buffer;

	for (unsigned cpu = 0; cpu < top->all->nr_cpus; cpu++)
		if (hv_buffers_size(&top->buffers, cpu) != hv_buffer_size(guests, cpu))
			return false;
	return true;
}

/* Returns whether any instance has events enabled that the host makes. */
static bool any_has_made(const struct hv_instances *all)
{
	for (const struct hv_instance *in = &all->top; in; in = in->next)
		if (hv_instances_make_any(all, &in->events))
			return true;
	return false;
}

static bool is_needed(struct hv_instances *all)
{
	const struct hv_instance *top = &all->top;

	return any_has_made(all) || hv_instances_take_rings(all) ||
	       hv_instances_single(all) != top || !hv_options_on(&top->options, HV_OPT_OVERWRITE) ||
	       all->host_commands || hv_probes_have(&top->probes, HV_PROBE_SNAPSHOT) ||
	       hv_options_on(&top->options, HV_OPT_DISPLAY_GRAPH) || !has_first_sizes(top);
}

static void end_if_not_needed(struct hv_instances *all)
{
	if (!hv_instances_share(all) || is_needed(all))
		return;
	hv_drain_free(all->drain);
	all->drain = NULL;
	hv_instance_return_rings(&all->top);
	hv_buffer_clear(all->session->buffer, HV_ALL_CPUS);
	hv_buffer_unref(all->top.buffers.host);
	all->top.buffers.host = NULL;
}

struct hv_buffer *hv_instance_buffer(struct hv_instance *in)
{
	hv_instances_drain(in->all);
	return hv_buffers_live(&in->buffers);
}

struct hv_err *hv_instance_need_host(struct hv_instance *in)
{
	HV_AUTO_FREE uint64_t *sizes_bytes = hv_buffers_sizes(&in->buffers);
	struct hv_err *err;

	if (in->buffers.host)
		return NULL;
	err = hv_buffers_resize_live(&in->buffers, sizes_bytes);
	if (!err)
		begin(in->all);
	return err;
}

struct hv_err *hv_instances_begin_sharing(struct hv_instances *all)
{
	hv_recording_learn(&all->top);
	return hv_instance_need_host(&all->top);
}

struct hv_err *hv_instance_resize(struct hv_instance *in, int cpu, uint64_t size_bytes)
{
	HV_AUTO_FREE uint64_t *sizes_bytes = hv_buffers_sizes(&in->buffers);
	bool is_other = false, was_guests = !in->buffers.host;
	struct hv_err *err;

	for (unsigned i = 0; i < in->all->nr_cpus; i++) {
		if (cpu >= 0 && i != (unsigned)cpu)
			continue;
		is_other |= sizes_bytes[i] != size_bytes;
		sizes_bytes[i] = size_bytes;
	}
	if (!is_other)
		return NULL;
	hv_instances_drain(in->all);
	err = hv_buffers_resize(&in->buffers, sizes_bytes);
	if (!err && was_guests)
		begin(in->all);
	return err;
}

struct hv_err *hv_instance_take_snapshot(struct hv_instance *in, int cpu)
{
	hv_instances_drain(in->all);
	return hv_buffers_take_snapshot(&in->buffers, cpu);
}

void hv_instance_clear(struct hv_instance *in, int cpu)
{
	uint64_t *start_ns = &in->buffers.start_ns;

	hv_buffer_clear(hv_instance_buffer(in), cpu);
	if (cpu >= 0)
		return;
	if (!hv_clocks_now_ns(in->all->session->clocks, in->buffers.clock, start_ns))
		*start_ns = 0;
	if (hv_instance_is_top(in))
		end_if_not_needed(in->all);
}

struct hv_err *hv_instance_use_pages(struct hv_instance *in, uint32_t page_bytes)
{
	struct hv_buffers *b = &in->buffers;
	uint64_t min_bytes = HV_PAGES_MIN * (uint64_t)(page_bytes - HV_PAGE_HEAD_BYTES);
	struct hv_err *err = NULL;

	if (page_bytes == b->page_bytes)
		return NULL;
	for (unsigned cpu = 0; !err && cpu < b->nr_cpus; cpu++)
		if (hv_buffers_size(b, cpu) < min_bytes)
			err = hv_instance_resize(in, (int)cpu, min_bytes);
	if (err)
		return err;
	b->page_bytes = page_bytes;
	if (b->snapshot)
		hv_buffer_clear(b->snapshot, HV_ALL_CPUS);
	hv_instance_clear(in, HV_ALL_CPUS);
	return NULL;
}

void hv_instance_use_clock(struct hv_instance *in, enum hv_trace_clock clock)
{
	if (hv_instance_is_top(in))
		hv_buffer_use_clock(in->all->session->buffer, clock);
	hv_buffers_use_clock(&in->buffers, clock);
	hv_instance_clear(in, HV_ALL_CPUS);
}
