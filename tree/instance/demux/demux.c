/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/demux/demux.h"

#include <string.h>

#include "base/guard.h"
#include "kernel/events/catalogue.h"
#include "kernel/kernel.h"
#include "kernel/tasks/unwind.h"
#include "kernel/types/btf.h"
#include "tracer/events/cursor.h"
#include "tracer/events/host_buffer.h"
#include "tracer/host_tracer.h"
#include "tracer/tracepoints/event_types.h"
#include "tree/instance/core/instance.h"
#include "tree/instance/core/sharing.h"
#include "tree/instance/dynamic/eprobes.h"
#include "tree/instance/dynamic/kprobes.h"
#include "tree/instance/dynamic/syscalls.h"
#include "tree/instance/events/event_filters.h"
#include "tree/instance/events/event_pids.h"
#include "tree/instance/events/event_stacks.h"
#include "tree/instance/events/match.h"
#include "tree/instance/events/user_stacks.h"
#include "tree/instance/hist/hists.h"
#include "tree/instance/latency/stack_tracer.h"
#include "tree/instance/latency/wakeups.h"
#include "tree/instance/triggers/triggers.h"

/* -- function commands ------------------------------------------------------------------------- */

/* Executes function commands on the host. The guest records the call of the function, and the host
 * executes the command when the drain reads that record, so the command takes effect between the
 * events before and after it. The host maintains the counts, so a guest cannot trigger unrequested
 * snapshots or dumps. Called by consumers of the drain. commands.h decides which commands the host
 * executes. */

/* Whether the count of a command reached 0. */
static bool *spent_of(const struct hv_instances *all)
{
	return hv_instances_state(all, HV_PART_DEMUX);
}

bool hv_demux_commands_are_spent(const struct hv_instances *all)
{
	return *spent_of(all);
}

void hv_demux_forget_spent(struct hv_instances *all)
{
	*spent_of(all) = false;
}

/* Returns the command of SET for the function at IP, or NULL if there is none or its count is used
 * up. */
static struct hv_func_command *find_left(const struct hv_func_command_set *set, uint64_t ip)
{
	struct hv_func_command *func_command = hv_func_commands_find(set, ip);

	return func_command && (!set->counted || func_command->count > 0) ? func_command : NULL;
}

static void reduce(struct hv_instance *in, const struct hv_func_command_set *set,
		   struct hv_func_command *func_command)
{
	if (set->counted && !--func_command->count)
		*spent_of(hv_instance_all(in)) = true;
}

/* Returns whether the function at IP has COMMAND and its count, if it has one, is not used up.
 * Decrements the count. */
static bool is_due(struct hv_instance *in, enum hv_func_command_kind command, uint64_t ip)
{
	bool due = false;

	for (size_t i = 0; i < hv_instance_commands(in)->nr; i++) {
		const struct hv_func_command_set *set = &hv_instance_commands(in)->sets[i];
		struct hv_func_command *func_command =
			set->command == command ? find_left(set, ip) : NULL;

		if (!func_command)
			continue;
		due = true;
		reduce(in, set, func_command);
	}
	return due;
}

/* Executes the commands for the function at IP that switch events. */
static void switch_events(struct hv_instance *in, uint64_t ip)
{
	for (size_t i = 0; i < hv_instance_commands(in)->nr; i++) {
		const struct hv_func_command_set *set = &hv_instance_commands(in)->sets[i];
		struct hv_func_command *func_command =
			hv_func_command_has_event(set->command) ? find_left(set, ip) : NULL;

		if (func_command && hv_event_command_run(in, set->command, func_command))
			reduce(in, set, func_command);
	}
}

