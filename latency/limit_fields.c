/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "latency/limit_fields.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "export/entry_value.h"

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
