/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "latency/decode.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export/page_decode.h"
#include "tree/format/print_fmt/print_fmt.h"

/* -- names of exit reasons --------------------------------------------------------------------- */

#define FIELDS_MAX 64
#define BEFORE	   " reason " /* precedes the name in the text of the event */

struct hv_exit_names {
	struct hv_print_fmt *fmt; /* NULL if the event does not exist */
};

/* Resolves nothing: the host's symbols are not available. */
static const struct hv_print_resolver resolver;

static void take_fields(const struct hv_event_fields *fields, struct hv_print_field *ret,
			size_t *nr)
{
	for (size_t i = 0; i < fields->nr && *nr < FIELDS_MAX; i++)
		ret[(*nr)++] = (struct hv_print_field){
			.name = fields->list[i].name,
			.type = fields->list[i].type,
			.offset_bytes = fields->list[i].off,
			.size_bytes = fields->list[i].size_bytes,
			.is_signed = fields->list[i].is_signed,
		};
}

struct hv_exit_names *hv_exit_names_new(const struct hv_catalogue *c)
{
	const struct hv_event_type *type = hv_catalogue_find(c, "host", "kvm_exit");
	struct hv_exit_names *n = hv_alloc(sizeof(*n));
	struct hv_print_field fields[FIELDS_MAX];
	size_t nr = 0;

	if (!type)
		return n;
	take_fields(&c->common, fields, &nr);
	take_fields(&type->fields, fields, &nr);
	hv_err_free(hv_print_fmt_compile(type->print_fmt, fields, nr, &resolver, &n->fmt));
	return n;
}

void hv_exit_names_free(struct hv_exit_names *n)
{
	if (!n)
		return;
	hv_print_fmt_free(n->fmt);
	free(n);
}

void hv_exit_names_add(const struct hv_exit_names *n, const struct hv_event *e, uint64_t reason,
		       struct hv_text *out)
{
	static const struct hv_print_env env = {.resolver = &resolver};
	HV_AUTO_TEXT struct hv_text text = {0};
	const char *word = NULL;

	if (n->fmt && hv_print_fmt_eval(n->fmt, e->entry, &env, &text)) {
		hv_text_add(&text, "");
		word = strstr(text.data, BEFORE);
	}
	if (word)
		word += strlen(BEFORE);
	if (word && strcspn(word, " "))
		hv_text_add_guest(out, word, strcspn(word, " "));
	else
		hv_text_printf(out, "%" PRIu64, reason);
}

/* -- throttled cgroups ------------------------------------------------------------------------- */

#define FAULT "(fault)" /* the kernel could not read the string, for example above the root */

void hv_limit_fields_init(struct hv_limit_fields *f, const struct hv_catalogue *c)
{
	const struct hv_event_type *type = hv_catalogue_find(c, HV_LIMIT_SYSTEM, HV_LIMIT_EVENT);

	*f = (struct hv_limit_fields){0};
	if (!type)
		return;
	f->quota = hv_event_type_field(c, type, HV_LIMIT_QUOTA);
	f->period = hv_event_type_field(c, type, HV_LIMIT_PERIOD);
	for (unsigned i = 0; i < HV_LIMIT_NAMES; i++) {
		char name[sizeof(HV_LIMIT_NAME) + 3];

		snprintf(name, sizeof(name), HV_LIMIT_NAME "%u", i);
		f->names[i] = hv_event_type_field(c, type, name);
	}
}

static bool read_number(const struct hv_event_field *field, const struct hv_event *e, uint64_t *ret)
{
	struct hv_entry_value v;

	if (!field || !hv_entry_value(field, e->entry, &v))
		return false;
	*ret = v.number;
	return true;
}

/* The root's name is empty or "/". Returns false at the root, and if the name could not be read. */
static bool read_name(const struct hv_event_field *field, const struct hv_event *e,
		      struct hv_span *ret)
{
	struct hv_entry_value v;

	if (!field || !hv_entry_value(field, e->entry, &v) || v.kind != HV_ENTRY_STRING)
		return false;
	*ret = v.bytes;
	return v.bytes.len_bytes &&
	       !(v.bytes.len_bytes == strlen(FAULT) &&
		 memcmp(v.bytes.data, FAULT, strlen(FAULT)) == 0) &&
	       !(v.bytes.len_bytes == 1 && v.bytes.data[0] == '/');
}

bool hv_limit_fields_read(const struct hv_limit_fields *f, const struct hv_event *e, uint64_t key,
			  struct hv_limit_group *ret)
{
	struct hv_limit_group g = {.key = key};
	HV_AUTO_TEXT struct hv_text path = {0};
	struct hv_span names[HV_LIMIT_NAMES];
	unsigned nr = 0;
	size_t over;

