/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/raw_page.h"

#include <endian.h>
#include <string.h>

/* -- layout of records ------------------------------------------------------------------------- */

#define HOST	   "host_ns"
#define RETVAL	   "retval"
#define MORE_BYTES 8 /* of each additional field */

#define COMMON                                                                                     \
	[HV_RAW_TYPE] = {0, 2}, [HV_RAW_FLAGS] = {2, 1}, [HV_RAW_PREEMPT_COUNT] = {3, 1},          \
	[HV_RAW_PID] = {4, 4}

const struct hv_raw_layout hv_raw_layout_known = {
	HV_RAW_DATA_LEN,
	{
		[HV_EVENT_FUNCTION] =
			{1, 24, {COMMON, [HV_RAW_IP] = {8, 8}, [HV_RAW_PARENT_IP] = {16, 8}}},
		[HV_EVENT_GRAPH_ENTRY] = {11,
					  20,
					  {COMMON, [HV_RAW_IP] = {8, 8}, [HV_RAW_DEPTH] = {16, 4}}},
		[HV_EVENT_GRAPH_EXIT] = {10,
					 40,
					 {COMMON, [HV_RAW_IP] = {8, 8}, [HV_RAW_DEPTH] = {16, 4},
					  [HV_RAW_OVERRUN] = {20, 4}, [HV_RAW_CALL_NS] = {24, 8},
					  [HV_RAW_RETURN_NS] = {32, 8}}},
		[HV_EVENT_PRINT] = {5, 16, {COMMON, [HV_RAW_IP] = {8, 8}, [HV_RAW_REST] = {16, 1}}},
		[HV_EVENT_RAW_DATA] = {18, 8, {COMMON, [HV_RAW_REST] = {8, 1}}},
		[HV_EVENT_STACK] =
			{4, 16, {COMMON, [HV_RAW_NR_CALLERS] = {8, 4}, [HV_RAW_REST] = {16, 1}}},
	},
	{1, 1, 1, 1, 1, 1}};

struct named_field {
	const char *name;
	enum hv_raw_field field;
};

static const struct named_field common[] = {
	{"common_type", HV_RAW_TYPE},
	{"common_flags", HV_RAW_FLAGS},
	{"common_preempt_count", HV_RAW_PREEMPT_COUNT},
	{"common_pid", HV_RAW_PID},
	{"common_preempt_lazy_count", HV_RAW_LAZY_COUNT},
};

/* Indexed by enum hv_event_kind. The bytes of raw_data start with their id. */
static const struct {
	const char *name;
	struct named_field fields[8];
} types[] = {
	[HV_EVENT_FUNCTION] = {"function", {{"ip", HV_RAW_IP}, {"parent_ip", HV_RAW_PARENT_IP}}},
	[HV_EVENT_GRAPH_ENTRY] = {"funcgraph_entry",
				  {{"func", HV_RAW_IP}, {"depth", HV_RAW_DEPTH}}},
	[HV_EVENT_GRAPH_EXIT] = {"funcgraph_exit",
				 {{"func", HV_RAW_IP},
				  {"depth", HV_RAW_DEPTH},
				  {"overrun", HV_RAW_OVERRUN},
				  {"calltime", HV_RAW_CALL_NS},
				  {"rettime", HV_RAW_RETURN_NS},
				  {RETVAL, HV_RAW_RETVAL},
				  {HOST, HV_RAW_HOST}}},
	[HV_EVENT_PRINT] = {"print", {{"ip", HV_RAW_IP}, {"buf", HV_RAW_REST}}},
	[HV_EVENT_RAW_DATA] = {"raw_data", {{"id", HV_RAW_REST}}},
	[HV_EVENT_STACK] = {"kernel_stack", {{"size", HV_RAW_NR_CALLERS}, {"caller", HV_RAW_REST}}},
};

_Static_assert(HV_ARRAY_LEN(types) == HV_EVENT_COMMAND, "a record for each kind of event");

static enum hv_raw_field field_named(const struct named_field *fields, size_t nr, const char *name)
{
	for (size_t i = 0; i < nr && fields[i].name; i++)
		if (strcmp(fields[i].name, name) == 0)
			return fields[i].field;
	return HV_NR_RAW_FIELDS;
}