/* A command without effect is not executed and not counted. */
static bool would_change(const struct hv_instance *in, enum hv_func_command_kind command)
{
	switch (command) {
	case HV_FUNC_COMMAND_TRACEON:
		return hv_recording_host_has_commands(hv_instance_all(in)) &&
		       !hv_instance_is_on(in);
	case HV_FUNC_COMMAND_TRACEOFF:
		return hv_recording_host_has_commands(hv_instance_all(in)) && hv_instance_is_on(in);
	case HV_FUNC_COMMAND_STACKTRACE:   /* handled by wants_command_stack() */
	case HV_FUNC_COMMAND_ENABLE_EVENT: /* handled by switch_events() */
	case HV_FUNC_COMMAND_DISABLE_EVENT:
		return false;
	default:
		return true;
	}
}

/* Starts a dump and stops recording at the call. */
static void dump(struct hv_instances *all, enum hv_func_command_kind command,
		 const struct hv_event *event)
{
	const struct hv_sites *sites = &hv_instances_session(all)->kernel->sites;
	struct hv_instance *top = hv_instances_top(all);

	hv_instance_switch_recording(top, HV_OFF);
	hv_dump_begin(hv_instances_dump(all), sites, hv_instance_buffers(top)->host,
		      hv_instance_tracer(top), command, event);
}

static void run_command(struct hv_instance *in, enum hv_func_command_kind command,
			const struct hv_event *event)
{
	switch (command) {
	case HV_FUNC_COMMAND_TRACEON:
		hv_instance_switch_recording(in, HV_ON);
		return;
	case HV_FUNC_COMMAND_TRACEOFF:
		hv_instance_switch_recording(in, HV_OFF);
		return;
	case HV_FUNC_COMMAND_SNAPSHOT:
		hv_buffers_swap_snapshot(hv_instance_buffers(in));
		return;
	case HV_FUNC_COMMAND_DUMP:
	case HV_FUNC_COMMAND_CPUDUMP:
		dump(hv_instance_all(in), command, event);
		return;
	default:
		return;
	}
}

/* Executes IN's commands for the function of EVENT, an HV_EVENT_COMMAND. */
static void run_commands(struct hv_instance *in, const struct hv_event *event)
{
	for (unsigned command = 0; command < HV_NR_FUNC_COMMAND_KINDS; command++)
		if (would_change(in, command) && is_due(in, command, event->ip.v))
			run_command(in, command, event);
	switch_events(in, event->ip.v);
}

/* Returns whether EVENT, a stack requested by the command stacktrace, belongs in IN's buffer. */
/* If the guest executes the commands, it has already decided that this stack is wanted. */
static bool wants_command_stack(struct hv_instance *in, const struct hv_event *event)
{
	if (!hv_recording_host_has_commands(hv_instance_all(in)))
		return hv_instance_is_top(in);
	return hv_instance_takes_on(in, event->cpu) &&
	       is_due(in, HV_FUNC_COMMAND_STACKTRACE, event->ip.v);
}

/* -- events ------------------------------------------------------------------------------------ */

#define SYNTH_DEPTH_MAX 4

static void take_traced(struct hv_instance *in, const struct hv_cursor *cursor,
			const struct hv_event *event)
{
	if (hv_instance_tracer(in)->take)
		hv_instance_tracer(in)->take(in, cursor, event);
}

/* Returns whether EVENT is a stack of a command, not of a section. */
static bool is_command(const struct hv_event *event)
{
	return event->of_command && !event->of_section;
}

/* A guest event, or an event derived from one, on its way into an instance. */
struct taken {
	struct hv_instance *in;
	const struct hv_cursor *cursor; /* NULL: from a marker with time MARK_TSC */
	uint64_t mark_tsc;
	/* The record of the event whose stack the cursor returned; or NULL. */
	const struct hv_record *of;
	const struct hv_event *event;
	unsigned depth; /* recursion depth of synthetic events */
	/* The user stack recorded with the event, as an event; or NULL. */
	const struct hv_event *user_stack;
	bool has_stack; /* a stack of the event follows */
};

static void take_one(const struct taken *taken);