	if (!read_number(f->quota, e, &g.quota_ns) || !read_number(f->period, e, &g.period_ns))
		return false;
	while (nr < HV_LIMIT_NAMES && read_name(f->names[nr], e, &names[nr]))
		nr++;
	hv_text_add(&path, nr == HV_LIMIT_NAMES ? "..." : "");
	for (unsigned i = nr; i-- > 0;) {
		hv_text_add(&path, "/");
		hv_text_add_bytes(&path, names[i].data, names[i].len_bytes);
	}
	hv_text_add(&path, nr ? "" : "/");
	over = path.len_bytes < sizeof(g.path) ? 0 : path.len_bytes - sizeof(g.path) + 1;
	memcpy(g.path, path.data + over, path.len_bytes - over);
	if (over)
		memcpy(g.path, "...", strlen("..."));
	*ret = g;
	return true;
}

/* -- events ------------------------------------------------------------------------------------ */

enum { NUMBER, OTHER, OTHER_COMM, OTHER_PRIO, STATE, DEVICE, TEXT, ADDRESS, PRIO };

#define OTHER_CPU OTHER_PRIO /* waking events need no priority */
#define IDS	  65536

#define REQUEST                                                                                    \
	{                                                                                          \
		[NUMBER] = "sector", [DEVICE] = "dev", [TEXT] = "rwbs"                             \
	}

const struct hv_wanted_event hv_wanted_events[] = {
	{"sched",
	 "sched_switch",
	 HV_MOMENT_SWITCH,
	 {[OTHER] = "next_pid",
	  [OTHER_COMM] = "next_comm",
	  [OTHER_PRIO] = "next_prio",
	  [STATE] = "prev_state",
	  [TEXT] = "prev_comm",
	  [PRIO] = "prev_prio"},
	 "stacktrace if prev_pid != 0 && (prev_state == 0 || prev_state == 2 || prev_state > 255)"},
	{"sched",
	 "sched_waking",
	 HV_MOMENT_WAKING,
	 {[OTHER] = "pid", [OTHER_COMM] = "comm", [OTHER_CPU] = "target_cpu"}},
	{"sched",
	 "sched_wakeup_new",
	 HV_MOMENT_WAKING,
	 {[OTHER] = "pid", [OTHER_COMM] = "comm", [OTHER_CPU] = "target_cpu"}},
	{"irq", "irq_handler_entry", HV_MOMENT_IRQ, {[NUMBER] = "irq", [TEXT] = "name"}},
	{"irq", "irq_handler_exit", HV_MOMENT_IRQ_END, {[NUMBER] = "irq"}},
	{"irq", "softirq_entry", HV_MOMENT_SOFTIRQ, {[NUMBER] = "vec"}},
	{"irq", "softirq_exit", HV_MOMENT_SOFTIRQ_END, {[NUMBER] = "vec"}},
	{"raw_syscalls", "sys_enter", HV_MOMENT_SYSCALL, {[NUMBER] = "id"}},
	{"raw_syscalls", "sys_exit", HV_MOMENT_SYSCALL_END, {[NUMBER] = "id"}},
	{"block", "block_rq_insert", HV_MOMENT_IO_QUEUED, REQUEST},
	{"block", "block_rq_issue", HV_MOMENT_IO_ISSUED, REQUEST},
	{"block", "block_rq_complete", HV_MOMENT_IO_DONE, REQUEST},
	{"lock",
	 "contention_begin",
	 HV_MOMENT_LOCK,
	 {[NUMBER] = "lock_addr", [STATE] = "flags"},
	 "stacktrace"},
	{"lock", "contention_end", HV_MOMENT_LOCK_END, {[NUMBER] = "lock_addr"}},
	{"vmscan", "mm_vmscan_direct_reclaim_begin", HV_MOMENT_RECLAIM, {0}, "stacktrace"},
	{"vmscan", "mm_vmscan_direct_reclaim_end", HV_MOMENT_RECLAIM_END, {0}},
	{"vmscan", "mm_vmscan_memcg_reclaim_begin", HV_MOMENT_RECLAIM, {0}, "stacktrace"},
	{"vmscan", "mm_vmscan_memcg_reclaim_end", HV_MOMENT_RECLAIM_END, {0}},
	{"compaction", "mm_compaction_begin", HV_MOMENT_COMPACT, {0}, "stacktrace"},
	{"compaction", "mm_compaction_end", HV_MOMENT_COMPACT_END, {0}},
	{"irq_vectors", "local_timer_entry", HV_MOMENT_TICK, {0}, "stacktrace if common_pid != 0"},
	{HV_SAMPLE_SYSTEM, HV_SAMPLE_EVENT, HV_MOMENT_SAMPLE, {[ADDRESS] = HV_SAMPLE_STACK}},
	{HV_LIMIT_SYSTEM,
	 HV_LIMIT_EVENT,
	 HV_MOMENT_THROTTLE,
	 {[NUMBER] = "tg", [OTHER_CPU] = "cpu", [ADDRESS] = "curr"}},
	{HV_LIMIT_SYSTEM,
	 HV_UNLIMIT_EVENT,
	 HV_MOMENT_UNTHROTTLE,
	 {[NUMBER] = "tg", [OTHER_CPU] = "cpu"}},
	{HV_WANTED_HOST,
	 "kvm_exit",
	 HV_MOMENT_HOST_EXIT,
	 {[NUMBER] = "exit_reason", [STATE] = "isa", [ADDRESS] = "guest_rip"}},
	{HV_WANTED_HOST, "kvm_entry", HV_MOMENT_HOST_ENTRY, {0}},
	{HV_WANTED_HOST,
	 "sched_switch",
	 HV_MOMENT_HOST_SWITCH,
	 {[OTHER] = "next_pid",
	  [OTHER_COMM] = "next_comm",
	  [STATE] = "prev_state",
	  [TEXT] = "prev_comm"}},
	{HV_WANTED_HOST,
	 "sched_waking",
	 HV_MOMENT_HOST_WAKING,
	 {[OTHER] = "pid", [OTHER_COMM] = "comm"}},
};
const size_t hv_nr_wanted_events = HV_ARRAY_LEN(hv_wanted_events);

