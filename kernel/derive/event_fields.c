/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source: kernel/trace/trace.h, kernel/trace/trace_events.c, include/linux/trace_events.h. */
#include "kernel/derive/event_fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/grow.h"
#include "kernel/core/fields.h"

#define PAGE_BYTES 4096u

bool hv_event_text_read(const struct hv_kernel_core *core, uint64_t at,
			char ret[HV_EVENT_TEXT_BYTES])
{
	size_t len = PAGE_BYTES - at % PAGE_BYTES;
	struct hv_err *err;

	if (at < core->as.arch->kernel_start(core->as.levels).v)
		return false;
	memset(ret, 0, HV_EVENT_TEXT_BYTES);
	if (len > HV_EVENT_TEXT_BYTES - 1)
		len = HV_EVENT_TEXT_BYTES - 1;
	err = hv_read(&core->as, hv_gva(at), ret, len);
	if (!err && len < HV_EVENT_TEXT_BYTES - 1 && !memchr(ret, 0, len))
		err = hv_read(&core->as, hv_gva(at + len), ret + len,
			      HV_EVENT_TEXT_BYTES - 1 - len);
	if (!err)
		return true;
	hv_err_free(err);
	return false;
}

/* -- fields ------------------------------------------------------------------------------------ */

#define LINKS_BYTES    16u
#define FIELD_BYTES    64u
#define FIELDS_MAX     20000u
#define LIST_MAX       256u
#define TEMPLATE_BYTES 64u /* maximum length of a template that is looked for */

struct field {
	uint8_t bytes[FIELD_BYTES];	  /* struct ftrace_event_field */
	uint8_t template[TEMPLATE_BYTES]; /* struct trace_event_fields and the bytes after it */
	uint32_t before;		  /* end of the preceding field; 0: it is the header */
};

/* Offsets in struct ftrace_event_field. */
struct layout {
	uint32_t name, type, off, size, is_signed, filter, len;
	bool has_len;
};

struct context {
	struct hv_deriving *d;
	const struct hv_kernel_core *core;
	struct layout l;
	struct field *fields; /* owned: of all classes; with templates, of those that have one */
	size_t nr, cap;
	uint32_t header_bytes;
};

static void context_deinit(struct context *c)
{
	free(c->fields);
}

static uint32_t u32_at(const uint8_t *bytes, uint32_t off)
{
	return hv_copy_u32((struct hv_span){bytes, FIELD_BYTES}, off);
}

static uint64_t u64_at(const uint8_t *bytes, uint32_t off)
{
	return hv_copy_u64((struct hv_span){bytes, FIELD_BYTES}, off);
}

static void add_to(struct context *c, const char *type, const char *member, uint32_t off,
		   uint32_t len_bytes, const char *of)
{
	hv_facts_add(&c->d->facts,
		     &(struct hv_fact){type, member, off, len_bytes, of, HV_PROVED_BY_MEMORY});
}

/* The sign is a number, or in other kernels a bit-field next to another one. Bit 0 is the sign in
 * both. */
static void add_sign(struct context *c, const char *type, uint32_t off)
{
	hv_facts_add(&c->d->facts, &(struct hv_fact){type, "is_signed", off, 4, NULL,
						     HV_PROVED_BY_MEMORY, .bits = 1});
}

/* Copies the fields of the list at HEAD in the order in which they were added, from the last link.
 * Returns their number, or 0. */
static unsigned read_list(const struct hv_kernel_core *core, uint64_t head, struct field *ret)
{
	uint64_t at = 0;
	unsigned nr = 0;
	HV_AUTO_ERR struct hv_err *err = hv_read_u64(&core->as, hv_gva(head + 8), &at);

	while (!err && at != head && nr < LIST_MAX) {
		if (at % 8 || at < core->as.arch->kernel_start(core->as.levels).v)
			return 0;
		ret[nr] = (struct field){0};
		err = hv_read(&core->as, hv_gva(at), ret[nr].bytes, FIELD_BYTES);
		at = u64_at(ret[nr++].bytes, 8);
	}
	return err || at != head ? 0 : nr;
}