static void put(const struct taken *t, const struct hv_event *event)
{
	if (t->of)
		hv_buffer_put_late(hv_instance_buffers(t->in)->host, t->of, t->cursor, event);
	else if (t->cursor)
		hv_buffer_put(hv_instance_buffers(t->in)->host, t->cursor, event);
	else
		hv_buffer_put_made(hv_instance_buffers(t->in)->host, t->mark_tsc, event);
}

/* The kernel writes the stack in the kernel first. */
static void put_user_stack(const struct taken *t)
{
	struct hv_event stack = *t->user_stack;

	stack.deeper = t->event->deeper;
	stack.is_as_deep = t->event->is_as_deep;
	if (t->has_stack && hv_options_on(hv_instance_options(t->in), HV_OPT_STACKTRACE))
		hv_event_stacks_put_after(t->in, &stack);
	else
		put(t, &stack);
}

static void take_if_wanted(void *ctx, enum hv_trigger_time time)
{
	const struct taken *t = ctx;

	if (time != HV_TRIGGER_IN_TIME || !hv_matches_guests(t->in, t->event))
		return;
	put(t, t->event);
	if (hv_options_on(hv_instance_options(t->in), HV_OPT_STACKTRACE))
		hv_event_stacks_want(t->in);
	if (t->user_stack && hv_options_on(hv_instance_options(t->in), HV_OPT_USERSTACKTRACE))
		put_user_stack(t);
}

/* A hist trigger's action made EVENT for all instances (trace_synth). It has no stack: the next
 * stack belongs to the source event. */
static void take_made(void *ctx, const struct hv_event *event)
{
	const struct taken *from = ctx;
	struct hv_instances *all = hv_instance_all(from->in);

	if (from->depth == SYNTH_DEPTH_MAX)
		return;
	for (struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in)) {
		const struct taken made = {.in = in,
					   .cursor = from->cursor,
					   .mark_tsc = from->mark_tsc,
					   .of = from->of,
					   .event = event,
					   .depth = from->depth + 1};
		unsigned nr_stacks = hv_event_stacks_nr_wanted(in);

		take_one(&made);
		hv_event_stacks_restore(in, nr_stacks);
	}
}

/* Makes the events of event probes from the event of TAKEN, and handles them. */
static void take_eprobes(const struct taken *taken)
{
	uint8_t entry[HV_ENTRY_LEN_MAX];
	struct taken made = *taken;
	struct hv_event event;

	for (size_t i = 0; i < hv_eprobes_nr(hv_instance_all(taken->in)); i++) {
		if (!hv_eprobes_event(taken->in, i, taken->event, &event, entry))
			continue;
		made.event = &event;
		take_one(&made);
	}
}

/* The kernel makes probe events after it has reserved the record of the probed event. But if that
 * event has a filter, the record is reserved later, so the probe events come first. */
static void take_one(const struct taken *taken)
{
	bool has_filter = hv_instance_has_event_filter(taken->in, taken->event->id);
	struct taken own = *taken;
	const struct hv_trigger_taker taker = {&own, take_if_wanted, take_made};

	if (has_filter)
		take_eprobes(taken);
	if (hv_instance_has_triggers(own.in))
		hv_instance_pull_triggers(own.in, own.event, &taker);
	else
		take_if_wanted(&own, HV_TRIGGER_IN_TIME);
	if (!has_filter)
		take_eprobes(taken);
}

/* Handles the call of a probed function: makes the event of each probe. */
static void take_probed(struct hv_instance *in, const struct hv_cursor *cursor,
			const struct hv_event *call)
{
	uint8_t entry[HV_ENTRY_LEN_MAX], stack_entry[HV_USER_STACK_ENTRY_MAX];
	struct hv_event event, user_stack;
	struct taken taken = {.in = in, .cursor = cursor, .event = &event};

	if (hv_user_stacks_event(hv_instance_all(in), call, hv_kprobes_results(call), &user_stack,
				 stack_entry))
		taken.user_stack = &user_stack;
	if (hv_instance_is_top(in))
		hv_kprobes_count(hv_instance_all(in), call);
	for (size_t i = 0; i < hv_kprobes_nr(hv_instance_all(in)); i++)
		if (hv_kprobes_event(hv_instance_all(in), i, call, &event, entry))
			take_one(&taken);
}

