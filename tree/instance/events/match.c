/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/events/match.h"

#include <stdlib.h>

#include "base/guard.h"
#include "kernel/events/catalogue.h"
#include "kernel/kernel.h"
#include "tracer/host_tracer.h"
#include "tracer/session.h"
#include "tree/instance/core/sharing.h"
#include "tree/instance/events/event_filters.h"
#include "tree/instance/events/event_pids.h"

/* -- open calls -------------------------------------------------------------------------------- */

#define BUCKET_BITS  14
#define NR_BUCKETS   (1u << BUCKET_BITS)
#define CALLS_MAX    (1u << 18) /* a guest can claim any number of tasks */
#define KEY_IDLE     (UINT64_C(1) << 32)
#define KEY_SWITCHES (UINT64_C(1) << 33)

/* An open call. A bucket has the innermost call of each task. Index 0 means none. */
struct entry {
	struct hv_open_call call;
	uint64_t key;
	uint32_t around; /* the enclosing call; in an unused entry: the next unused one */
	uint32_t next;	 /* in an innermost call: the next one in the bucket */
};

/* State of a vCPU that may be switching tasks. */
struct lane {
	bool switches;
	uint32_t pid;
	uint16_t depth; /* depth of the function called by __switch_to */
};

struct hv_open_calls {
	struct hv_gva_range switches;
	struct entry *entries; /* owned; entry 0 is unused */
	uint32_t nr_entries;
	uint32_t first_unused; /* 0: none */
	uint32_t buckets[NR_BUCKETS];
	struct lane *lanes; /* owned, by CPU */
	unsigned nr_lanes;
};

struct hv_open_calls *hv_open_calls_new(struct hv_gva_range switches)
{
	struct hv_open_calls *o = hv_alloc(sizeof(*o));

	o->switches = switches;
	o->nr_entries = 1;
	return o;
}

void hv_open_calls_free(struct hv_open_calls *o)
{
	if (!o)
		return;
	free(o->entries);
	free(o->lanes);
	free(o);
}

/* -- stack of an event ------------------------------------------------------------------------- */

static struct lane *lane_of(struct hv_open_calls *o, unsigned cpu)
{
	if (cpu >= o->nr_lanes) {
		o->lanes = hv_realloc_array(o->lanes, cpu + 1, sizeof(*o->lanes));
		while (o->nr_lanes <= cpu)
			o->lanes[o->nr_lanes++] = (struct lane){0};
	}
	return &o->lanes[cpu];
}

/* Each vCPU has its own idle task. All of them have pid 0. */
static uint64_t key_of(const struct lane *lane, const struct hv_event *e)
{
	if (lane->switches)
		return KEY_SWITCHES | e->cpu;
	return e->pid ? e->pid : KEY_IDLE | e->cpu;
}

static void note_entry(const struct hv_open_calls *o, struct lane *lane, const struct hv_event *e)
{
	bool by_switch = hv_gva_in(e->parent_ip, o->switches);

	if (!by_switch && lane->switches && (e->pid != lane->pid || e->depth <= lane->depth))
		lane->switches = false;
	if (by_switch)
		*lane = (struct lane){.switches = true, .pid = e->pid, .depth = e->depth};
}

static void note_exit(struct lane *lane, const struct hv_event *e)
{
	if (lane->switches && (e->pid != lane->pid || e->depth < lane->depth))
		lane->switches = false;
}

/* -- the calls --------------------------------------------------------------------------------- */

/* Returns the link to KEY's innermost call; it contains 0 if KEY has no open call. */
static uint32_t *link_of(struct hv_open_calls *o, uint64_t key)
{
	uint32_t hash = (uint32_t)(key ^ key >> 32) * UINT32_C(0x9e3779b1);
	uint32_t *link = &o->buckets[hash >> (32 - BUCKET_BITS)];

	while (*link && o->entries[*link].key != key)
		link = &o->entries[*link].next;
	return link;
}

static void pop(struct hv_open_calls *o, uint32_t *link)
{
	uint32_t at = *link;
	struct entry *e = &o->entries[at];

	if (e->around)
		o->entries[e->around].next = e->next;
	*link = e->around ? e->around : e->next;
	e->around = o->first_unused;
	o->first_unused = at;
}

