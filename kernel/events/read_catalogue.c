/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a catalogue. The top trace array has a list of files that point to events, in the order of
 * available_events (t_next() in kernel/trace/trace_events.c). The list changes when modules are
 * loaded or removed, so a walk that finds invalid data is repeated. */
#include "kernel/events/catalogue.h"

#include <string.h>

#include "base/grow.h"
#include "kernel/core/fields.h"
#include "kernel/events/event_layout.h"
#include "kernel/events/pages.h"
#include "kernel/kernel.h"

/* Limits on guest data. A kernel with all its modules has 4,000 events with 40,000 fields. */
#define EVENT_TYPES_MAX	 65536u /* ids have 16 bits */
#define EVENT_FIELDS_MAX 1000u	/* of one event */
#define ALL_FIELDS_MAX	 500000u
#define EVENT_NAME_MAX	 255u  /* as for file names */
#define EVENT_WORD_MAX	 4096u /* names and types of fields */
#define EVENT_PRINT_MAX	 65535u

struct event_reader {
	const struct hv_kernel *k;
	struct hv_event_layout layout;
	struct hv_pages pages;
	struct hv_strings strings;
	struct hv_map field_lists; /* struct hv_event_fields by address of the guest's list */
	struct hv_map syscalls;	   /* struct hv_syscall by address of the guest's metadata */
	size_t nr_fields;	   /* in all lists */
	struct hv_catalogue *c;	   /* the catalogue being read */
	/* Addresses of kernel functions; 0 if the kernel lacks the function. */
	struct hv_gva reg_tracepoint, reg_syscall_enter, reg_syscall_exit, get_enter_fields;
};

/* Reads a struct tracepoint (include/linux/tracepoint-defs.h). */

/* Reads a struct tracepoint_ext. AT is its address, or 0 if the kernel has no such structure. */
static struct hv_err *read_ext(struct event_reader *r, struct hv_gva at, struct hv_tracepoint *tp)
{
	const struct hv_event_layout *l = &r->layout;
	uint8_t bytes[HV_EVENT_STRUCT_MAX];
	struct hv_span copy = {bytes, l->tracepoint.ext_len_bytes};
	struct hv_err *err;

	if (!at.v)
		return NULL;
	err = hv_pages_read(&r->pages, at, bytes, copy.len_bytes);
	if (err)
		return err;
	tp->reg = hv_gva(hv_copy_u64(copy, l->tracepoint.ext_reg));
	tp->unreg = hv_gva(hv_copy_u64(copy, l->tracepoint.ext_unreg));
	tp->faultable = hv_bits_of(copy, l->tracepoint.faultable) != 0;
	return NULL;
}

/* *RET_NAME is the address of the tracepoint's name. */
static struct hv_err *tracepoint_read(struct event_reader *r, struct hv_gva at,
				      struct hv_tracepoint *ret, struct hv_gva *ret_name)
{
	const struct hv_event_layout *l = &r->layout;
	uint8_t bytes[HV_EVENT_STRUCT_MAX];
	struct hv_span copy = {bytes, l->tracepoint.len_bytes};
	struct hv_err *err = hv_pages_read(&r->pages, at, bytes, copy.len_bytes);
	struct hv_tracepoint tp = {.at = at};

	if (err)
		return err;
	tp.key = hv_gva_add(at, l->tracepoint.key);
	tp.funcs = hv_gva_add(at, l->tracepoint.funcs);
	if (l->has_iterators)
		tp.iterator = hv_gva(hv_copy_u64(copy, l->tracepoint.iterator));
	if (l->has_ext) {
		err = read_ext(r, hv_gva(hv_copy_u64(copy, l->tracepoint.ext)), &tp);
	} else {
		tp.reg = hv_gva(hv_copy_u64(copy, l->tracepoint.reg));
		tp.unreg = hv_gva(hv_copy_u64(copy, l->tracepoint.unreg));
	}
	if (err)
		return err;
	*ret_name = hv_gva(hv_copy_u64(copy, l->tracepoint.name));
	*ret = tp;
	return NULL;
}

/* Reads the kernel's description of a system call, struct syscall_metadata
 * (include/trace/syscall.h). */