/* Sets FIELD's position to the guest's. Returns false if no kernel has such an offset or size. */
static bool locate(struct hv_raw_record *r, enum hv_raw_field field, const struct hv_event_field *f)
{
	bool is_number = f->size_bytes == 1 || f->size_bytes == 2 || f->size_bytes == 4 ||
			 f->size_bytes == 8;

	if (f->off > HV_RAW_FIXED_MAX || (field != HV_RAW_REST && !is_number))
		return false;
	r->fields[field].off = (uint8_t)f->off;
	r->fields[field].len_bytes = field == HV_RAW_REST ? 1 : (uint8_t)f->size_bytes;
	return true;
}

/* Unknown fields are part of the record, with zeros. */
static bool locate_all(struct hv_raw_record *r, const struct hv_event_fields *fields,
		       const struct named_field *names, size_t nr_names)
{
	for (size_t i = 0; i < fields->nr; i++) {
		const struct hv_event_field *f = &fields->list[i];
		enum hv_raw_field field = field_named(names, nr_names, f->name);
		uint64_t end = (uint64_t)f->off + f->size_bytes;

		if (field != HV_NR_RAW_FIELDS && !locate(r, field, f))
			return false;
		if (field == HV_RAW_REST || r->fields[HV_RAW_REST].len_bytes)
			end = r->fields[HV_RAW_REST].off;
		if (end > HV_RAW_FIXED_MAX)
			return false;
		if (end > r->len_bytes)
			r->len_bytes = (uint8_t)end;
	}
	return true;
}

/* Returns whether R has all fields of KNOWN. */
static bool is_complete(const struct hv_raw_record *r, const struct hv_raw_record *known)
{
	for (unsigned i = 0; i < HV_NR_RAW_FIELDS; i++)
		if (known->fields[i].len_bytes && !r->fields[i].len_bytes)
			return false;
	return true;
}

static bool is_as_known(const struct hv_raw_record *r, const struct hv_raw_record *known)
{
	return r->len_bytes == known->len_bytes &&
	       memcmp(r->fields, known->fields, sizeof(r->fields)) == 0;
}

void hv_raw_layout_init(struct hv_raw_layout *l, const struct hv_catalogue *c)
{
	*l = hv_raw_layout_known;
	for (unsigned kind = 0; kind < HV_ARRAY_LEN(types); kind++) {
		const struct hv_event_type *type = hv_catalogue_find(c, "ftrace", types[kind].name);
		struct hv_raw_record r = {0};

		if (!type || type->id > UINT16_MAX ||
		    !locate_all(&r, &c->common, common, HV_ARRAY_LEN(common)) ||
		    !locate_all(&r, &type->fields, types[kind].fields,
				HV_ARRAY_LEN(types[kind].fields)) ||
		    !is_complete(&r, &l->records[kind]))
			continue;
		r.id = (uint16_t)type->id;
		l->records[kind] = r;
		l->is_known[kind] = is_as_known(&r, &hv_raw_layout_known.records[kind]);
	}
}

bool hv_raw_layout_add(struct hv_raw_layout *l, enum hv_raw_field field, struct hv_raw_more *ret)
{
	struct hv_raw_record *r = &l->records[HV_EVENT_GRAPH_EXIT];
	unsigned off = (r->len_bytes + MORE_BYTES - 1u) / MORE_BYTES * MORE_BYTES;
	bool is_host = field == HV_RAW_HOST;

	if (r->fields[field].len_bytes || off + MORE_BYTES > HV_RAW_FIXED_MAX)
		return false;
	r->fields[field].off = (uint8_t)off;
	r->fields[field].len_bytes = MORE_BYTES;
	r->len_bytes = (uint8_t)(off + MORE_BYTES);
	l->is_known[HV_EVENT_GRAPH_EXIT] = 0;
	ret->list[ret->nr++] = (struct hv_event_field){
		.name = is_host ? HOST : RETVAL,
		.type = is_host ? "unsigned long long" : "unsigned long",
		.off = off,
		.size_bytes = MORE_BYTES,
	};
	return true;
}