/* Returns false if the type lacks a field. */
static bool find_fields(struct hv_moments *m, size_t i, const struct hv_event_type *type)
{
	for (unsigned n = 0; n < HV_WANTED_FIELDS; n++) {
		const char *name = hv_wanted_events[i].fields[n];

		if (!name)
			continue;
		m->fields[i][n] = hv_event_type_field(&m->decode->catalogue, type, name);
		if (!m->fields[i][n])
			return false;
	}
	return true;
}

void hv_moments_init(struct hv_moments *m, const struct hv_page_decode *d)
{
	*m = (struct hv_moments){.decode = d};
	m->by_id = hv_alloc(IDS);
	m->fields = hv_alloc(hv_nr_wanted_events * sizeof(*m->fields));
	for (size_t i = 0; i < hv_nr_wanted_events; i++) {
		const struct hv_event_type *type = hv_catalogue_find(
			&d->catalogue, hv_wanted_events[i].system, hv_wanted_events[i].name);

		if (type && type->id < IDS && find_fields(m, i, type))
			m->by_id[type->id] = (uint8_t)(i + 1);
	}
}

void hv_moments_deinit(struct hv_moments *m)
{
	free(m->by_id);
	free(m->fields);
}

static void take_text(char *to, const struct hv_entry_value *v)
{
	size_t len =
		v->bytes.len_bytes < HV_STALL_COMM_LEN ? v->bytes.len_bytes : HV_STALL_COMM_LEN - 1;

	if (v->kind != HV_ENTRY_STRING || !len)
		return;
	memset(to, 0, HV_STALL_COMM_LEN);
	memcpy(to, v->bytes.data, len);
}

/* The innermost address of a program's stack is its first word. */
static uint64_t first_word(const struct hv_entry_value *v)
{
	uint64_t word = 0;

	return hv_span_u64(v->bytes, 0, &word) ? word : 0;
}

static void take(struct hv_moment *ret, unsigned field, const struct hv_entry_value *v)
{
	if (field == NUMBER)
		ret->number = v->number;
	else if (field == OTHER)
		ret->other = (uint32_t)v->number;
	else if (field == OTHER_COMM)
		take_text(ret->other_comm, v);
	else if (field == OTHER_PRIO && ret->kind == HV_MOMENT_SWITCH)
		ret->other_prio = (int)v->number;
	else if (field == OTHER_CPU)
		ret->other_cpu = (unsigned)v->number;
	else if (field == STATE)
		ret->state = v->number;
	else if (field == DEVICE)
		ret->device = (uint32_t)v->number;
	else if (field == ADDRESS)
		ret->address = ret->kind == HV_MOMENT_SAMPLE ? first_word(v) : v->number;
	else if (field == PRIO)
		ret->prio = (int)v->number;
	else if (ret->kind == HV_MOMENT_SWITCH || ret->kind == HV_MOMENT_HOST_SWITCH)
		take_text(ret->comm, v);
	else
		take_text(ret->text, v);
}

bool hv_moments_decode(const struct hv_moments *m, const struct hv_event *e, struct hv_moment *ret)
{
	unsigned found = m->by_id[e->id];

	if (e->kind != HV_EVENT_GUESTS || !found)
		return false;
	*ret = (struct hv_moment){
		.kind = hv_wanted_events[found - 1].kind,
		.cpu = e->cpu,
		.time_ns = e->time_ns,
		.pid = e->pid,
	};
	if (strcmp(e->comm, HV_COMM_UNKNOWN) != 0)
		memcpy(ret->comm, e->comm, sizeof(ret->comm) - 1);
	for (unsigned n = 0; n < HV_WANTED_FIELDS; n++) {
		const struct hv_event_field *field = m->fields[found - 1][n];
		struct hv_entry_value value;

		if (!field)
			continue;
		if (!hv_entry_value(field, e->entry, &value))
			return false;
		take(ret, n, &value);
	}
	return true;
}