/* -- the fields that every record has ---------------------------------------------------------- */

/* Members of struct trace_entry. All kernels have the first NR_COMMON_IN_ALL; some, such as
 * PREEMPT_RT kernels, have others. */
static const struct {
	const char *member;
	const char *type;
	uint32_t off, size;
	bool is_signed, is_in_all;
} common[] = {
	{"type", "unsigned short", 0, 2, false, true},
	{"flags", "unsigned char", 2, 1, false, true},
	{"preempt_count", "unsigned char", 3, 1, false, true},
	{"pid", "int", 4, 4, true, true},
	{"preempt_lazy_count", "unsigned char", 8, 1, false, false},
	{"migrate_disable", "unsigned short", 8, 2, false, false},
	{"padding", "int", 8, 4, true, false},
};
#define NR_COMMON_IN_ALL 4u
#define COMMON_PREFIX	 "common_"

static bool is_text(const struct hv_kernel_core *core, const uint8_t *bytes, uint32_t off,
		    const char *prefix, const char *text)
{
	char is[HV_EVENT_TEXT_BYTES];
	size_t len = strlen(prefix);

	return hv_event_text_read(core, u64_at(bytes, off), is) && !strncmp(is, prefix, len) &&
	       !strcmp(is + len, text);
}

static bool find_text_off(const struct context *c, const struct field *fields, bool names,
			  uint32_t *ret)
{
	unsigned nr_found = 0;

	for (uint32_t off = LINKS_BYTES; off + 8 <= FIELD_BYTES; off += 8) {
		bool fits = true;

		for (unsigned i = 0; fits && i < NR_COMMON_IN_ALL; i++)
			fits = is_text(c->core, fields[i].bytes, off, names ? COMMON_PREFIX : "",
				       names ? common[i].member : common[i].type);
		if (!fits)
			continue;
		*ret = off;
		nr_found++;
	}
	return nr_found == 1;
}

enum number { NUMBER_OFF, NUMBER_SIZE, NUMBER_SIGN };

static bool has_number(const struct field *f, uint32_t off, enum number number, unsigned i)
{
	uint32_t value = u32_at(f->bytes, off);

	switch (number) {
	case NUMBER_OFF:
		return value == common[i].off;
	case NUMBER_SIZE:
		return value == common[i].size;
	default:
		return value <= 3 && (value & 1) == common[i].is_signed;
	}
}

/* Finds the offset of NUMBER in struct ftrace_event_field, whose numbers follow its pointers. */
static bool find_number(const struct context *c, const struct field *fields, enum number number,
			uint32_t *ret)
{
	const uint32_t start = (c->l.name > c->l.type ? c->l.name : c->l.type) + 8;
	unsigned nr_found = 0;

	for (uint32_t off = start; off + 4 <= FIELD_BYTES; off += 4) {
		bool fits = true;

		for (unsigned i = 0; fits && i < NR_COMMON_IN_ALL; i++)
			fits = has_number(&fields[i], off, number, i);
		if (!fits)
			continue;
		*ret = off;
		nr_found++;
	}
	return nr_found == 1;
}