/* Reads the NR strings that the array of pointers at AT points to. */
static struct hv_err *read_words(struct event_reader *r, uint64_t at, uint32_t nr,
				 const char *const **ret)
{
	const char **words = hv_store_alloc(&r->c->store, (nr + 1) * sizeof(*words));
	struct hv_err *err = NULL;

	for (uint32_t i = 0; !err && i < nr; i++) {
		uint64_t word;

		err = hv_pages_u64(&r->pages, hv_gva(at + 8 * i), &word);
		if (!err)
			err = hv_strings_read(&r->strings, hv_gva(word), EVENT_WORD_MAX, &words[i]);
	}
	*ret = words;
	return err;
}

/* Returns BITS of COPY as a signed number, or -1 if BITS is empty. */
static int32_t copy_signed(struct hv_span copy, struct hv_bits bits)
{
	unsigned unused_bits = 32 - bits.nr;

	if (!bits.nr)
		return -1;
	return (int32_t)(hv_bits_of(copy, bits) << unused_bits) >> unused_bits;
}

static struct hv_err *read_new(struct event_reader *r, struct hv_gva metadata,
			       struct hv_syscall *call)
{
	const struct hv_event_layout *l = &r->layout;
	uint8_t bytes[HV_EVENT_STRUCT_MAX];
	struct hv_span copy = {bytes, l->syscall.len_bytes};
	struct hv_err *err = hv_pages_read(&r->pages, metadata, bytes, copy.len_bytes);

	if (err)
		return err;
	call->nr = (int32_t)hv_copy_u32(copy, l->syscall.nr);
	call->nr_args = hv_bits_of(copy, l->syscall.nr_args);
	if (call->nr_args > HV_SYSCALL_ARGS_MAX)
		return hv_err_new(EINVAL, "number %d: %u arguments are too many", call->nr,
				  call->nr_args);
	call->user_mask = l->syscall.user_mask.nr ? hv_bits_of(copy, l->syscall.user_mask) : 0;
	call->user_size_arg = copy_signed(copy, l->syscall.user_size_arg);
	err = hv_strings_read(&r->strings, hv_gva(hv_copy_u64(copy, l->syscall.name)),
			      EVENT_WORD_MAX, &call->name);
	if (!err)
		err = read_words(r, hv_copy_u64(copy, l->syscall.types), call->nr_args,
				 &call->types);
	if (!err)
		err = read_words(r, hv_copy_u64(copy, l->syscall.args), call->nr_args, &call->args);
	return err;
}

static struct hv_err *syscall_read(struct event_reader *r, struct hv_gva metadata,
				   const struct hv_syscall **ret)
{
	struct hv_syscall *call = hv_map_find(&r->syscalls, metadata.v);
	struct hv_err *err;

	if (call) {
		*ret = call;
		return NULL;
	}
	call = hv_store_alloc(&r->c->store, sizeof(*call));
	err = read_new(r, metadata, call);
	if (err)
		return hv_err_in(err, "system call 0x%llx", (unsigned long long)metadata.v);
	hv_map_add(&r->syscalls, metadata.v, call);
	*ret = call;
	return NULL;
}

/* Reads the fields of an event. The kernel's event_define_fields() (kernel/trace/trace_events.c)
 * creates them from the templates of the event's class. Its trace_define_field() prepends each
 * field to the class's list. */

/* The type of a template with a function instead of a field: the function creates the fields
 * (TRACE_FUNCTION_TYPE). */
#define FUNCTION_TYPE UINT64_MAX

#define ALIGN_MAX 4096u

/* A list of fields under construction; it is reallocated as it grows. */
struct building {
	struct hv_event_field *list; /* owned */
	size_t nr, cap;
};

static void free_building_at(struct building *b)
{
	free(b->list);
}

static bool fits_record(const struct hv_event_field *field)
{
	return field->off <= HV_EVENT_RECORD_MAX &&
	       field->size_bytes <= HV_EVENT_RECORD_MAX - field->off;
}

static struct hv_err *add(struct event_reader *r, struct building *b,
			  const struct hv_event_field *field)
{
	if (b->nr == EVENT_FIELDS_MAX || r->nr_fields == ALL_FIELDS_MAX)
		return hv_err_new(E2BIG, "the list does not end after %zu fields, %zu in all",
				  b->nr, r->nr_fields);
	r->nr_fields++;
	if (!fits_record(field))
		return NULL;
	b->list = hv_grow(b->list, b->nr, &b->cap, 16, sizeof(*b->list));
	b->list[b->nr++] = *field;
	return NULL;
}

