#include "tree/instance/share.h"

#include "tracer/events/host_buffer.h"
#include "tree/instance/obey.h"

/* Whether IN would have recorded EVENT by itself. */
static bool would_record(const struct hv_instance *in, const struct hv_event *event)
{
	const struct hv_selection *sel = &in->selection;

	if (event->kind == HV_EVENT_STACK && !hv_options_on(&in->options, HV_OPT_FUNC_STACK_TRACE))
		return false;
	return in->recording && !in->nr_pauses && !sel->muted[event->cpu] &&
	       hv_selection_has_function(sel, event->ip) && hv_selection_has_task(sel, event->pid);
}

/* Whether EVENT, which no command asked for, is IN's. An instance that traces alone gets all: the
 * guest has judged already, and has switched recording itself unless the host does that. */
static bool wants(const struct hv_instance *in, const struct hv_event *event)
{
	if (in->selection.tracer == HV_TRACER_NOP)
		return false;
	if (hv_instances_single(in->all) != in)
		return would_record(in, event);
	return !in->all->host_obeys || (in->recording && !in->nr_pauses);
}

static void take(struct hv_sink *sink, const struct hv_cursor *cursor, const struct hv_event *event)
{
	struct hv_instance *in = sink->ctx;

	if (event->kind == HV_EVENT_COMMAND)
		hv_obey(in, event);
	else if (event->of_command ? hv_obey_stack(in, event) : wants(in, event))
		hv_buffer_put(in->buffers.host, cursor, event);
}

void hv_share_add(struct hv_instance *in)
{
	in->sink = (struct hv_sink){.ctx = in, .take = take};
	if (in->all->drain)
		hv_drain_add(in->all->drain, &in->sink);
}

void hv_share_remove(struct hv_instance *in)
{
	if (in->all->drain)
		hv_drain_remove(in->all->drain, &in->sink);
}

/* The top's buffer is in host memory now. */
static void begin(struct hv_instances *all)
{
	all->drain = hv_drain_new(all->session);
	for (struct hv_instance *in = &all->top; in; in = in->next)
		hv_share_add(in);
}

static bool has_first_sizes(const struct hv_instance *top)
{
	const struct hv_buffer *guests = top->all->session->buffer;

	for (unsigned cpu = 0; cpu < top->all->nr_cpus; cpu++)
		if (hv_buffers_size(&top->buffers, cpu) != hv_buffer_size(guests, cpu))
			return false;
	return true;
}

static bool is_needed(struct hv_instances *all)
{
	const struct hv_instance *top = &all->top;

	return hv_instances_single(all) != top || !hv_options_on(&top->options, HV_OPT_OVERWRITE) ||
	       all->host_obeys || hv_probes_have(&top->probes, HV_PROBE_SNAPSHOT) ||
	       !has_first_sizes(top);
}

static void end_if_not_needed(struct hv_instances *all)
{
	if (!hv_share_is(all) || is_needed(all))
		return;
	hv_drain_free(all->drain);
	all->drain = NULL;
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

void hv_instance_use_clock(struct hv_instance *in, enum hv_trace_clock clock)
{
	if (hv_instance_is_top(in))
		hv_buffer_use_clock(in->all->session->buffer, clock);
	hv_buffers_use_clock(&in->buffers, clock);
	hv_instance_clear(in, HV_ALL_CPUS);
}
