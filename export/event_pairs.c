/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/event_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "base/prefix.h"
#include "export/page_decode.h"

#define LOOKUPS	 8 /* entries searched for a key */
#define IDLE	 (UINT64_C(1) << 32)
#define ALL_CPUS UINT64_MAX /* owner of pairs that any task can end */

struct known {
	const char *system, *begin, *end;
	/* Key fields of the begin and end events that must be equal; NULL: no key. */
	const char *begin_keys[2], *end_keys[2];
	const char *of;
	bool is_anybodys; /* another task can end it */
};

static const struct known known[] = {
	{"irq", "irq_handler_entry", "irq_handler_exit", {"irq"}, {"irq"}, "irq", false},
	{"irq", "softirq_entry", "softirq_exit", {"vec"}, {"vec"}, "vec", false},
	{"raw_syscalls", "sys_enter", "sys_exit", {0}, {0}, "id", false},
	{"lock", "contention_begin", "contention_end", {"lock_addr"}, {"lock_addr"}, NULL, false},
	{"block",
	 "block_rq_insert",
	 "block_rq_issue",
	 {"dev", "sector"},
	 {"dev", "sector"},
	 "dev",
	 true},
	{"block",
	 "block_rq_issue",
	 "block_rq_complete",
	 {"dev", "sector"},
	 {"dev", "sector"},
	 "dev",
	 true},
	{"block",
	 "block_bio_queue",
	 "block_bio_complete",
	 {"dev", "sector"},
	 {"dev", "sector"},
	 "dev",
	 true},
	/* Wait of a task for a vCPU. */
	{"sched", "sched_waking", "sched_switch", {"pid"}, {"next_pid"}, NULL, true},
	{"sched", "sched_wakeup", "sched_switch", {"pid"}, {"next_pid"}, NULL, true},
	{"sched", "sched_wakeup_new", "sched_switch", {"pid"}, {"next_pid"}, NULL, true},
	/* Events of the host: the tasks are threads of the VMM. */
	{"host", "kvm_exit", "kvm_entry", {0}, {0}, "exit_reason", false},
	{"host", "sched_waking", "sched_switch", {"pid"}, {"next_pid"}, NULL, true},
	{"host", "sched_wakeup", "sched_switch", {"pid"}, {"next_pid"}, NULL, true},
};

static const struct {
	const char *begin, *end;
} suffixes[] = {
	{"_entry", "_exit"},
	{"_enter", "_exit"},
	{"_begin", "_end"},
	{"_start", "_end"},
};

#define HOST	  "host"
#define SYSCALLS  "syscalls"
#define SYS_ENTER "sys_enter"
#define SYS_EXIT  "sys_exit"

static const struct known *find_known(const char *system, const char *name)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(known); i++)
		if (strcmp(known[i].system, system) == 0 && strcmp(known[i].begin, name) == 0)
			return &known[i];
	return NULL;
}

bool hv_event_pair_end(const char *system, const char *name, struct hv_text *ret)
{
	const struct known *k = find_known(system, name);
	size_t len = strlen(name);

	if (k) {
		hv_text_add(ret, k->end);
		return true;
	}
	if (strcmp(system, SYSCALLS) == 0 && hv_starts_with(name, SYS_ENTER)) {
		hv_text_printf(ret, SYS_EXIT "%s", name + strlen(SYS_ENTER));
		return true;
	}
	/* Host events are excluded: kvm_entry is not the start of a pair. */
	for (size_t i = 0; strcmp(system, HOST) != 0 && i < HV_ARRAY_LEN(suffixes); i++) {
		size_t suffix = strlen(suffixes[i].begin);

		if (len <= suffix || strcmp(name + len - suffix, suffixes[i].begin) != 0)
			continue;
		hv_text_printf(ret, "%.*s%s", (int)(len - suffix), name, suffixes[i].end);
		return true;
	}
	return false;
}

static const struct hv_event_field *field(const struct hv_catalogue *c,
					  const struct hv_event_type *type, const char *name)
{
	return name ? hv_event_type_field(c, type, name) : NULL;
}

/* Returns false if one of the events lacks a key field. */
static bool find_keys(const struct hv_catalogue *c, const struct known *k,
		      struct hv_event_pair *ret)
{
	for (unsigned i = 0; i < HV_ARRAY_LEN(k->begin_keys); i++) {
		ret->begin_keys[i] = field(c, ret->begin, k->begin_keys[i]);
		ret->end_keys[i] = field(c, ret->end, k->end_keys[i]);
		if (k->begin_keys[i] && (!ret->begin_keys[i] || !ret->end_keys[i]))
			return false;
	}
	ret->of = field(c, ret->begin, k->of);
	return true;
}

static void add_pair(struct hv_event_pairs *p, const struct hv_event_type *begin)
{
	struct hv_event_pair *pair = &p->list[p->nr];
	HV_AUTO_TEXT struct hv_text end = {0};
	const struct known *k;

	if (p->nr == HV_EVENT_PAIRS_MAX || !hv_event_pair_end(begin->system, begin->name, &end))
		return;
	*pair = (struct hv_event_pair){
		.begin = begin,
		.end = hv_catalogue_find(p->catalogue, begin->system, end.data),
	};
	k = find_known(begin->system, begin->name);
	pair->is_anybodys = k && k->is_anybodys;
	if (pair->end && (!k || find_keys(p->catalogue, k, pair)))
		p->nr++;
}