#define TYPE_TIME_EXTEND 30
#define LONG_HEAD_LEN	 8 /* for an event whose length does not fit into the first four bytes */
#define DELTA_BITS	 27
#define DELTA_MAX	 ((UINT64_C(1) << 59) - 1)
#define MISSED_EVENTS	 (UINT64_C(1) << 31)
#define MISSED_STORED	 (UINT64_C(1) << 30)

/* Pages are little endian on every host, as guests are. LEN_BYTES: 1, 2, 4 or 8. */
static inline uint8_t *put(uint8_t *at, uint64_t value, size_t len_bytes)
{
	const uint64_t bytes = htole64(value);

	if (len_bytes == 8)
		memcpy(at, &bytes, 8);
	else if (len_bytes == 4)
		memcpy(at, &bytes, 4);
	else if (len_bytes == 2)
		memcpy(at, &bytes, 2);
	else if (len_bytes == 1)
		memcpy(at, &bytes, 1);
	return at + len_bytes;
}

void hv_raw_page_init(struct hv_raw_page *p, const struct hv_raw_layout *layout, uint8_t *bytes,
		      size_t max_bytes)
{
	*p = (struct hv_raw_page){.layout = layout, .bytes = bytes, .max_bytes = max_bytes};
}

/* Text may need a newline and a NUL. */
size_t hv_raw_text_max(const struct hv_raw_layout *l, enum hv_event_kind kind)
{
	return l->data_bytes - LONG_HEAD_LEN - l->records[kind].len_bytes -
	       (kind == HV_EVENT_PRINT ? 2 : 0);
}

/* Truncates a guest event that does not fit into any page. No kernel writes such events. */
static size_t entry_len(const struct hv_raw_layout *l, const struct hv_event *e)
{
	size_t max = (l->data_bytes - LONG_HEAD_LEN) / 4 * 4;

	return e->entry.len_bytes < max ? e->entry.len_bytes : max;
}

static size_t text_len(const struct hv_raw_layout *l, const struct hv_event *e)
{
	size_t max = hv_raw_text_max(l, e->kind);

	return e->text_len < max ? e->text_len : max;
}

/* Returns the length of the variable part. Text gets a newline and a NUL; the bytes of
 * trace_marker_raw include at least their id. */
static size_t rest_len(const struct hv_raw_layout *l, const struct hv_event *e)
{
	switch (e->kind) {
	case HV_EVENT_PRINT:
		return text_len(l, e) + 2;
	case HV_EVENT_RAW_DATA:
		return text_len(l, e) < 4 ? 4 : text_len(l, e);
	case HV_EVENT_STACK:
		return 8 * e->nr_callers;
	case HV_EVENT_FUNCTION:
	case HV_EVENT_GRAPH_ENTRY:
	case HV_EVENT_GRAPH_EXIT:
	case HV_EVENT_COMMAND:
	case HV_EVENT_GUESTS:
		break;
	}
	return 0;
}

static size_t payload_len(const struct hv_raw_layout *l, const struct hv_event *e)
{
	if (e->kind == HV_EVENT_GUESTS)
		return (entry_len(l, e) + 3) / 4 * 4;
	if (e->kind >= HV_EVENT_COMMAND)
		return 0;
	return (l->records[e->kind].len_bytes + rest_len(l, e) + 3) / 4 * 4;
}

/* The header stores the length of a short payload. */
static size_t with_head(size_t payload_len)
{
	return payload_len <= HV_RAW_SMALL_MAX ? 4 + payload_len : LONG_HEAD_LEN + payload_len;
}

/* Events in a buffer were already truncated when they were written. */
size_t hv_raw_event_len(const struct hv_event *e)
{
	struct hv_raw_layout any_page;

	if (e->kind != HV_EVENT_PRINT && e->kind != HV_EVENT_RAW_DATA)
		return with_head(payload_len(&hv_raw_layout_known, e));
	any_page = hv_raw_layout_known;
	any_page.data_bytes = SIZE_MAX / 2;
	return with_head(payload_len(&any_page, e));
}