/* Each field of the header must be known, because its end is where records start. */
static bool add_header(struct context *c, const struct field *fields, unsigned nr)
{
	static const char type[] = "trace_entry";
	uint32_t end = 0;

	for (unsigned i = 0; i < nr; i++) {
		const uint8_t *bytes = fields[i].bytes;
		uint32_t off = u32_at(bytes, c->l.off), size = u32_at(bytes, c->l.size);
		size_t j = 0;

		while (j < HV_ARRAY_LEN(common) &&
		       !is_text(c->core, bytes, c->l.name, COMMON_PREFIX, common[j].member))
			j++;
		if (j == HV_ARRAY_LEN(common) || size != common[j].size || off < end || off > 64)
			return false;
		end = off + size;
	}
	for (unsigned i = 0; i < nr; i++)
		for (size_t j = 0; j < HV_ARRAY_LEN(common); j++)
			if (is_text(c->core, fields[i].bytes, c->l.name, COMMON_PREFIX,
				    common[j].member))
				add_to(c, type, common[j].member, u32_at(fields[i].bytes, c->l.off),
				       common[j].size, NULL);
	c->header_bytes = (end + 3) & ~3u;
	hv_facts_add_size(&c->d->facts, type, c->header_bytes);
	return true;
}

static bool derive_common(struct context *c)
{
	HV_AUTO_FREE struct field *fields = hv_alloc(LIST_MAX * sizeof(*fields));
	struct hv_gva head;
	unsigned nr;

	if (!hv_core_symbol(c->core, "ftrace_common_fields", &head))
		return false;
	nr = read_list(c->core, head.v, fields);
	return nr >= NR_COMMON_IN_ALL && find_text_off(c, fields, true, &c->l.name) &&
	       find_text_off(c, fields, false, &c->l.type) &&
	       find_number(c, fields, NUMBER_OFF, &c->l.off) &&
	       find_number(c, fields, NUMBER_SIZE, &c->l.size) &&
	       find_number(c, fields, NUMBER_SIGN, &c->l.is_signed) && add_header(c, fields, nr);
}

/* -- fields and templates ---------------------------------------------------------------------- */

/* Adds the fields of the list at HEAD until one has another name pointer than its template in the
 * array TEMPLATES (0: the kernel has no templates). The kernel copies these pointers. STRIDE is the
 * size of a template, which starts with the type. */
static void add_class(struct context *c, uint64_t head, uint64_t templates, uint32_t stride)
{
	HV_AUTO_FREE struct field *fields = hv_alloc(LIST_MAX * sizeof(*fields));
	unsigned nr = read_list(c->core, head, fields);
	uint32_t before = 0;

	for (unsigned i = 0; i < nr && c->nr < FIELDS_MAX; i++) {
		struct field *f = &fields[i];
		HV_AUTO_ERR struct hv_err *err = NULL;

		if (templates)
			err = hv_read(&c->core->as, hv_gva(templates + (uint64_t)i * stride),
				      f->template, TEMPLATE_BYTES);
		if (err || (templates && u64_at(f->template, 8) != u64_at(f->bytes, c->l.name)))
			return;
		f->before = before;
		before = u32_at(f->bytes, c->l.off) + u32_at(f->bytes, c->l.size);
		c->fields = hv_grow(c->fields, c->nr, &c->cap, 1024, sizeof(*c->fields));
		c->fields[c->nr++] = *f;
	}
}

/* Returns whether each template has the name pointer of its field. *RET_DECIDES: at least three
 * fields were compared, so a wrong STRIDE is unlikely to fit. */
static bool has_stride(const struct context *c, uint64_t head, uint64_t templates, uint32_t stride,
		       bool *ret_decides)
{
	HV_AUTO_FREE struct field *fields = hv_alloc(LIST_MAX * sizeof(*fields));
	unsigned nr = read_list(c->core, head, fields);

	*ret_decides = nr >= 3;
	for (unsigned i = 0; i < nr; i++) {
		uint64_t pair[2];
		HV_AUTO_ERR struct hv_err *err = hv_read(
			&c->core->as, hv_gva(templates + (uint64_t)i * stride), pair, sizeof(pair));

		if (err || pair[1] != u64_at(fields[i].bytes, c->l.name))
			return false;
	}
	return true;
}