static void forget_all(struct hv_open_calls *o)
{
	for (unsigned i = 0; i < NR_BUCKETS; i++)
		o->buckets[i] = 0;
	o->nr_entries = 1;
	o->first_unused = 0;
}

static uint32_t unused_entry(struct hv_open_calls *o)
{
	uint32_t at = o->first_unused;

	if (at) {
		o->first_unused = o->entries[at].around;
		return at;
	}
	if (o->nr_entries == CALLS_MAX)
		forget_all(o);
	if ((o->nr_entries & (o->nr_entries - 1)) == 0)
		o->entries = hv_realloc_array(o->entries, 2 * (size_t)o->nr_entries,
					      sizeof(*o->entries));
	return o->nr_entries++;
}

static void end_deeper(struct hv_open_calls *o, uint64_t key, uint32_t *link, unsigned depth)
{
	while (*link && o->entries[*link].key == key && o->entries[*link].call.guest_depth >= depth)
		pop(o, link);
}

const struct hv_open_call *hv_open_calls_around(struct hv_open_calls *o,
						const struct hv_event *entry)
{
	struct lane *lane = lane_of(o, entry->cpu);
	uint32_t *link;
	uint64_t key;

	note_entry(o, lane, entry);
	key = key_of(lane, entry);
	end_deeper(o, key, link_of(o, key), entry->depth);
	link = link_of(o, key);
	return *link ? &o->entries[*link].call : NULL;
}

void hv_open_calls_add(struct hv_open_calls *o, const struct hv_event *entry,
		       struct hv_open_call call)
{
	uint64_t key = key_of(lane_of(o, entry->cpu), entry);
	uint32_t at = unused_entry(o), *link = link_of(o, key), around = *link;

	call.ip = entry->ip;
	call.guest_depth = entry->depth;
	o->entries[at] = (struct entry){
		.call = call,
		.key = key,
		.around = around,
		.next = around ? o->entries[around].next : 0,
	};
	*link = at;
}

bool hv_open_calls_end(struct hv_open_calls *o, const struct hv_event *exit,
		       struct hv_open_call *ret)
{
	struct lane *lane = lane_of(o, exit->cpu);
	uint32_t *link;
	uint64_t key;
	bool found;

	note_exit(lane, exit);
	key = key_of(lane, exit);
	end_deeper(o, key, link_of(o, key), exit->depth + 1u);
	if (lane->switches && exit->depth == lane->depth)
		lane->switches = false;
	link = link_of(o, key);
	if (!*link)
		return false;
	*ret = o->entries[*link].call;
	found = ret->guest_depth == exit->depth && ret->ip.v == exit->ip.v;
	if (ret->guest_depth == exit->depth)
		pop(o, link);
	return found;
}

/* IN's open calls, or NULL. */
static struct hv_open_calls *open_calls_of(const struct hv_instance *in)
{
	return hv_instance_state(in, HV_PART_MATCH);
}

void hv_match_end_graph(struct hv_instance *in)
{
	hv_open_calls_free(open_calls_of(in));
	hv_instance_set_state(in, HV_PART_MATCH, NULL);
}

bool hv_would_record(const struct hv_instance *in, const struct hv_event *event)
{
	const struct hv_selection *sel = hv_instance_selection(in);

	return hv_instance_takes_on(in, event->cpu) && hv_selection_has_function(sel, event->ip) &&
	       hv_selection_has_task(sel, event->pid);
}

/* Returns whether IN wants EVENT while several instances trace. */
static bool wants_of_several(const struct hv_instance *in, const struct hv_event *event)
{
	bool stacks = hv_options_on(hv_instance_options(in), HV_OPT_FUNC_STACK_TRACE);

	return (event->kind != HV_EVENT_STACK || stacks) && hv_would_record(in, event);
}

/* Returns whether IN wants events while it traces alone. */
static bool wants_alone(const struct hv_instance *in)
{
	return !hv_recording_host_has_commands(hv_instance_all(in)) || hv_instance_takes(in);
}