static struct hv_event_fields keep(struct event_reader *r, const struct building *b)
{
	struct hv_event_fields kept = {.nr = b->nr};

	kept.list = hv_store_alloc(&r->c->store, b->nr * sizeof(*kept.list));
	if (b->nr)
		memcpy(kept.list, b->list, b->nr * sizeof(*kept.list));
	return kept;
}

static struct hv_err *read_names(struct event_reader *r, uint64_t name, uint64_t type,
				 struct hv_event_field *ret)
{
	struct hv_err *err = hv_strings_read(&r->strings, hv_gva(name), EVENT_WORD_MAX, &ret->name);

	return err ? err : hv_strings_read(&r->strings, hv_gva(type), EVENT_WORD_MAX, &ret->type);
}

/* Adds the field whose struct ftrace_event_field is in FIELD. */
static struct hv_err *add_listed(struct event_reader *r, struct hv_span field, struct building *b)
{
	const struct hv_event_layout *l = &r->layout;
	struct hv_event_field f = {
		.off = hv_copy_u32(field, l->field.off),
		.size_bytes = hv_copy_u32(field, l->field.size),
		.len = l->has_lens ? (int32_t)hv_copy_u32(field, l->field.len) : 0,
		.filter_type = hv_copy_u32(field, l->field.filter_type),
		.is_signed = hv_bits_of(field, l->field.is_signed) != 0,
	};
	struct hv_err *err = read_names(r, hv_copy_u64(field, l->field.name),
					hv_copy_u64(field, l->field.type), &f);

	return err ? err : add(r, b, &f);
}

/* Adds the fields of LIST, from the last to the first. */
static struct hv_err *walk_fields(struct event_reader *r, struct hv_gva list, struct building *b)
{
	const struct hv_event_layout *l = &r->layout;
	uint8_t bytes[HV_EVENT_STRUCT_MAX];
	struct hv_span field = {bytes, l->field.len_bytes};
	struct hv_circle circle = {0};
	uint64_t at;
	struct hv_err *err = hv_pages_u64(&r->pages, hv_gva_add(list, l->list_prev), &at);

	for (; !err && at != list.v; at = hv_copy_u64(field, l->field.prev)) {
		if (hv_circle_step(&circle, at))
			return hv_err_new(EINVAL, "fields: the list has a loop at 0x%llx",
					  (unsigned long long)at);
		err = hv_pages_read(&r->pages, hv_gva(at - (l->field.prev - l->list_prev)), bytes,
				    field.len_bytes);
		if (!err)
			err = add_listed(r, field, b);
	}
	return err;
}

/* Adds the field of a template, at the offset that event_define_fields() would assign. */
static struct hv_err *add_template(struct event_reader *r, struct hv_span template, uint32_t *off,
				   struct building *b)
{
	const struct hv_event_layout *l = &r->layout;
	uint32_t align = hv_copy_u32(template, l->template.align);
	struct hv_event_field f = {
		.size_bytes = hv_copy_u32(template, l->template.size),
		.len = l->has_lens ? (int32_t)hv_copy_u32(template, l->template.len) : 0,
		.filter_type = hv_copy_u32(template, l->template.filter_type),
		.is_signed = hv_bits_of(template, l->template.is_signed) != 0,
	};
	struct hv_err *err;

	if (!align || align > ALIGN_MAX || align & (align - 1) || f.size_bytes > UINT16_MAX ||
	    *off > UINT16_MAX)
		return hv_err_new(EINVAL, "a field of %u bytes, aligned to %u, after %u bytes",
				  f.size_bytes, align, *off);
	f.off = (*off + align - 1) & -align;
	*off = f.off + f.size_bytes;
	err = read_names(r, hv_copy_u64(template, l->template.name),
			 hv_copy_u64(template, l->template.type), &f);
	return err ? err : add(r, b, &f);
}

