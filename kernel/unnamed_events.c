/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/unnamed_events.h"

#include <string.h>

#include "kernel/core/fields.h"

#define ARRAYS_MAX 1024u /* trace arrays: the guest's instances */
#define FILES	   64u	 /* number of files to check */
#define FIELDS_MIN 3u
#define FIELDS_MAX 16u
#define PREFIX	   "common_"
#define NAME_BYTES 32u

/* Offsets in struct list_head. */
struct links {
	uint32_t next, prev;
};

static struct hv_err *find_links(const struct hv_kernel_core *core, struct links *ret)
{
	const struct hv_field fields[] = {{"next", 8, &ret->next}, {"prev", 8, &ret->prev}};

	return hv_fields_find(core, "list_head", fields, HV_ARRAY_LEN(fields));
}

/* Returns the entry after AT in a list, if it links back to AT; otherwise 0. */
static uint64_t next_of(const struct hv_kernel_core *core, const struct links *l, uint64_t at)
{
	uint64_t next = 0, back = 0;
	HV_AUTO_ERR struct hv_err *err = hv_read_u64(&core->as, hv_gva(at + l->next), &next);

	if (!err)
		err = hv_read_u64(&core->as, hv_gva(next + l->prev), &back);
	return !err && back == at ? next : 0;
}

/* Returns the last entry of the list at HEAD, if all entries link back; 0 if it is empty or not a
 * list. */
static uint64_t last_of(const struct hv_kernel_core *core, const struct links *l,
			struct hv_gva head)
{
	uint64_t at = next_of(core, l, head.v), last = 0;

	for (unsigned i = 0; i < ARRAYS_MAX && at && at != head.v; i++) {
		last = at;
		at = next_of(core, l, at);
	}
	return at == head.v ? last : 0;
}

/* Offsets in struct trace_event_file, struct trace_event_call and its class. */
struct file_layout {
	uint32_t list, tr, call;
	uint32_t class, reg;
};

static struct hv_err *find_file(const struct hv_kernel_core *core, struct file_layout *ret)
{
	const struct hv_field file[] = {
		{"list", 16, &ret->list}, {"tr", 8, &ret->tr}, {"event_call", 8, &ret->call}};
	const struct hv_field call = {"class", 8, &ret->class}, class = {"reg", 8, &ret->reg};
	struct hv_err *err = hv_fields_find(core, "trace_event_file", file, HV_ARRAY_LEN(file));

	if (!err)
		err = hv_fields_find(core, "trace_event_call", &call, 1);
	if (!err)
		err = hv_fields_find(core, "trace_event_class", &class, 1);
	return err;
}

/* Returns whether the file whose links are at AT belongs to ARRAY. *RET_NR counts files of kernel
 * events, which have kernel functions. */
static bool is_file_of(const struct hv_kernel_core *core, const struct file_layout *l, uint64_t at,
		       uint64_t array, unsigned *ret_nr)
{
	uint64_t file = at - l->list, owner = 0, call = 0, class = 0, reg = 0;
	HV_AUTO_ERR struct hv_err *err = hv_read_u64(&core->as, hv_gva(file + l->tr), &owner);

	if (!err)
		err = hv_read_u64(&core->as, hv_gva(file + l->call), &call);
	if (err || owner != array)
		return false;
	if (!hv_gva_in(hv_gva(call), core->image.all))
		return true;
	err = hv_read_u64(&core->as, hv_gva(call + l->class), &class);
	if (!err)
		err = hv_read_u64(&core->as, hv_gva(class + l->reg), &reg);
	*ret_nr += !err && hv_gva_in(hv_gva(class), core->image.all) &&
		   hv_gva_in(hv_gva(reg), core->image.text);
	return !err;
}

bool hv_trace_arrays_are_at(const struct hv_kernel_core *core, struct hv_gva head)
{
	uint32_t list, events;
	const struct hv_field array_fields[] = {{"list", 16, &list}, {"events", 16, &events}};
	struct file_layout l;
	struct links links;
	unsigned nr = 0, nr_of_kernel = 0;
	uint64_t last, array, at;
	HV_AUTO_ERR struct hv_err *err = find_links(core, &links);

	if (!err)
		err = hv_fields_find(core, "trace_array", array_fields, HV_ARRAY_LEN(array_fields));
	if (!err)
		err = find_file(core, &l);
	last = err ? 0 : last_of(core, &links, head);
	if (!last || !hv_gva_in(hv_gva(last), core->image.all))
		return false;
	array = last - list;
	for (at = next_of(core, &links, array + events); at && nr < FILES; nr++) {
		if (at == array + events || !is_file_of(core, &l, at, array, &nr_of_kernel))
			return false;
		at = next_of(core, &links, at);
	}
	return nr == FILES && nr_of_kernel > FILES / 2;
}

/* Offsets in struct ftrace_event_field. */
struct field_layout {
	uint32_t link, name, off, size;
};

static struct hv_err *find_field(const struct hv_kernel_core *core, struct field_layout *ret)
{
	const struct hv_field fields[] = {
		{"link", 16, &ret->link},
		{"name", 8, &ret->name},
		{"offset", 4, &ret->off},
		{"size", 4, &ret->size},
	};

	return hv_fields_find(core, "ftrace_event_field", fields, HV_ARRAY_LEN(fields));
}

/* Returns whether the field whose links are at AT is a member of every record. */
static bool is_common(const struct hv_kernel_core *core, const struct field_layout *l, uint64_t at)
{
	uint64_t field = at - l->link, name_at = 0;
	uint32_t off = 0, size = 0, true_off = 0, true_size = 0;
	char name[NAME_BYTES + 1] = "";
	HV_AUTO_ERR struct hv_err *err = hv_read_u64(&core->as, hv_gva(field + l->name), &name_at);

	if (!err)
		err = hv_read_u32(&core->as, hv_gva(field + l->off), &off);
	if (!err)
		err = hv_read_u32(&core->as, hv_gva(field + l->size), &size);
	if (!err)
		err = hv_read(&core->as, hv_gva(name_at), name, NAME_BYTES);
	return !err && !strncmp(name, PREFIX, strlen(PREFIX)) &&
	       hv_btf_member(core->btf, "trace_entry", name + strlen(PREFIX), &true_off,
			     &true_size) &&
	       off == true_off && size == true_size;
}

bool hv_common_fields_are_at(const struct hv_kernel_core *core, struct hv_gva head)
{
	struct field_layout l;
	struct links links;
	unsigned nr = 0;
	uint64_t at;
	HV_AUTO_ERR struct hv_err *err = find_links(core, &links);

	if (!err)
		err = find_field(core, &l);
	for (at = err ? 0 : next_of(core, &links, head.v); at && at != head.v && nr < FIELDS_MAX;
	     nr++) {
		if (!is_common(core, &l, at))
			return false;
		at = next_of(core, &links, at);
	}
	return at == head.v && nr >= FIELDS_MIN;
}