bool hv_matches(const struct hv_instance *in, const struct hv_event *event)
{
	return hv_instance_is_single(in) ? wants_alone(in) : wants_of_several(in, event);
}

bool hv_matches_guests(const struct hv_instance *in, const struct hv_event *event)
{
	if (!hv_event_set_has_id(hv_instance_events(in), event->id))
		return false;
	if (hv_instance_is_single(in)
		    ? hv_recording_host_has_commands(hv_instance_all(in)) && !hv_instance_takes(in)
		    : !hv_instance_takes_on(in, event->cpu) ||
			      !hv_instance_has_event_task(in, event))
		return false;
	return hv_instance_filters_pass(in, event);
}

/* -- calls of function_graph ------------------------------------------------------------------- */

/* Returns whether options of IN exclude CALL, recorded as ENTRY. AROUND is IN's open call around
 * it, or NULL. The trampolines do the same for an instance that traces alone
 * (arch/x86_64/graph.S). */
static bool is_skipped(const struct hv_instance *in, const struct hv_open_call *around,
		       const struct hv_event *entry, const struct hv_open_call *call)
{
	bool subtree = hv_instance_selection(in)->lists[HV_LIST_GRAPH].nr;
	bool irqs = hv_options_on(hv_instance_options(in), HV_OPT_FUNCGRAPH_IRQS);
	bool was_inside = around && around->inside;
	uint32_t max_depth = hv_instances_top_settings(hv_instance_all(in))->max_graph_depth;

	if (!irqs && (entry->flags & HV_TRACE_HARDIRQ) && !was_inside && !(subtree && call->inside))
		return true;
	if (subtree && !call->inside && !call->muted)
		return true;
	return max_depth && call->depth >= max_depth;
}

/* Returns whether IN wants ENTRY, and sets *DEPTH, its depth in IN. */
static bool takes_entry(const struct hv_instance *in, struct hv_open_calls *open,
			const struct hv_event *entry, uint16_t *depth)
{
	const struct hv_filter *lists = hv_instance_selection(in)->lists;
	const struct hv_open_call *around = hv_open_calls_around(open, entry);
	struct hv_open_call call = {
		.muted = hv_filter_has(&lists[HV_LIST_GRAPH_NOTRACE], entry->ip),
		.depth = around ? around->depth + 1 : 0,
	};

	call.inside = (around && around->inside) ||
		      (!call.muted && hv_filter_has(&lists[HV_LIST_GRAPH], entry->ip));
	if (hv_instance_is_single(in)) {
		call.depth = entry->depth;
	} else if ((around && around->muted) || !hv_would_record(in, entry) ||
		   is_skipped(in, around, entry, &call)) {
		return false;
	}
	hv_open_calls_add(open, entry, call);
	*depth = call.depth;
	return !call.muted && !hv_instances_top_settings(hv_instance_all(in))->thresh_ns;
}

/* A return belongs to the instances that its call belongs to. For an instance that traces alone,
 * the call may have started before its calls were tracked here. */
static bool takes_exit(const struct hv_instance *in, struct hv_open_calls *open,
		       const struct hv_event *exit, uint16_t *depth)
{
	bool without_host = hv_options_on(hv_instance_options(in), HV_OPT_FUNCGRAPH_HOST);
	uint64_t ns = exit->time_ns - exit->call_ns - (without_host ? exit->host_ns : 0);
	struct hv_open_call call;
	bool found = hv_open_calls_end(open, exit, &call);

	if (hv_instance_is_single(in))
		return found || hv_selection_has_function(hv_instance_selection(in), exit->ip);
	if (!found || call.muted || !hv_instance_takes_on(in, exit->cpu) ||
	    ns < hv_instances_top_settings(hv_instance_all(in))->thresh_ns)
		return false;
	*depth = call.depth;
	return true;
}

static struct hv_open_calls *new_open_calls(const struct hv_kernel *k)
{
	struct hv_gva_range switches = {0};

	if (hv_kernel_symbol(k, "__switch_to", &switches.start))
		switches.end = hv_gva_add(switches.start, hv_kernel_symbol_size(k, switches.start));
	return hv_open_calls_new(switches);
}