static struct hv_err *walk_templates(struct event_reader *r, struct hv_gva at, struct building *b,
				     bool *ret_known)
{
	const struct hv_event_layout *l = &r->layout;
	uint8_t bytes[HV_EVENT_STRUCT_MAX];
	struct hv_span template = {bytes, l->template.len_bytes};
	uint32_t off = l->header_len_bytes;
	struct hv_err *err;

	for (;; at.v += template.len_bytes) {
		uint64_t type;

		err = hv_pages_read(&r->pages, at, bytes, template.len_bytes);
		type = hv_copy_u64(template, l->template.type);
		if (err || !type)
			return err;
		*ret_known = type != FUNCTION_TYPE;
		if (!*ret_known)
			return NULL;
		err = add_template(r, template, &off, b);
		if (err)
			return err;
	}
}

/* Reads the fields in LIST, the list of a class, in the order in which the kernel added them. The
 * kernel fills the list at its first use; until then *RET contains the fields that the kernel will
 * create from TEMPLATES (0: no fields). If a kernel function will create them, *RET_KNOWN becomes
 * false and *RET is unchanged. */
static struct hv_err *event_fields_read(struct event_reader *r, struct hv_gva list,
					struct hv_gva templates, struct hv_event_fields *ret,
					bool *ret_known)
{
	hv_cleanup(free_building_at) struct building b = {0};
	struct hv_event_fields *known = hv_map_find(&r->field_lists, list.v);
	bool is_known = true;
	struct hv_err *err;

	if (known) {
		*ret = *known;
		*ret_known = true;
		return NULL;
	}
	err = walk_fields(r, list, &b);
	if (!err && !b.nr && templates.v)
		err = walk_templates(r, templates, &b, &is_known);
	if (err)
		return err;
	*ret_known = is_known;
	if (!is_known)
		return NULL;
	known = hv_store_alloc(&r->c->store, sizeof(*known));
	*known = keep(r, &b);
	hv_map_add(&r->field_lists, list.v, known);
	*ret = *known;
	return NULL;
}

#define WALKS_MAX 3

/* An event while it is read. */
struct call {
	struct hv_event_type type;
	struct hv_gva name, print_fmt;
	uint64_t class, data;
};

/* Returns whether NAME is a valid file name. */
static bool is_name(const char *name)
{
	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return false;
	for (; *name; name++)
		if (*name <= ' ' || *name >= 0x7f || *name == '/')
			return false;
	return true;
}

/* Finds the module of the struct trace_event_call at AT (NULL: the core kernel). MODULE is the
 * value of its member `module`. Returns false if the event belongs to neither: users of the guest's
 * tracefs create such events in allocated memory. */
static bool find_owner(const struct event_reader *r, struct hv_gva at, uint64_t module,
		       const char **ret_module)
{
	const struct hv_modules *modules = &r->k->modules;

	*ret_module = NULL;
	if (hv_gva_in(at, r->k->core.image.all))
		return true;
	for (size_t i = 0; i < modules->nr; i++) {
		const char *name = modules->list[i].name;

		if (modules->list[i].at.v != module)
			continue;
		*ret_module = hv_store_string(&r->c->store, name, strlen(name));
		return true;
	}
	return false;
}

/* *RET_OWNED is false if the event belongs neither to the kernel nor to a module. */
static struct hv_err *read_call(struct event_reader *r, struct hv_gva at, struct call *ret,
				bool *ret_owned)
{
	const struct hv_event_layout *l = &r->layout;
	uint8_t bytes[HV_EVENT_STRUCT_MAX];
	struct hv_span copy = {bytes, l->call.len_bytes};
	struct hv_err *err = hv_pages_read(&r->pages, at, bytes, copy.len_bytes);
	struct hv_event_type *t = &ret->type;

	*ret = (struct call){.type.call = at};
	if (err)
		return err;
	*ret_owned = find_owner(r, at, hv_copy_u64(copy, l->call.module), &t->module);
	t->id = hv_copy_u32(copy, l->call.id);
	t->flags = hv_copy_u32(copy, l->call.flags);
	ret->name = hv_gva(hv_copy_u64(copy, l->call.name));
	ret->print_fmt = hv_gva(hv_copy_u64(copy, l->call.print_fmt));
	ret->class = hv_copy_u64(copy, l->call.class);
	ret->data = hv_copy_u64(copy, l->call.data);
	return NULL;
}