static inline void put_field(uint8_t *at, const struct hv_raw_record *r, enum hv_raw_field field,
			     uint64_t value)
{
	put(at + r->fields[field].off, value, r->fields[field].len_bytes);
}

static inline unsigned count_of(const struct hv_event *e)
{
	return (e->preempt_depth & 15u) | (e->migrate_depth & 15u) << 4;
}

static void put_fields(uint8_t *at, const struct hv_raw_record *r, const struct hv_event *e)
{
	put_field(at, r, HV_RAW_TYPE, r->id);
	put_field(at, r, HV_RAW_FLAGS, e->flags);
	put_field(at, r, HV_RAW_PREEMPT_COUNT, count_of(e));
	put_field(at, r, HV_RAW_PID, e->pid);
	put_field(at, r, HV_RAW_LAZY_COUNT, e->lazy_depth);
	put_field(at, r, HV_RAW_IP, e->ip.v);
	put_field(at, r, HV_RAW_PARENT_IP, e->parent_ip.v);
	if (e->kind == HV_EVENT_STACK)
		put_field(at, r, HV_RAW_NR_CALLERS, e->nr_callers);
	if (e->kind != HV_EVENT_GRAPH_ENTRY && e->kind != HV_EVENT_GRAPH_EXIT)
		return;
	put_field(at, r, HV_RAW_DEPTH, e->depth);
	put_field(at, r, HV_RAW_OVERRUN, e->overrun);
	put_field(at, r, HV_RAW_CALL_NS, e->call_ns);
	put_field(at, r, HV_RAW_RETURN_NS, e->time_ns);
	put_field(at, r, HV_RAW_RETVAL, e->has_retval ? e->retval : 0);
	put_field(at, r, HV_RAW_HOST, e->host_ns);
}

/* Writes text, with a newline if it is missing; or bytes; or callers. */
static void put_rest(uint8_t *at, const struct hv_raw_layout *l, const struct hv_event *e)
{
	if (e->kind == HV_EVENT_STACK) {
		for (size_t i = 0; i < e->nr_callers; i++)
			at = put(at, e->callers[i].v, 8);
		return;
	}
	if (text_len(l, e))
		memcpy(at, e->text, text_len(l, e));
	if (e->kind == HV_EVENT_PRINT && (!text_len(l, e) || at[text_len(l, e) - 1] != '\n'))
		at[text_len(l, e)] = '\n';
}

/* The page already contains zeros. */
static uint8_t *put_payload(uint8_t *at, const struct hv_raw_layout *l, const struct hv_event *e,
			    size_t len)
{
	const struct hv_raw_record *r;

	if (e->kind == HV_EVENT_GUESTS) {
		memcpy(at, e->entry.data, entry_len(l, e));
		return at + len;
	}
	r = &l->records[e->kind];
	if (len)
		put_fields(at, r, e);
	if (len && r->fields[HV_RAW_REST].len_bytes)
		put_rest(at + r->fields[HV_RAW_REST].off, l, e);
	return at + len;
}

static bool fits(const struct hv_raw_page *p, const struct hv_event *e, size_t payload_len,
		 uint64_t delta)
{
	size_t len = with_head(payload_len);

	if (p->len_bytes && (e->lost_before || delta > DELTA_MAX))
		return false;
	len += delta >> DELTA_BITS ? 8 : 0;
	/* If an event fits into no page with the number of lost events, the page omits the
	 * number. */
	if (p->len_bytes || len + 8 <= p->layout->data_bytes)
		len += p->lost || e->lost_before ? 8 : 0;
	return p->len_bytes + len <= p->max_bytes;
}

/* A long payload is preceded by a word with its length, which counts itself. */
static uint8_t *put_head(uint8_t *at, size_t payload_len, uint64_t delta)
{
	if (payload_len <= HV_RAW_SMALL_MAX)
		return put(at, payload_len / 4 | delta << 5, 4);
	at = put(at, delta << 5, 4);
	return put(at, payload_len + 4, 4);
}

/* Writes a time extension with all of DELTA, and sets *DELTA to 0. */
static uint8_t *put_extend(uint8_t *at, uint64_t *delta)
{
	at = put(at, TYPE_TIME_EXTEND | (*delta & ((1U << DELTA_BITS) - 1)) << 5, 4);
	at = put(at, *delta >> DELTA_BITS, 4);
	*delta = 0;
	return at;
}