/* Returns whether IN, which traces function_graph, wants EVENT, and sets *DEPTH. */
static bool wants_call(struct hv_instance *in, const struct hv_event *event, uint16_t *depth)
{
	struct hv_open_calls *open = open_calls_of(in);

	if (!open) {
		open = new_open_calls(hv_instance_session(in)->kernel);
		hv_instance_set_state(in, HV_PART_MATCH, open);
	}
	if (event->kind == HV_EVENT_GRAPH_ENTRY)
		return takes_entry(in, open, event, depth) &&
		       (!hv_instance_is_single(in) || hv_matches(in, event));
	return takes_exit(in, open, event, depth) &&
	       (!hv_instance_is_single(in) || hv_matches(in, event));
}

bool hv_match_traced(struct hv_instance *in, const struct hv_event *event, uint16_t *depth)
{
	bool is_call = event->kind == HV_EVENT_GRAPH_ENTRY || event->kind == HV_EVENT_GRAPH_EXIT;
	bool is_graph = hv_instance_tracer(in)->is_graph;

	if (!hv_instance_tracer(in)->records_calls ||
	    (is_call != is_graph && !hv_instance_is_single(in)))
		return false;
	return is_call && is_graph ? wants_call(in, event, depth) : hv_matches(in, event);
}

enum hv_brief_match hv_match_of_briefs(const struct hv_instance *in)
{
	if (!hv_instance_tracer(in)->records_calls)
		return HV_MATCH_NONE;
	if (hv_instance_tracer(in)->is_graph || !hv_instance_is_single(in))
		return HV_MATCH_SOME;
	return wants_alone(in) ? HV_MATCH_ALL : HV_MATCH_NONE;
}

uint64_t hv_match_briefs(struct hv_instance *in, unsigned cpu, struct hv_brief *briefs, size_t nr)
{
	struct hv_event event = {.cpu = cpu};
	uint64_t which = 0;

	for (size_t i = 0; i < nr; i++) {
		event.kind = briefs[i].kind;
		event.time_ns = briefs[i].time_ns;
		event.pid = briefs[i].pid;
		event.flags = briefs[i].flags;
		event.ip = briefs[i].ip;
		event.parent_ip = briefs[i].parent_ip;
		event.depth = briefs[i].depth;
		event.call_ns = briefs[i].call_ns;
		if (hv_match_traced(in, &event, &briefs[i].depth))
			which |= UINT64_C(1) << i;
	}
	return which;
}

/* -- events of the host ------------------------------------------------------------------------ */

bool hv_host_events_is(const struct hv_event_type *type)
{
	return type->reg_kind == HV_EVENT_REG_HOST;
}

static uint32_t mask_of(const struct hv_event_set *set)
{
	uint32_t mask = 0;

	for (size_t i = 0; i < set->nr; i++)
		if (hv_host_event_is(set->list[i].id))
			mask |= hv_host_event_bit(set->list[i].id);
	return mask;
}

static bool makes_any(const struct hv_instances *all, const struct hv_event_set *set)
{
	(void)all;
	return mask_of(set) != 0;
}

struct hv_err *hv_host_events_publish(struct hv_instances *all)
{
	uint32_t mask = 0;

	for (const struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in))
		mask |= mask_of(hv_instance_events(in));
	return hv_host_tracer_set(hv_instances_session(all)->host, mask);
}

bool hv_host_events_take_away(struct hv_instance *in)
{
	bool any = false;

	for (size_t i = hv_instance_events(in)->nr; i-- > 0;) {
		if (!hv_host_event_is(hv_instance_events(in)->list[i].id))
			continue;
		hv_event_set_remove(hv_instance_events(in), hv_instance_events(in)->list[i]);
		any = true;
	}
	return any;
}

bool hv_host_events_match(const struct hv_instance *in, const struct hv_event *event)
{
	return hv_event_set_has_id(hv_instance_events(in), event->id) && hv_instance_records(in) &&
	       !hv_instance_selection(in)->muted[event->cpu] && hv_instance_filters_pass(in, event);
}

const struct hv_part hv_match_part = {
	.makes_any = makes_any,
	.deinit = hv_match_end_graph,
	.returns_rings = hv_match_end_graph,
};
