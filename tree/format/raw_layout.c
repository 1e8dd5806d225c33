/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/raw_layout.h"

#include <string.h>

#include "kernel/events/catalogue.h"

#define HOST	   "host_ns"
#define HOST_BYTES 8

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
				  {"retval", HV_RAW_RETVAL},
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

/* Sets FIELD's place to the guest's. Returns false if no kernel has such an offset or size. */
static bool place(struct hv_raw_record *r, enum hv_raw_field field, const struct hv_event_field *f)
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
static bool place_all(struct hv_raw_record *r, const struct hv_event_fields *fields,
		      const struct named_field *names, size_t nr_names)
{
	for (size_t i = 0; i < fields->nr; i++) {
		const struct hv_event_field *f = &fields->list[i];
		enum hv_raw_field field = field_named(names, nr_names, f->name);
		uint64_t end = (uint64_t)f->off + f->size_bytes;

		if (field != HV_NR_RAW_FIELDS && !place(r, field, f))
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
		    !place_all(&r, &c->common, common, HV_ARRAY_LEN(common)) ||
		    !place_all(&r, &type->fields, types[kind].fields,
			       HV_ARRAY_LEN(types[kind].fields)) ||
		    !is_complete(&r, &l->records[kind]))
			continue;
		r.id = (uint16_t)type->id;
		l->records[kind] = r;
		l->is_known[kind] = is_as_known(&r, &hv_raw_layout_known.records[kind]);
	}
}

bool hv_raw_layout_add_host(struct hv_raw_layout *l, struct hv_event_field *ret)
{
	struct hv_raw_record *r = &l->records[HV_EVENT_GRAPH_EXIT];
	unsigned off = (r->len_bytes + HOST_BYTES - 1u) / HOST_BYTES * HOST_BYTES;

	if (r->fields[HV_RAW_HOST].len_bytes || off + HOST_BYTES > HV_RAW_FIXED_MAX)
		return false;
	r->fields[HV_RAW_HOST].off = (uint8_t)off;
	r->fields[HV_RAW_HOST].len_bytes = HOST_BYTES;
	r->len_bytes = (uint8_t)(off + HOST_BYTES);
	l->is_known[HV_EVENT_GRAPH_EXIT] = 0;
	*ret = (struct hv_event_field){
		.name = HOST, .type = "unsigned long long", .off = off, .size_bytes = HOST_BYTES};
	return true;
}