bool hv_raw_page_add(struct hv_raw_page *p, const struct hv_event *e)
{
	uint8_t *data = p->bytes + HV_RAW_HEAD_LEN, *at = data + p->len_bytes;
	size_t len = payload_len(p->layout, e);
	uint64_t delta = 0;

	/* Time never goes backwards in the kernel's buffer. */
	if (p->len_bytes && e->time_ns > p->time_ns)
		delta = e->time_ns - p->time_ns;
	if (!fits(p, e, len, delta))
		return false;
	if (!p->len_bytes) {
		put(p->bytes, e->time_ns, 8);
		p->time_ns = e->time_ns;
		p->lost = e->lost_before;
	}
	p->time_ns += delta;
	if (delta >> DELTA_BITS)
		at = put_extend(at, &delta);
	at = put_head(at, len, delta);
	at = put_payload(at, p->layout, e, len);
	p->len_bytes = (size_t)(at - data);
	return true;
}

/* -- calls and returns in brief ------------------------------------------------------------ */

/* Writes the fields of a call or return with the layout of hv_raw_layout_known. */
static inline void put_brief(uint8_t *at, const struct hv_raw_record *r, const struct hv_brief *b)
{
	const uint64_t count = (b->preempt_depth & 15u) | (b->migrate_depth & 15u) << 4;

	put(at, r->id | (uint64_t)b->flags << 16 | count << 24 | (uint64_t)b->pid << 32, 8);
	put(at + 8, b->ip.v, 8);
	if (b->kind == HV_EVENT_FUNCTION) {
		put(at + 16, b->parent_ip.v, 8);
		return;
	}
	put(at + 16, b->depth, 4);
	if (b->kind == HV_EVENT_GRAPH_ENTRY)
		return;
	put(at + 20, 0, 4); /* overrun */
	put(at + 24, b->call_ns, 8);
	put(at + 32, b->time_ns, 8);
}

unsigned hv_raw_brief_kinds(const struct hv_raw_layout *l)
{
	unsigned kinds = 0;

	for (unsigned kind = 0; kind <= HV_EVENT_GRAPH_EXIT; kind++)
		kinds |= l->is_known[kind] ? HV_BRIEF_KIND(kind) : 0;
	return kinds;
}

size_t hv_raw_page_add_briefs(struct hv_raw_page *p, const struct hv_brief *briefs, size_t nr)
{
	uint8_t *start = p->bytes + HV_RAW_HEAD_LEN, *at = start + p->len_bytes;
	const uint8_t *end = start + p->max_bytes - (p->lost ? 8 : 0);
	uint64_t time_ns = p->time_ns;
	size_t i = 0;

	for (; i < nr && p->len_bytes; i++) {
		const struct hv_brief *b = &briefs[i];
		const struct hv_raw_record *r = &p->layout->records[b->kind];
		uint64_t delta = b->time_ns > time_ns ? b->time_ns - time_ns : 0;
		size_t extend_len = delta >> DELTA_BITS ? 8 : 0;

		if (at + extend_len + 4 + r->len_bytes > end || delta > DELTA_MAX)
			break;
		time_ns += delta;
		if (extend_len)
			at = put_extend(at, &delta);
		at = put(at, r->len_bytes / 4u | delta << 5, 4);
		put_brief(at, r, b);
		at += r->len_bytes;
	}
	p->time_ns = time_ns;
	p->len_bytes = (size_t)(at - start);
	return i;
}

/* ------------------------------------------------------------------------------------------ */

void hv_raw_page_finish(struct hv_raw_page *p)
{
	uint64_t commit = p->len_bytes;

	if (p->lost)
		commit |= MISSED_EVENTS;
	if (p->lost && p->len_bytes + 8 <= p->max_bytes) {
		put(p->bytes + HV_RAW_HEAD_LEN + p->len_bytes, p->lost, 8);
		commit |= MISSED_STORED;
	}
	put(p->bytes + 8, commit, 8);
}