static void put_waking(void *ctx, const struct hv_event *event)
{
	const struct taken *t = ctx;

	hv_buffer_put(hv_instance_buffers(t->in)->host, t->cursor, event);
}

/* Passes EVENT to the wakeup tracer, after it was recorded. */
static void follow_wakeups(struct hv_instance *in, const struct hv_cursor *cursor,
			   const struct hv_event *event)
{
	struct taken taken = {.in = in, .cursor = cursor, .event = event};
	const struct hv_wakeups_consumer consumer = {hv_instance_takes_on(in, event->cpu),
						     put_waking, &taken};

	hv_wakeups_follow(in, event, &consumer);
}

/* Handles a guest event, and the system call event derived from it. */
static void take_guests(struct hv_instance *in, const struct hv_cursor *cursor,
			const struct hv_event *event)
{
	uint8_t entry[HV_SYSCALL_ENTRY_MAX], stack_entry[HV_USER_STACK_ENTRY_MAX];
	struct taken taken = {.in = in, .cursor = cursor, .event = event};
	struct hv_event call, user_stack;

	if (hv_kprobes_is_call(event)) {
		take_probed(in, cursor, event);
		return;
	}
	hv_event_stacks_begin(in);
	taken.has_stack = hv_event_stacks_are_recorded(in, event->id);
	if (hv_user_stacks_event(hv_instance_all(in), event,
				 (struct hv_span){event->results, event->results_len}, &user_stack,
				 stack_entry))
		taken.user_stack = &user_stack;
	hv_event_forks_end_task(in, event);
	take_one(&taken);
	hv_event_forks_add_child(in, event);
	follow_wakeups(in, cursor, event);
	taken.event = &call;
	if (hv_syscalls_event(hv_instance_all(in), event, &call, entry))
		take_one(&taken);
	hv_event_stacks_end(in, cursor, event);
}

static void take_event_stack(struct hv_instance *in, const struct hv_cursor *cursor,
			     const struct hv_event *stack)
{
	struct hv_gva list[HV_CALLERS_MAX];
	struct hv_event found = *stack;
	struct hv_stack_due due;

	if (!hv_event_stacks_take(in, stack, &due))
		return;
	if (due.kept)
		hv_cursor_callers(cursor, list, &found);
	for (const struct hv_kept_event *k = due.kept; k; k = k->next) {
		struct taken taken = {
			.in = in, .cursor = cursor, .of = &due.record, .event = &k->event};
		const struct hv_hist_output out = {&taken, take_made};

		hv_instance_count_with_stack(in, &k->event, &found, &out);
	}
	hv_kept_events_free(due.kept);
	while (due.nr--)
		hv_buffer_put(hv_instance_buffers(in)->host, cursor, stack);
	for (const struct hv_kept_event *k = due.after; k; k = k->next)
		hv_buffer_put_late(hv_instance_buffers(in)->host, &due.record, cursor, &k->event);
	hv_kept_events_free(due.after);
}

static void take(struct hv_consumer *consumer, const struct hv_cursor *cursor,
		 const struct hv_event *event)
{
	struct hv_instance *in = consumer->ctx;
	const struct hv_tracer_ops *tracer = hv_instance_tracer(in);

	hv_instances_know_single(hv_instance_all(in), event->kind);
	if (event->lost_before)
		hv_instance_lose(in, event);
	if (event->is_deepest && hv_instance_is_top(in))
		hv_stack_tracer_take(hv_instance_all(in), cursor, event);
	if (event->is_deepest && !event->of_command)
		return;
	if (event->kind == HV_EVENT_GUESTS)
		take_guests(in, cursor, event);
	else if (event->kind == HV_EVENT_COMMAND)
		run_commands(in, event);
	else if (event->of_event)
		take_event_stack(in, cursor, event);
	else if (tracer->takes_sections && !is_command(event))
		tracer->take(in, cursor, event);
	else if (event->of_section)
		return;
	else if (!event->of_command)
		take_traced(in, cursor, event);
	else if (wants_command_stack(in, event))
		hv_buffer_put(hv_instance_buffers(in)->host, cursor, event);
}