static enum hv_event_reg kind_of(const struct event_reader *r, struct hv_gva reg)
{
	if (!reg.v)
		return HV_EVENT_REG_NONE;
	if (reg.v == r->reg_tracepoint.v)
		return HV_EVENT_REG_TRACEPOINT;
	if (reg.v == r->reg_syscall_enter.v)
		return HV_EVENT_REG_SYSCALL_ENTER;
	if (reg.v == r->reg_syscall_exit.v)
		return HV_EVENT_REG_SYSCALL_EXIT;
	return HV_EVENT_REG_OTHER;
}

/* GET_FIELDS is the class's function that returns its list of fields; 0: the list is in the class.
 * The kernel has one such function. */
static struct hv_err *read_fields(struct event_reader *r, struct call *c, uint64_t get_fields,
				  uint64_t templates)
{
	struct hv_gva list = hv_gva(c->class + r->layout.class.fields);

	if (get_fields && get_fields != r->get_enter_fields.v)
		return NULL;
	if (get_fields)
		list = hv_gva(c->data + r->layout.syscall.enter_fields);
	return event_fields_read(r, list, hv_gva(templates), &c->type.fields, &c->type.has_fields);
}

static struct hv_err *read_class(struct event_reader *r, struct call *c)
{
	const struct hv_event_layout *l = &r->layout;
	uint8_t bytes[HV_EVENT_STRUCT_MAX];
	struct hv_span copy = {bytes, l->class.len_bytes};
	struct hv_event_type *t = &c->type;
	struct hv_err *err = hv_pages_read(&r->pages, hv_gva(c->class), bytes, copy.len_bytes);

	if (!err)
		err = hv_strings_read(&r->strings, hv_gva(hv_copy_u64(copy, l->class.system)),
				      EVENT_NAME_MAX, &t->system);
	if (err)
		return err;
	t->callback = hv_gva(hv_copy_u64(copy, l->class.callback));
	t->reg = hv_gva(hv_copy_u64(copy, l->class.reg));
	t->reg_kind = kind_of(r, t->reg);
	t->is_available = t->reg.v && !(t->flags & l->ignore_enable_flag);
	return read_fields(r, c, hv_copy_u64(copy, l->class.get_fields),
			   l->has_templates ? hv_copy_u64(copy, l->class.fields_array) : 0);
}

/* Like trace_event_name(). */
static struct hv_err *read_name(struct event_reader *r, struct call *c)
{
	struct hv_err *err = NULL;

	if (c->type.flags & r->layout.tracepoint_flag)
		err = tracepoint_read(r, c->name, &c->type.tracepoint, &c->name);
	return err ? err : hv_strings_read(&r->strings, c->name, EVENT_NAME_MAX, &c->type.name);
}

static struct hv_err *read_type(struct event_reader *r, struct call *c)
{
	struct hv_err *err = read_name(r, c);

	if (err)
		return err;
	err = read_class(r, c);
	if (!err)
		err = hv_strings_read(&r->strings, c->print_fmt, EVENT_PRINT_MAX,
				      &c->type.print_fmt);
	if (!err && (c->type.reg_kind == HV_EVENT_REG_SYSCALL_ENTER ||
		     c->type.reg_kind == HV_EVENT_REG_SYSCALL_EXIT))
		err = syscall_read(r, hv_gva(c->data), &c->type.syscall);
	return hv_err_in(err, "%s", c->type.name);
}

static struct hv_err *add_event(struct event_reader *r, struct hv_gva at, size_t *cap)
{
	struct hv_catalogue *cat = r->c;
	bool is_owned = false;
	struct call c;
	struct hv_err *err = read_call(r, at, &c, &is_owned);

	if (!err && is_owned)
		err = read_type(r, &c);
	if (err)
		return hv_err_in(err, "event 0x%llx", (unsigned long long)at.v);
	if (!is_owned || !is_name(c.type.system) || !is_name(c.type.name))
		return NULL;
	cat->types = hv_grow(cat->types, cat->nr, cap, 2048, sizeof(*cat->types));
	cat->types[cat->nr++] = c.type;
	return NULL;
}