static uint32_t find_stride(const struct context *c, const struct hv_objects *classes,
			    uint32_t fields_off)
{
	for (uint32_t stride = 24; stride <= TEMPLATE_BYTES; stride += 8) {
		unsigned nr = 0, nr_good = 0;

		for (size_t i = 0; i < classes->nr && nr < 32; i++) {
			const struct hv_object *class = &classes->list[i];
			uint64_t at = hv_symbol_of(c->core, "trace_event_fields_", class->name);
			bool decides = false, fits;

			if (!at)
				continue;
			fits = has_stride(c, class->at.v + fields_off, at, stride, &decides);
			nr += decides;
			nr_good += decides && fits;
		}
		if (nr >= HV_OBJECTS_MIN && nr_good > nr - nr / 8 - 1)
			return stride;
	}
	return 0;
}

typedef bool (*field_fn)(const struct context *c, const struct field *f, uint32_t value,
			 bool *ret_decides);

/* Finds the offset of the number that FN accepts in the fields, or in their templates. Some fields
 * may not fit, because the kernel may have edited their types. FN sets *RET_DECIDES if it would
 * probably reject an unrelated number. */
static bool find_in_fields(const struct context *c, bool in_template, field_fn fn, uint32_t start,
			   uint32_t end, uint32_t *ret)
{
	unsigned nr_found = 0;

	for (uint32_t off = start; off + 4 <= end; off += 4) {
		size_t nr_bad = 0, nr_decided = 0, nr_decided_bad = 0;

		for (size_t i = 0; i < c->nr; i++) {
			const struct field *f = &c->fields[i];
			bool decides = false,
			     fits = fn(c, f, u32_at(in_template ? f->template : f->bytes, off),
				       &decides);

			nr_bad += !fits;
			nr_decided += decides;
			nr_decided_bad += decides && !fits;
		}
		if (!nr_decided || nr_bad > c->nr / 64 || nr_decided_bad > nr_decided / 16)
			continue;
		*ret = off;
		nr_found++;
	}
	return nr_found == 1;
}

enum { FILTER_OTHER, FILTER_STATIC_STRING, FILTER_DYN_STRING };

static bool read_type(const struct context *c, const struct field *f, char ret[HV_EVENT_TEXT_BYTES])
{
	return hv_event_text_read(c->core, u64_at(f->bytes, c->l.type), ret);
}

/* The kernel recognizes strings by the type. */
static bool is_filter(const struct context *c, const struct field *f, uint32_t value,
		      bool *ret_decides)
{
	char type[HV_EVENT_TEXT_BYTES];

	if (!read_type(c, f, type) || value > 32)
		return false;
	*ret_decides = !strncmp(type, "char[", 5) || !strcmp(type, "__data_loc char[]");
	if (!strncmp(type, "char[", 5))
		return value == FILTER_STATIC_STRING;
	return strcmp(type, "__data_loc char[]") != 0 || value == FILTER_DYN_STRING;
}

/* Since 6.1 (b6c7abd1c28a): the number of elements of an array. */
static bool is_len(const struct context *c, const struct field *f, uint32_t value,
		   bool *ret_decides)
{
	char type[HV_EVENT_TEXT_BYTES];
	unsigned len = 0;
	const char *array;

	if (!read_type(c, f, type))
		return false;
	array = strchr(type, '[');
	if (!array)
		return !value;
	if (sscanf(array, "[%u]", &len) != 1)
		return true;
	*ret_decides = true;
	return value == len;
}

static bool is_template_size(const struct context *c, const struct field *f, uint32_t value,
			     bool *ret_decides)
{
	*ret_decides = true;
	return value == u32_at(f->bytes, c->l.size);
}

static bool is_template_align(const struct context *c, const struct field *f, uint32_t value,
			      bool *ret_decides)
{
	uint32_t before = f->before ? f->before : c->header_bytes;

	*ret_decides = true;
	return value && !(value & (value - 1)) && value <= PAGE_BYTES &&
	       ((before + value - 1) & -value) == u32_at(f->bytes, c->l.off);
}