/* The marker itself is already in the buffer. */
static void take_nothing(void *ctx, enum hv_trigger_time time)
{
	(void)ctx;
	(void)time;
}

/* Runs IN's triggers of MARKER (triggers.h), which is in IN's buffer with time stamp TSC. The rings
 * must be shared. */
static void take_marker(struct hv_instance *in, const struct hv_event *marker, uint64_t tsc)
{
	struct taken taken = {.in = in, .mark_tsc = tsc, .event = marker};
	const struct hv_trigger_taker taker = {&taken, take_nothing, take_made};

	hv_instance_pull_triggers(in, marker, &taker);
}

static unsigned brief_kinds(const struct hv_consumer *consumer)
{
	const struct hv_instance *in = consumer->ctx;

	return hv_instance_tracer(in)->takes_each ? 0 : HV_BRIEF_ALL;
}

/* BRIEFS contain the guest's depths; the instance may have others. */
static void take_some(struct hv_instance *in, const struct hv_cursor *cursor,
		      const struct hv_brief *briefs, size_t nr)
{
	struct hv_brief own[HV_BRIEFS_MAX];
	uint64_t which;
	unsigned cpu;

	(void)hv_cursor_brief_records(cursor, &cpu);
	memcpy(own, briefs, nr * sizeof(*own));
	which = hv_match_briefs(in, cpu, own, nr);
	if (which)
		hv_buffer_put_briefs(hv_instance_buffers(in)->host, cursor, own, which);
}

static void take_briefs(struct hv_consumer *consumer, const struct hv_cursor *cursor,
			const struct hv_brief *briefs, size_t nr)
{
	struct hv_instance *in = consumer->ctx;
	enum hv_brief_match wants;

	hv_instances_know_single(hv_instance_all(in), HV_EVENT_FUNCTION);
	wants = hv_match_of_briefs(in);
	if (wants == HV_MATCH_ALL)
		hv_buffer_put_briefs(hv_instance_buffers(in)->host, cursor, briefs,
				     hv_briefs_first(nr));
	else if (wants == HV_MATCH_SOME)
		take_some(in, cursor, briefs, nr);
}

static void take_host(struct hv_consumer *consumer, const struct hv_host_item *item)
{
	struct hv_instance *in = consumer->ctx;

	if (hv_host_events_match(in, &item->event))
		hv_buffer_put_host(hv_instance_buffers(in)->host, item->records, item->nr_records,
				   &item->event);
}

static void init(struct hv_instance *in)
{
	*hv_instance_consumer(in) = (struct hv_consumer){.ctx = in,
							 .take = take,
							 .brief_kinds = brief_kinds,
							 .take_briefs = take_briefs,
							 .take_host = take_host};
}

const struct hv_part hv_demux_part = {
	.all_bytes = sizeof(bool),
	.init = init,
};

/* -- markers ----------------------------------------------------------------------------------- */

#define RAW_ID_LEN  4
#define RAW_LEN_MIN (RAW_ID_LEN + sizeof("<faulted>") - 1)

/* Returns the type of markers if IN has triggers for it, or NULL. */
static const struct hv_event_type *type_with_triggers(const struct hv_instance *in,
						      const struct hv_catalogue **ret_c)
{
	const struct hv_event_type *type;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!hv_instances_share(hv_instance_all(in)) ||
	    (!hv_triggers_have_any(in) && !hv_hists_have_any(in)))
		return NULL;
	err = hv_event_types_catalogue(hv_instance_session(in)->types, ret_c);
	type = err ? NULL : hv_catalogue_find(*ret_c, "ftrace", "print");
	return type && hv_instance_acts_on(in, hv_event_ref_of(type)) ? type : NULL;
}

