/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/core/sharing.h"

#include "tracer/events/host_buffer.h"
#include "tracer/guest/scope.h"
#include "tree/instance/core/state.h"

/* -- recording --------------------------------------------------------------------------------- */

/* Returns whether the guest's switch should be the top instance's tracing_on. `switch_shared`,
 * updated by hv_recording_publish(), is the current state. */
static bool follows_guest(struct hv_instances *all)
{
	return !all->host_commands && hv_instances_single(all) == &all->top;
}

unsigned hv_instance_tracing_on(const struct hv_instance *in)
{
	if (hv_instance_is_top(in) && !in->all->switch_shared)
		return hv_scope_recording(in->all->session->scope);
	return in->recording;
}

bool hv_instance_records(const struct hv_instance *in)
{
	return !in->nr_pauses && hv_instance_tracing_on(in);
}

bool hv_instance_is_on(const struct hv_instance *in)
{
	return in->recording;
}

bool hv_instance_takes(const struct hv_instance *in)
{
	return in->recording && !in->nr_pauses;
}

bool hv_instance_takes_on(const struct hv_instance *in, unsigned cpu)
{
	return in->recording && !in->nr_pauses && !in->selection.muted[cpu];
}

void hv_recording_learn(struct hv_instance *top)
{
	top->recording = hv_instance_tracing_on(top);
}

bool hv_recording_host_has_commands(const struct hv_instances *all)
{
	return all->host_commands;
}

void hv_recording_set_host_has_commands(struct hv_instances *all, enum hv_switch to)
{
	all->host_commands = to;
}

static bool has_left(const struct hv_func_command_set *set)
{
	for (size_t i = 0; i < set->nr; i++)
		if (!set->counted || set->list[i].count > 0)
			return true;
	return false;
}

/* Returns whether the guest must record for commands and triggers that the host executes: a command
 * may start recording or record stacks, and triggers act and count even in a pause. */
static bool commands_need_recording(const struct hv_instance *in)
{
	bool on = hv_instance_has_triggers(in);

	for (size_t i = 0; in->all->host_commands && i < in->func_commands.nr; i++) {
		const struct hv_func_command_set *set = &in->func_commands.sets[i];

		on |= set->command == HV_FUNC_COMMAND_TRACEON && has_left(set);
		on |= set->command == HV_FUNC_COMMAND_STACKTRACE && in->recording;
	}
	return on;
}

/* Returns whether the guest must record when its switch is not the top instance's tracing_on. */
static unsigned any_records(struct hv_instances *all)
{
	const struct hv_instance *single = hv_instances_single(all);
	unsigned on = 0;

	for (const struct hv_instance *in = &all->top; in; in = in->next) {
		bool traces =
			in == single || in->selection.tracer != &hv_tracer_nop || in->events.nr;

		on |= (traces && in->recording && !in->nr_pauses) || commands_need_recording(in);
	}
	return on;
}

/* While the guest's switch is the top instance's tracing_on, commands in the guest may change it at
 * any time, so it is read and not written. The order of the changes ensures that no call is
 * recorded in between. */
void hv_recording_publish(struct hv_instances *all)
{
	struct hv_scope *scope = all->session->scope;
	unsigned shared = !follows_guest(all);

	if (!all->switch_shared)
		all->top.recording = hv_scope_recording(scope);
	if (!shared && all->top.nr_pauses)
		hv_scope_set_paused(scope, HV_ON);
	if (shared)
		hv_scope_set_recording(scope, any_records(all));
	else if (all->switch_shared)
		hv_scope_set_recording(scope, all->top.recording);
	if (shared || !all->top.nr_pauses)
		hv_scope_set_paused(scope, HV_OFF);
	all->switch_shared = shared;
}

void hv_instance_switch_recording(struct hv_instance *in, enum hv_switch to)
{
	in->recording = to;
	if (hv_instance_is_top(in) && !in->all->switch_shared)
		hv_scope_set_recording(in->all->session->scope, to);
	hv_recording_publish(in->all);
}

void hv_instance_set_recording(struct hv_instance *in, enum hv_switch to)
{
	hv_instances_drain(in->all);
	hv_instance_switch_recording(in, to);
}

void hv_instance_pause(struct hv_instance *in)
{
	hv_instances_drain(in->all);
	in->nr_pauses++;
	hv_recording_publish(in->all);
}

void hv_instance_go_on(struct hv_instance *in)
{
	hv_instances_drain(in->all);
	in->nr_pauses--;
	hv_recording_publish(in->all);
}

/* Starts to share the guest's rings. The top instance's buffer must be in host memory. */
static void begin(struct hv_instances *all)
{
	all->drain = hv_drain_new(all->session);
	for (struct hv_instance *in = &all->top; in; in = in->next)
		hv_drain_add(all->drain, &in->consumer);
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
	       all->host_commands ||
	       hv_func_commands_have(&top->func_commands, HV_FUNC_COMMAND_SNAPSHOT) ||
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
