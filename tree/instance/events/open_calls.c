/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/events/open_calls.h"

#include <stdlib.h>

#include "base/guard.h"

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

/* -- stack of an event
 * --------------------------------------------------------------------------- */

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

/* -- the calls -------------------------------------------------------------------------------- */

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