/* Adds the events of HEAD, the list of files of a trace array. */
static struct hv_err *walk_files(struct event_reader *r, struct hv_gva head)
{
	const struct hv_event_layout *l = &r->layout;
	struct hv_circle circle = {0};
	size_t nr = 0, cap = 0;
	uint64_t at;
	struct hv_err *err = hv_pages_u64(&r->pages, head, &at);

	while (!err && at != head.v) {
		uint64_t call;

		if (hv_circle_step(&circle, at))
			return hv_err_new(EINVAL, "the list has a loop at 0x%llx",
					  (unsigned long long)at);
		if (nr++ == EVENT_TYPES_MAX)
			return hv_err_new(E2BIG, "the list does not end after %u entries",
					  EVENT_TYPES_MAX);
		err = hv_pages_u64(&r->pages, hv_gva(at - l->file_list + l->file_call), &call);
		if (!err)
			err = add_event(r, hv_gva(call), &cap);
		if (!err)
			err = hv_pages_u64(&r->pages, hv_gva(at), &at);
	}
	return err;
}

/* Returns whether lockdown forbids tracing, so that the kernel has not set it up
 * (tracer_alloc_buffers() in kernel/trace/trace.c). The kernel stores a level or, in newer kernels,
 * a bit for each reason (security/lockdown/lockdown.c). The bit of the tracing reason is a higher
 * number than any level. */
static bool is_locked_down(const struct hv_kernel_core *core)
{
	int64_t tracefs, most;
	struct hv_gva at;
	uint32_t value;
	struct hv_err *err;

	if (!hv_core_symbol(core, "kernel_locked_down", &at) ||
	    !hv_btf_enumerator(core->btf, "LOCKDOWN_TRACEFS", &tracefs) ||
	    !hv_btf_enumerator(core->btf, "LOCKDOWN_CONFIDENTIALITY_MAX", &most))
		return false;
	err = hv_read_u32(&core->as, at, &value);
	if (err) {
		hv_err_free(err);
		return false;
	}
	if (value <= most)
		return value >= tracefs;
	return tracefs >= 0 && tracefs < 32 && (value >> tracefs) & 1;
}

/* Finds the top trace array, the last in the list of trace arrays (top_trace_array()). */
static struct hv_err *find_top(struct event_reader *r, struct hv_gva arrays,
			       struct hv_gva *ret_array)
{
	uint64_t top;
	struct hv_err *err = hv_pages_u64(&r->pages, hv_gva_add(arrays, r->layout.list_prev), &top);

	if (!err && top == arrays.v)
		err = hv_err_new(ENOENT,
				 is_locked_down(&r->k->core)
					 ? "the kernel is locked down "
					   "(lockdown=confidentiality), and so has no events"
					 : "the kernel has not listed them yet");
	if (!err)
		*ret_array = hv_gva(top - r->layout.array_list);
	return err;
}

/* Reads the limit for user memory in system-call events: syscall_user_buf_size. */
static struct hv_err *read_user_bytes(struct event_reader *r, struct hv_gva array)
{
	const struct hv_bits bits = r->layout.array_user_bytes;
	const uint32_t shift = bits.off % 8;
	uint8_t bytes[8] = {0};
	uint32_t value;
	struct hv_err *err;

	if (!bits.nr)
		return NULL;
	err = hv_pages_read(&r->pages, hv_gva_add(array, bits.off / 8), bytes,
			    (shift + bits.nr + 7) / 8);
	if (err)
		return err;
	value = hv_bits_of((struct hv_span){bytes, sizeof(bytes)},
			   (struct hv_bits){shift, bits.nr});
	r->c->user_bytes = value < HV_USER_BYTES_MAX ? value : HV_USER_BYTES_MAX;
	return NULL;
}

static struct hv_err *walk(struct event_reader *r, struct hv_gva arrays, struct hv_gva common)
{
	struct hv_gva array;
	bool is_known;
	struct hv_err *err = event_fields_read(r, common, hv_gva(0), &r->c->common, &is_known);

	if (!err)
		err = find_top(r, arrays, &array);
	if (!err)
		err = read_user_bytes(r, array);
	return err ? err : walk_files(r, hv_gva_add(array, r->layout.array_events));
}