void hv_event_pairs_init(struct hv_event_pairs *p, const struct hv_catalogue *c)
{
	*p = (struct hv_event_pairs){.catalogue = c};
	for (size_t i = 0; i < c->nr; i++)
		add_pair(p, &c->types[i]);
	if (p->nr)
		p->begun = hv_alloc(HV_EVENT_PAIRS_OPEN_MAX * sizeof(*p->begun));
}

void hv_event_pairs_deinit(struct hv_event_pairs *p)
{
	free(p->begun);
}

/* Returns the task of E, or the vCPU if it is idle. */
static uint64_t owner_of(const struct hv_event *e)
{
	return e->pid ? e->pid : IDLE | e->cpu;
}

/* Returns false if E lacks a field. */
static bool read_keys(const struct hv_event_pair *pair, const struct hv_event_field *const *fields,
		      const struct hv_event *e, struct hv_event_begun *ret)
{
	struct hv_entry_value value;

	ret->owner = pair->is_anybodys ? ALL_CPUS : owner_of(e);
	for (unsigned i = 0; i < HV_ARRAY_LEN(ret->keys); i++) {
		ret->keys[i] = 0;
		if (!fields[i])
			continue;
		if (!hv_entry_value(fields[i], e->entry, &value))
			return false;
		ret->keys[i] = value.number;
	}
	return true;
}

static size_t bucket_of(const struct hv_event_begun *b, unsigned i)
{
	uint64_t hash = (b->keys[0] ^ b->keys[1] << 20 ^ b->owner << 32 ^ b->pair) *
			UINT64_C(0x9e3779b97f4a7c15);

	return ((hash >> 32) + i) & (HV_EVENT_PAIRS_OPEN_MAX - 1);
}

static struct hv_event_begun *find(const struct hv_event_pairs *p, const struct hv_event_begun *b)
{
	for (unsigned i = 0; i < LOOKUPS; i++) {
		struct hv_event_begun *at = &p->begun[bucket_of(b, i)];

		if (at->is_used && at->pair == b->pair && at->owner == b->owner &&
		    at->keys[0] == b->keys[0] && at->keys[1] == b->keys[1])
			return at;
	}
	return NULL;
}

/* Returns a free entry for B, or the oldest entry of its hash bucket. */
static struct hv_event_begun *make(const struct hv_event_pairs *p, const struct hv_event_begun *b)
{
	struct hv_event_begun *oldest = &p->begun[bucket_of(b, 0)];

	for (unsigned i = 0; i < LOOKUPS; i++) {
		struct hv_event_begun *at = &p->begun[bucket_of(b, i)];

		if (!at->is_used)
			return at;
		if (at->time < oldest->time)
			oldest = at;
	}
	return oldest;
}

/* A repeated begin event replaces the first one, whose end was not recorded. */
static void begin(struct hv_event_pairs *p, unsigned i, const struct hv_event *e)
{
	struct hv_event_pair *pair = &p->list[i];
	struct hv_event_begun b = {.is_used = true, .pair = (uint16_t)i, .time = e->time_ns};
	struct hv_event_begun *at;
	struct hv_entry_value value;

	if (!read_keys(pair, pair->begin_keys, e, &b))
		return;
	if (pair->of && hv_entry_value(pair->of, e->entry, &value))
		b.of = value.number;
	at = find(p, &b);
	*(at ? at : make(p, &b)) = b;
}

static bool end(struct hv_event_pairs *p, unsigned i, const struct hv_event *e,
		struct hv_event_duration *ret)
{
	const struct hv_event_pair *pair = &p->list[i];
	struct hv_event_begun b = {.pair = (uint16_t)i}, *at;

	if (!read_keys(pair, pair->end_keys, e, &b))
		return false;
	at = find(p, &b);
	if (!at)
		return false;
	at->is_used = false;
	*ret = (struct hv_event_duration){
		.pair = pair,
		.of = at->of,
		.passed = e->time_ns > at->time ? e->time_ns - at->time : 0,
	};
	return true;
}

unsigned hv_event_pairs_see(struct hv_event_pairs *p, const struct hv_event *e,
			    struct hv_event_duration *ret)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < p->nr && nr < HV_EVENT_PAIRS_ENDS_MAX; i++)
		if (p->list[i].end->id == e->id && end(p, i, e, &ret[nr]))
			nr++;
	for (unsigned i = 0; i < p->nr; i++)
		if (p->list[i].begin->id == e->id)
			begin(p, i, e);
	return nr;
}

void hv_event_pairs_lose(struct hv_event_pairs *p)
{
	if (p->begun)
		memset(p->begun, 0, HV_EVENT_PAIRS_OPEN_MAX * sizeof(*p->begun));
}