static bool is_template_sign(const struct context *c, const struct field *f, uint32_t value,
			     bool *ret_decides)
{
	*ret_decides = u32_at(f->bytes, c->l.is_signed) & 1;
	return value <= 3 && (value & 1) == (u32_at(f->bytes, c->l.is_signed) & 1);
}

static bool is_template_len(const struct context *c, const struct field *f, uint32_t value,
			    bool *ret_decides)
{
	*ret_decides = value != 0;
	return value == u32_at(f->bytes, c->l.len);
}

/* A template contains the filter type only if the kernel does not derive it from the field's
 * type. */
static bool is_template_filter(const struct context *c, const struct field *f, uint32_t value,
			       bool *ret_decides)
{
	*ret_decides = value != FILTER_OTHER;
	return value == FILTER_OTHER || value == u32_at(f->bytes, c->l.filter);
}

static void add_templates(struct context *c, uint32_t stride)
{
	static const char type[] = "trace_event_fields";
	uint32_t size, align, sign, filter, len = 0;
	bool has_len;

	if (!find_in_fields(c, true, is_template_size, 16, stride, &size) ||
	    !find_in_fields(c, true, is_template_align, 16, stride, &align) ||
	    !find_in_fields(c, true, is_template_sign, 16, stride, &sign))
		return;
	/* Only templates of tracers' fields contain filter types. If there are none, the filter
	 * type is the number after the sign. */
	if (!find_in_fields(c, true, is_template_filter, 16, stride, &filter))
		filter = sign + 4;
	has_len = c->l.has_len && find_in_fields(c, true, is_template_len, 16, stride, &len);
	if (has_len != c->l.has_len || filter + 4 > stride || filter == size || filter == align ||
	    (has_len && filter == len))
		return;
	add_to(c, type, "type", 0, 8, NULL);
	add_to(c, type, "name", 8, 8, NULL);
	add_to(c, type, "size", size, 4, NULL);
	add_to(c, type, "align", align, 4, NULL);
	add_sign(c, type, sign);
	add_to(c, type, "filter_type", filter, 4, NULL);
	if (has_len)
		add_to(c, type, "len", len, 4, NULL);
	hv_facts_add_size(&c->d->facts, type, stride);
}

static void add_fields(struct context *c)
{
	static const char type[] = "ftrace_event_field";
	const struct layout *l = &c->l;

	add_to(c, type, "link", 0, LINKS_BYTES, "list_head");
	add_to(c, type, "name", l->name, 8, NULL);
	add_to(c, type, "type", l->type, 8, NULL);
	add_to(c, type, "filter_type", l->filter, 4, NULL);
	add_to(c, type, "offset", l->off, 4, NULL);
	add_to(c, type, "size", l->size, 4, NULL);
	add_sign(c, type, l->is_signed);
	if (l->has_len)
		add_to(c, type, "len", l->len, 4, NULL);
}

void hv_event_fields_derive(struct hv_deriving *d, const struct hv_objects *classes,
			    uint32_t fields_off, bool has_templates)
{
	hv_cleanup(context_deinit) struct context c = {.d = d, .core = d->core};
	uint32_t stride = 0;

	if (!derive_common(&c))
		return;
	if (has_templates)
		stride = find_stride(&c, classes, fields_off);
	for (size_t i = 0; (stride || !has_templates) && i < classes->nr; i++) {
		const struct hv_object *class = &classes->list[i];
		uint64_t at = 0;

		if (has_templates)
			at = hv_symbol_of(c.core, "trace_event_fields_", class->name);
		if (at || !has_templates)
			add_class(&c, class->at.v + fields_off, at, stride);
	}
	if (!find_in_fields(&c, false, is_filter, c.l.type + 8, FIELD_BYTES, &c.l.filter))
		return;
	c.l.has_len = find_in_fields(&c, false, is_len, c.l.type + 8, FIELD_BYTES, &c.l.len);
	add_fields(&c);
	if (has_templates)
		add_templates(&c, stride);
}