static struct hv_err *read_once(const struct event_reader *template, struct hv_gva arrays,
				struct hv_gva common, struct hv_catalogue *ret)
{
	struct event_reader r = *template;
	struct hv_err *err;

	r.c = ret;
	hv_pages_init(&r.pages, &r.k->core.as);
	hv_strings_init(&r.strings, &r.pages, &ret->store);
	err = walk(&r, arrays, common);
	hv_strings_deinit(&r.strings);
	hv_pages_deinit(&r.pages);
	hv_map_deinit(&r.field_lists);
	hv_map_deinit(&r.syscalls);
	if (err) {
		hv_catalogue_deinit(ret);
		return err;
	}
	ret->has_lens = r.layout.has_lens;
	ret->header_len_bytes = r.layout.header_len_bytes;
	hv_catalogue_index(ret);
	return NULL;
}

/* The address of a function that the kernel lacks stays 0. */
static void find_functions(struct event_reader *r)
{
	const struct hv_kernel_core *core = &r->k->core;

	hv_core_symbol(core, "trace_event_reg", &r->reg_tracepoint);
	if (!r->layout.has_syscalls)
		return;
	hv_core_symbol(core, "syscall_enter_register", &r->reg_syscall_enter);
	hv_core_symbol(core, "syscall_exit_register", &r->reg_syscall_exit);
	hv_core_symbol(core, "syscall_get_enter_fields", &r->get_enter_fields);
}

struct hv_err *hv_catalogue_read(const struct hv_kernel *k, struct hv_catalogue *ret)
{
	struct event_reader r = {.k = k};
	struct hv_catalogue c = {0};
	struct hv_gva arrays, common;
	struct hv_err *err = hv_core_need(&k->core, "ftrace_trace_arrays", &arrays);

	if (!err)
		err = hv_core_need(&k->core, "ftrace_common_fields", &common);
	if (!err)
		err = hv_event_layout_find(&k->core, &r.layout);
	if (err)
		return hv_err_in(err, "events");
	find_functions(&r);
	for (unsigned i = 0; i < WALKS_MAX; i++) {
		hv_err_free(err);
		err = read_once(&r, arrays, common, &c);
		if (!err) {
			*ret = c;
			return NULL;
		}
	}
	return hv_err_in(err, "events");
}

/* Tracepoints have no ids, so this compares names. */
static struct hv_err *tracepoint_is_there(const struct hv_kernel *k,
					  const struct hv_event_type *type, bool *ret)
{
	const struct hv_address_space *as = &k->core.as;
	size_t len_bytes = strlen(type->name) + 1;
	HV_AUTO_FREE char *name = hv_alloc(len_bytes);
	uint32_t off;
	uint64_t at;
	const struct hv_field fields[] = {{"name", 8, &off}};
	struct hv_err *err = hv_fields_find(&k->core, "tracepoint", fields, HV_ARRAY_LEN(fields));

	if (!err)
		err = hv_read_u64(as, hv_gva_add(type->tracepoint.at, off), &at);
	if (!err)
		err = hv_read(as, hv_gva(at), name, len_bytes);
	if (!err)
		*ret = memcmp(name, type->name, len_bytes) == 0;
	return err;
}

struct hv_err *hv_event_type_is_there(const struct hv_kernel *k, const struct hv_event_type *type,
				      bool *ret)
{
	uint32_t off, id;
	const struct hv_field call[] = {{"event.type", 4, &off}};
	struct hv_err *err;

	if (type->reg_kind == HV_EVENT_REG_PROBESTUB)
		return tracepoint_is_there(k, type, ret);
	err = hv_fields_find(&k->core, "trace_event_call", call, HV_ARRAY_LEN(call));
	if (!err)
		err = hv_read_u32(&k->core.as, hv_gva_add(type->call, off), &id);
	if (!err)
		*ret = id == type->id;
	return err;
}

/* The line in the format string of ring_buffer_print_page_header(). */

#define LINE "\tfield: char overwrite;\t"

/* Strings follow the text in the image. */
bool hv_page_header_has_char(const struct hv_kernel *k)
{
	struct hv_span data = hv_image_at(&k->core.image, k->text.end);

	return data.len_bytes && memmem(data.data, data.len_bytes, LINE, strlen(LINE));
}