/* Makes the entry as the kernel's triggers see it: the text is NUL-terminated and does not have the
 * kernel's newline yet. Truncates it to the available room. Returns its length, or 0 if there is no
 * room. */
static size_t make_entry(const struct hv_catalogue *c, const struct hv_event_type *type,
			 const struct hv_event *marker, uint8_t *entry)
{
	const struct hv_event_field *ip = hv_event_type_field(c, type, "ip");
	const struct hv_event_field *buf = hv_event_type_field(c, type, "buf");
	uint16_t id = (uint16_t)type->id;
	size_t len = marker->text_len;

	if (!ip || !buf || ip->size_bytes != sizeof(marker->ip.v) ||
	    ip->off < HV_ENTRY_HEADER_LEN || ip->off > buf->off ||
	    buf->off - ip->off < sizeof(marker->ip.v) || buf->off >= HV_ENTRY_LEN_MAX)
		return 0;
	if (len > HV_ENTRY_LEN_MAX - 1 - buf->off)
		len = HV_ENTRY_LEN_MAX - 1 - buf->off;
	memset(entry, 0, buf->off);
	memcpy(entry, &id, sizeof(id));
	memcpy(entry + ip->off, &marker->ip.v, sizeof(marker->ip.v));
	memcpy(entry + buf->off, marker->text, len);
	entry[buf->off + len] = '\0';
	return buf->off + len + 1;
}

/* Runs the triggers of a marker. They see the idle task, because a marker's record has no task. */
static void pull(struct hv_instance *in, const struct hv_catalogue *c,
		 const struct hv_event_type *type, const char *text, size_t len_bytes,
		 struct hv_marker_time at)
{
	uint8_t entry[HV_ENTRY_LEN_MAX];
	struct hv_event marker = {
		.kind = HV_EVENT_PRINT,
		.time_ns = at.time_ns,
		.comm = "<idle>",
		.text = text,
		.text_len = len_bytes,
		.id = (uint16_t)type->id,
	};
	size_t len;

	hv_kernel_symbol(hv_instance_session(in)->kernel, "tracing_mark_write", &marker.ip);
	len = make_entry(c, type, &marker, entry);
	if (!len)
		return;
	marker.entry = (struct hv_span){entry, len};
	take_marker(in, &marker, at.tsc);
}

void hv_instance_mark(struct hv_instance *in, const char *line, size_t len_bytes)
{
	struct hv_buffer *b = hv_instance_buffer(in);
	struct hv_marker_time at = hv_buffer_put_marker(b, HV_EVENT_PRINT, line, len_bytes);
	const struct hv_catalogue *c = NULL;
	const struct hv_event_type *type = type_with_triggers(in, &c);

	if (type)
		pull(in, c, type, line, len_bytes, at);
}

/* Since 6.18 the kernel copies the bytes to a per-CPU buffer before it reserves the record, so the
 * record has their length. Earlier kernels reserve room for "<faulted>" after the number, and count
 * the number's length twice (write_raw_marker_to_buffer). */
size_t hv_instance_raw_mark_len(const struct hv_instance *in, size_t len_bytes)
{
	const struct hv_btf *btf = hv_instance_session(in)->kernel->core.btf;
	uint32_t unused;

	if (btf && hv_btf_size(btf, "trace_user_buf_info", &unused))
		return len_bytes;
	return RAW_ID_LEN + (len_bytes < RAW_LEN_MIN ? RAW_LEN_MIN : len_bytes);
}

void hv_instance_mark_raw(struct hv_instance *in, const char *bytes, size_t len_bytes)
{
	size_t record_len = hv_instance_raw_mark_len(in, len_bytes);
	HV_AUTO_FREE char *record = hv_alloc(record_len);

	memcpy(record, bytes, len_bytes);
	hv_buffer_put_marker(hv_instance_buffer(in), HV_EVENT_RAW_DATA, record, record_len);
}
