/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source: include/linux/trace_events.h, include/trace/trace_events.h, include/trace/syscall.h,
 * kernel/trace/trace.h, kernel/trace/trace_export.c. */
#include "kernel/derive/event_members.h"

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/cancel.h"
#include "base/prefix.h"
#include "kernel/core/fields.h"
#include "kernel/derive/event_fields.h"
#include "kernel/derive/objects.h"

struct context {
	struct hv_deriving *d;
	const struct hv_kernel_core *core;
	/* struct trace_event_call: of tracepoints, of system calls, and of the formats of tracers,
	 * which cannot be enabled. */
	struct hv_objects of_tracepoints, of_syscalls, of_tracers;
	struct hv_objects classes;  /* struct trace_event_class, of events with tracepoints */
	struct hv_objects syscalls; /* struct syscall_metadata */
};

static void context_deinit(struct context *c)
{
	hv_objects_deinit(&c->of_tracepoints);
	hv_objects_deinit(&c->of_syscalls);
	hv_objects_deinit(&c->of_tracers);
	hv_objects_deinit(&c->classes);
	hv_objects_deinit(&c->syscalls);
}

static void add(struct context *c, const char *type, const char *member, uint32_t off,
		uint32_t len_bytes, const char *of)
{
	hv_facts_add(&c->d->facts,
		     &(struct hv_fact){type, member, off, len_bytes, of, HV_PROVED_BY_MEMORY});
}

static uint64_t lowest(const struct context *c)
{
	return c->core->as.arch->kernel_start(c->core->as.levels).v;
}

/* -- struct trace_event_call ------------------------------------------------------------------- */

struct prefixed {
	const struct hv_kernel_core *core;
	const char *prefix, *suffix;
};

/* Returns whether VALUE is the address of a variable with the prefix and the suffix. */
static bool is_prefixed(void *ctx, const struct hv_object *o hv_unused, uint64_t value)
{
	const struct prefixed *p = ctx;
	const struct hv_symbol *s = hv_symbols_at(&p->core->symbols, hv_gva(value));

	return s && s->addr.v == value && hv_starts_with(s->name, p->prefix) &&
	       hv_ends_with(s->name, p->suffix);
}

static bool find_prefixed(const struct context *c, const struct hv_objects *o, const char *prefix,
			  const char *suffix, uint32_t *ret)
{
	struct prefixed p = {c->core, prefix, suffix};

	return hv_objects_find(o, 8, is_prefixed, &p, ret);
}

static bool is_id(void *ctx hv_unused, const struct hv_object *o hv_unused, uint64_t value)
{
	return value && value <= UINT16_MAX;
}

/* Finds the id: the number that differs between all events. */
static bool find_id(const struct hv_objects *calls, uint32_t *ret)
{
	unsigned nr_found = 0;

	for (uint32_t off = 0; off + 4 <= calls->len_bytes; off += 4) {
		HV_AUTO_FREE uint8_t *has = hv_alloc(UINT16_MAX + 1);
		bool is_unique = calls->nr >= HV_OBJECTS_MIN;

		for (size_t i = 0; is_unique && i < calls->nr; i++) {
			uint32_t id = hv_object_u32(&calls->list[i], off);

			is_unique = is_id(NULL, NULL, id) && !has[id];
			if (is_unique)
				has[id] = 1;
		}
		if (!is_unique)
			continue;
		*ret = off;
		nr_found++;
	}
	return nr_found == 1;
}

static void combine(const struct hv_objects *o, uint32_t off, uint32_t *all, uint32_t *any)
{
	for (size_t i = 0; i < o->nr; i++) {
		*all &= hv_object_u32(&o->list[i], off);
		*any |= hv_object_u32(&o->list[i], off);
	}
}

static bool is_one_bit(uint32_t value)
{
	return value && !(value & (value - 1));
}

/* Finds the flags: one bit is set only in events of tracepoints, and another one only in those of
 * tracers. */
static bool find_flags(const struct context *c, uint32_t *ret_off, uint32_t *ret_tracepoint,
		       uint32_t *ret_ignore)
{
	unsigned nr_found = 0;

	if (!c->of_tracepoints.nr || !c->of_tracers.nr)
		return false;
	for (uint32_t off = 0; off + 4 <= c->of_tracepoints.len_bytes; off += 4) {
		uint32_t all = UINT32_MAX, any = 0, tracers_all = UINT32_MAX, tracers_any = 0,
			 unused = 0, others_any = 0;

		combine(&c->of_tracepoints, off, &all, &any);
		combine(&c->of_tracers, off, &tracers_all, &tracers_any);
		combine(&c->of_syscalls, off, &unused, &others_any);
		all &= ~(tracers_any | others_any);
		tracers_all &= ~(any | others_any);
		if (!is_one_bit(tracers_all) || !is_one_bit(all) || any > UINT16_MAX)
			continue;
		*ret_off = off;
		*ret_tracepoint = all;
		*ret_ignore = tracers_all;
		nr_found++;
	}
	return nr_found == 1;
}

/* Returns the name of the member, which since 5.15 (1d18538e6a09) is in a union with a count. */
static const char *module_name(const struct hv_kernel_core *core)
{
	struct hv_gva at;

	return hv_core_symbol(core, "trace_event_dyn_put_ref", &at) ? "module" : "mod";
}

static void derive_call(struct context *c)
{
	static const char type[] = "trace_event_call";
	const struct hv_objects *calls = &c->of_tracepoints;
	uint32_t class, name, print_fmt, id = 0, funcs, flags = 0, data, tracepoint = 0, ignore = 0;

	if (!find_prefixed(c, calls, "event_class_", "", &class) ||
	    !hv_objects_find_pointers(c->core, calls, "__tracepoint_", &name) ||
	    !find_prefixed(c, calls, "print_fmt_", "", &print_fmt) || !find_id(calls, &id) ||
	    !find_prefixed(c, calls, "trace_event_type_funcs_", "", &funcs) ||
	    !find_flags(c, &flags, &tracepoint, &ignore))
		return;
	/* The id and `funcs` are in struct trace_event, which follows the name. */
	if (class != name - 8 || id < name + 8 || funcs != id + 8 || print_fmt != funcs + 8)
		return;
	/* In events of system calls, `data` points to the call's metadata. */
	if (!hv_objects_find_pointers(c->core, &c->of_syscalls, "__syscall_meta_", &data))
		data = c->of_syscalls.nr ? 0 : flags - 8;
	if (data != flags - 8 || data < print_fmt + 16)
		return;
	add(c, type, "class", class, 8, NULL);
	add(c, type, "name", name, 8, NULL);
	add(c, type, "event", name + 8, print_fmt - name - 8, "trace_event");
	add(c, type, "print_fmt", print_fmt, 8, NULL);
	add(c, type, module_name(c->core), data - 8, 8, NULL);
	add(c, type, "data", data, 8, NULL);
	add(c, type, "flags", flags, 4, NULL);
	add(c, "trace_event", "type", id - name - 8, 4, NULL);
	add(c, "trace_event", "funcs", funcs - name - 8, 8, NULL);
	hv_facts_add_number(&c->d->facts, "TRACE_EVENT_FL_TRACEPOINT", (int32_t)tracepoint);
	hv_facts_add_number(&c->d->facts, "TRACE_EVENT_FL_IGNORE_ENABLE", (int32_t)ignore);
}

/* -- struct trace_event_class ------------------------------------------------------------------ */

/* Returns whether VALUE is the address of a word. */
static bool is_word(void *ctx, const struct hv_object *o hv_unused, uint64_t value)
{
	char text[HV_EVENT_TEXT_BYTES];
	size_t len = 0;

	if (!hv_event_text_read(ctx, value, text))
		return false;
	while (text[len] > ' ' && text[len] < 0x7f)
		len++;
	return len > 1 && !text[len];
}

/* Returns whether VALUE is the first pointer of a list's head in O: the second pointer of the entry
 * that it points to leads back to the head. */
static bool is_head(void *ctx, const struct hv_object *o, uint64_t value)
{
	const struct hv_kernel_core *core = ctx;
	uint64_t back = 0;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (value % 8 || value < core->as.arch->kernel_start(core->as.levels).v)
		return false;
	err = hv_read_u64(&core->as, hv_gva(value + 8), &back);
	for (uint32_t off = 0; !err && off + 16 <= HV_OBJECT_BYTES; off += 8)
		if (back == o->at.v + off && hv_object_u64(o, off) == value)
			return true;
	return false;
}

static bool is_equal(void *ctx, const struct hv_object *o hv_unused, uint64_t value)
{
	return value == *(const uint64_t *)ctx;
}

/* Finds the offset at which all objects point to the function NAME. */
static bool find_function(const struct context *c, const struct hv_objects *o, const char *name,
			  uint32_t *ret)
{
	uint64_t at = hv_symbol_of(c->core, name, "");

	return at && hv_objects_find(o, 8, is_equal, &at, ret);
}

/* Returns whether OFF is get_fields: only the class of sys_enter events has that function. */
static bool is_get_fields(const struct context *c, uint32_t off)
{
	uint64_t class = hv_symbol_of(c->core, "event_class_syscall_enter", ""),
		 function = hv_symbol_of(c->core, "syscall_get_enter_fields", ""), value = 0;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!class || !function)
		return !c->of_syscalls.nr;
	err = hv_read_u64(&c->core->as, hv_gva(class + off), &value);
	return !err && value == function;
}

static void derive_class(struct context *c)
{
	static const char type[] = "trace_event_class";
	uint32_t system, callback, reg, fields, init, templates = 0, definer = 0;
	bool has_templates, has_definers;

	if (!hv_objects_find(&c->classes, 8, is_word, (void *)c->core, &system) ||
	    !hv_objects_find_pointers(c->core, &c->classes, "trace_event_raw_event_", &callback) ||
	    !find_function(c, &c->classes, "trace_event_reg", &reg) ||
	    !hv_objects_find(&c->classes, 8, is_head, (void *)c->core, &fields) ||
	    !find_function(c, &c->classes, "trace_event_raw_init", &init))
		return;
	has_templates =
		hv_objects_find_pointers(c->core, &c->classes, "trace_event_fields_", &templates);
	/* In older kernels, such as 5.4, a function creates the fields. */
	has_definers = hv_objects_find_pointers(c->core, &c->classes, "trace_event_define_fields_",
						&definer);
	if (!is_get_fields(c, fields - 8) || has_templates == has_definers)
		return;
	add(c, type, "system", system, 8, NULL);
	add(c, type, "probe", callback, 8, NULL);
	add(c, type, "reg", reg, 8, NULL);
	if (has_templates)
		add(c, type, "fields_array", templates, 8, NULL);
	else
		add(c, type, "define_fields", definer, 8, NULL);
	add(c, type, "get_fields", fields - 8, 8, NULL);
	add(c, type, "fields", fields, 16, "list_head");
	add(c, type, "raw_init", init, 8, NULL);
	hv_event_fields_derive(c->d, &c->classes, fields, has_templates);
}

/* -- struct syscall_metadata ------------------------------------------------------------------- */

/* These system calls have the same number of arguments on all architectures. */
static const struct {
	const char *name;
	uint8_t nr_args;
} abi[] = {
	{"_openat", 4}, {"_close", 1}, {"_read", 3},   {"_write", 3},	  {"_lseek", 3},
	{"_ioctl", 3},	{"_dup", 1},   {"_getpid", 0}, {"_nanosleep", 2}, {"_futex", 6},
};

static bool find_args(const struct context *c, uint32_t *ret, bool *ret_has_user)
{
	unsigned nr_found = 0;

	for (uint32_t off = 0; off + 4 <= c->syscalls.len_bytes; off += 4) {
		unsigned nr = 0;
		bool fits = true, has_more = false;

		for (size_t i = 0; fits && i < c->syscalls.nr; i++) {
			uint32_t value = hv_object_u32(&c->syscalls.list[i], off);

			has_more |= value > 6;
			fits = (value & 0x7f) <= 6;
			for (size_t j = 0; j < HV_ARRAY_LEN(abi); j++)
				if (!strcmp(abi[j].name, c->syscalls.list[i].name)) {
					fits &= (value & 0x7f) == abi[j].nr_args;
					nr++;
				}
		}
		if (!fits || nr < HV_ARRAY_LEN(abi) / 2)
			continue;
		*ret = off;
		*ret_has_user = has_more;
		nr_found++;
	}
	return nr_found == 1;
}

/* Finds the number of the system call, which no other call has. The kernel sets unused numbers to
 * -1. */
static bool find_number(const struct hv_objects *o, uint32_t *ret)
{
	unsigned nr_found = 0;

	for (uint32_t off = 0; off + 4 <= o->len_bytes; off += 4) {
		uint8_t has[4096] = {0};
		bool fits = o->nr >= HV_OBJECTS_MIN;
		size_t nr_used = 0;

		for (size_t i = 0; fits && i < o->nr; i++) {
			uint32_t value = hv_object_u32(&o->list[i], off);

			if (value == UINT32_MAX)
				continue;
			fits = value < sizeof(has) && !has[value];
			if (fits)
				has[value] = 1;
			nr_used++;
		}
		if (!fits || nr_used < o->nr / 2)
			continue;
		*ret = off;
		nr_found++;
	}
	return nr_found == 1;
}

static const struct hv_object *find_object(const struct hv_objects *o, const char *name)
{
	for (size_t i = 0; i < o->nr; i++)
		if (!strcmp(o->list[i].name, name))
			return &o->list[i];
	return NULL;
}

/* Since a544d9a66bdf three members share the four bytes of the number of arguments: the length of
 * user memory is in an argument, and a mask has the arguments that point to user memory. write()
 * has the memory at argument 1 and its length in argument 2, openat() has a string at argument
 * 1. */
static bool has_known_user(const struct context *c, uint32_t off)
{
	const struct hv_object *write = find_object(&c->syscalls, "_write"),
			       *openat = find_object(&c->syscalls, "_openat");

	return write && openat && hv_object_u32(write, off) == 0x00020203 &&
	       hv_object_u32(openat, off) >> 16 == 0x0002 &&
	       (hv_object_u32(openat, off) >> 8 & 0xff) == 0xff;
}

struct buffer_search {
	uint32_t off;
	unsigned nr;
};

/* Notes the member that the function writes in the trace array. Its argument, the file, or the
 * file's inode points to the trace array. */
static void note_buffer(void *ctx, const struct hv_member_use *use)
{
	struct buffer_search *s = ctx;

	if (use->from != HV_ROOT_ARGUMENT || use->root != 0 || !use->nr_steps ||
	    use->kind != HV_MEMBER_WRITE || use->len_bytes != 4)
		return;
	s->off = use->off;
	s->nr++;
}

static bool find_user_bytes(const struct context *c, uint32_t *ret)
{
	struct buffer_search s = {0};

	hv_code_follow(c->core, "tracing_syscall_buf_write", note_buffer, &s);
	*ret = s.off;
	return s.nr == 1;
}

static void derive_user(struct context *c, uint32_t args, uint32_t buffer)
{
	static const char type[] = "syscall_metadata";
	struct hv_facts *facts = &c->d->facts;

	hv_facts_add(facts, &(struct hv_fact){type, "nb_args", args, 1, NULL, HV_PROVED_BY_MEMORY,
					      .bits = 7});
	add(c, type, "user_arg_size", args + 1, 1, NULL);
	add(c, type, "user_mask", args + 2, 2, NULL);
	hv_facts_add(facts, &(struct hv_fact){"trace_array", "syscall_buf_sz", buffer, 4, NULL,
					      HV_PROVED_BY_CODE});
}

static void derive_syscalls(struct context *c)
{
	static const char type[] = "syscall_metadata";
	const struct hv_objects *o = &c->syscalls;
	uint32_t name, nr, nr_args = 0, types, args, fields, enter, buffer = 0;
	bool has_user = false;

	if (!hv_objects_find(o, 8, is_word, (void *)c->core, &name) || !find_number(o, &nr) ||
	    !find_args(c, &nr_args, &has_user) ||
	    !hv_objects_find_pointers(c->core, o, "types_", &types) ||
	    !hv_objects_find_pointers(c->core, o, "args_", &args) ||
	    !hv_objects_find_pointers(c->core, o, "event_enter_", &enter) ||
	    !hv_objects_find(o, 8, is_head, (void *)c->core, &fields))
		return;
	/* Without all of them, system-call events would have wrong formats. */
	if (has_user && (!has_known_user(c, nr_args) || !find_user_bytes(c, &buffer)))
		return;
	add(c, type, "name", name, 8, NULL);
	add(c, type, "syscall_nr", nr, 4, NULL);
	if (has_user)
		derive_user(c, nr_args, buffer);
	else
		add(c, type, "nb_args", nr_args, 4, NULL);
	add(c, type, "types", types, 8, NULL);
	add(c, type, "args", args, 8, NULL);
	add(c, type, "enter_fields", fields, 16, "list_head");
	add(c, type, "enter_event", enter, 8, NULL);
}

/* -- struct trace_array, struct trace_event_file ----------------------------------------------- */

#define ARRAY_BYTES 16384u
#define FILES_MAX   65536u
#define FILES_MIN   16u
#define FILE_BYTES  128u

static bool is_call(const struct context *c, uint64_t value)
{
	const struct hv_symbol *s;

	if (!hv_gva_in(hv_gva(value), c->core->image.all))
		return true; /* the event of a module, or a dynamic event */
	s = hv_symbols_at(&c->core->symbols, hv_gva(value));
	return s && s->addr.v == value && hv_starts_with(s->name, "event_");
}

/* A file points to an event and to its trace array. Offsets are relative to the links. */
struct files {
	uint32_t call, array;
	unsigned nr;
};

static uint32_t find_word(const uint8_t *bytes, uint64_t value)
{
	for (uint32_t off = 0; off < FILE_BYTES; off += 8)
		if (hv_copy_u64((struct hv_span){bytes, FILE_BYTES}, off) == value)
			return off;
	return UINT32_MAX;
}

static uint32_t find_call(const struct context *c, const uint8_t *bytes)
{
	for (uint32_t off = 16; off < FILE_BYTES; off += 8) {
		uint64_t value = hv_copy_u64((struct hv_span){bytes, FILE_BYTES}, off);

		if (hv_gva_in(hv_gva(value), c->core->image.all) && is_call(c, value))
			return off;
	}
	return UINT32_MAX;
}

/* Finds the offsets of the event and of the trace array in the file at AT. Fails if the event is
 * not of the core kernel. */
static bool find_in_file(const struct context *c, uint64_t array, uint64_t at, struct files *ret)
{
	uint8_t bytes[FILE_BYTES];
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (at % 8 || at < lowest(c))
		return false;
	err = hv_read(&c->core->as, hv_gva(at), bytes, sizeof(bytes));
	if (err)
		return false;
	ret->call = find_call(c, bytes);
	ret->array = find_word(bytes, array);
	return ret->call != UINT32_MAX && ret->array != UINT32_MAX;
}

static bool is_file(const struct context *c, uint64_t array, uint64_t at, const struct files *f)
{
	uint8_t bytes[FILE_BYTES];
	HV_AUTO_ERR struct hv_err *err = hv_read(&c->core->as, hv_gva(at), bytes, sizeof(bytes));

	return !err && hv_copy_u64((struct hv_span){bytes, sizeof(bytes)}, f->array) == array &&
	       is_call(c, hv_copy_u64((struct hv_span){bytes, sizeof(bytes)}, f->call));
}

/* Returns whether HEAD is the list of the files of ARRAY. The kernel adds new files at the front,
 * so files of modules precede the others. */
static bool is_files(const struct context *c, uint64_t array, uint64_t head, unsigned *budget,
		     struct files *ret)
{
	struct files f = {0};
	uint64_t before = head, at = 0, back = 0;
	HV_AUTO_ERR struct hv_err *err = hv_read_u64(&c->core->as, hv_gva(head + 8), &back);

	if (err || back == head || !find_in_file(c, array, back, &f))
		return false;
	err = hv_read_u64(&c->core->as, hv_gva(head), &at);
	while (!err && at != head) {
		if (at % 8 || at < lowest(c) || !*budget || hv_cancel_now(*budget) ||
		    !is_file(c, array, at, &f))
			return false;
		f.nr++;
		(*budget)--;
		err = hv_read_u64(&c->core->as, hv_gva(at + 8), &back);
		if (err || back != before)
			return false;
		before = at;
		err = hv_read_u64(&c->core->as, hv_gva(at), &at);
	}
	*ret = f;
	return !err && f.nr >= FILES_MIN;
}

/* Code shows that the links are at the start of a file: trace_event_buffer_reserve() uses both
 * pointers relative to its argument. */
static bool starts_with_links(const struct context *c, const struct files *f)
{
	static const struct hv_code_rule rule = {"trace_event_buffer_reserve", 1,
						 1u << HV_MEMBER_READ, 8};
	struct hv_code_offs offs;

	hv_code_offs_find(c->core, &c->d->current, &rule, 0, &offs);
	return hv_code_offs_have(&offs, f->call);
}

static void derive_array(struct context *c)
{
	static const char array_type[] = "trace_array", file_type[] = "trace_event_file";
	uint64_t arrays = hv_symbol_of(c->core, "ftrace_trace_arrays", ""),
		 top = hv_symbol_of(c->core, "global_trace", ""), last = 0;
	struct files files = {0};
	unsigned nr_found = 0, budget = FILES_MAX; /* for all lists together */
	uint32_t events = 0, room;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!arrays || !top)
		return;
	room = (uint32_t)(hv_symbols_room(&c->core->symbols, hv_gva(top)) & ~UINT64_C(7));
	if (room > ARRAY_BYTES)
		room = ARRAY_BYTES;
	err = hv_read_u64(&c->core->as, hv_gva(arrays + 8), &last);
	if (err || last - top >= room)
		return;
	for (uint32_t off = 0; off + 16 <= room; off += 8) {
		/* The elements of another list may be followed by memory that looks like files. */
		if (!is_files(c, top, top + off, &budget, &files) || !starts_with_links(c, &files))
			continue;
		events = off;
		nr_found++;
		break; /* the last files of other lists would be found again */
	}
	if (nr_found != 1)
		return;
	add(c, array_type, "list", (uint32_t)(last - top), 16, "list_head");
	add(c, array_type, "events", events, 16, "list_head");
	add(c, file_type, "list", 0, 16, "list_head");
	add(c, file_type, "event_call", files.call, 8, NULL);
	add(c, file_type, "tr", files.array, 8, NULL);
}

/* -- enumerators ------------------------------------------------------------------------------- */

#define OPTIONS_MAX 64u

/* Adds the bits of trace options: the names are in the order of the bits. */
static void derive_options(struct context *c)
{
	static const struct {
		const char *option, *enumerator;
	} options[] = {
		{"markers", "TRACE_ITER_MARKERS_BIT"},
		{"hash-ptr", "TRACE_ITER_HASH_PTR_BIT"},
	};
	uint64_t at = hv_symbol_of(c->core, "trace_options", "");

	for (uint32_t i = 0; at && i < OPTIONS_MAX; i++) {
		char text[HV_EVENT_TEXT_BYTES];
		uint64_t option = 0;
		HV_AUTO_ERR struct hv_err *err =
			hv_read_u64(&c->core->as, hv_gva(at + 8 * i), &option);

		if (err || !option || !hv_event_text_read(c->core, option, text))
			return;
		for (size_t j = 0; j < HV_ARRAY_LEN(options); j++)
			if (!strcmp(text, options[j].option))
				hv_facts_add_number(&c->d->facts, options[j].enumerator,
						    (int32_t)i);
	}
}

/* The fields of each event include a stack in newer kernels, with a filter type that no other field
 * has. */
static void derive_filter(struct context *c)
{
	const struct hv_fact *name = hv_facts_find(&c->d->facts, "ftrace_event_field", "name"),
			     *filter = hv_facts_find(&c->d->facts, "ftrace_event_field",
						     "filter_type");
	uint64_t head = hv_symbol_of(c->core, "ftrace_generic_fields", ""), at = 0;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!head || !name || !filter)
		return;
	err = hv_read_u64(&c->core->as, hv_gva(head), &at);
	for (unsigned nr = 0; !err && at != head && nr < OPTIONS_MAX; nr++) {
		char text[HV_EVENT_TEXT_BYTES];
		uint64_t string = 0;
		uint32_t value = 0;

		err = hv_read_u64(&c->core->as, hv_gva(at + name->off), &string);
		if (!err)
			err = hv_read_u32(&c->core->as, hv_gva(at + filter->off), &value);
		if (!err && hv_event_text_read(c->core, string, text) &&
		    (!strcmp(text, "STACKTRACE") || !strcmp(text, "common_stacktrace")))
			hv_facts_add_number(&c->d->facts, "FILTER_STACKTRACE", (int32_t)value);
		if (!err)
			err = hv_read_u64(&c->core->as, hv_gva(at), &at);
	}
}

/* The entries of the list hold the formats of modules that use trace_printk(). */
static void derive_formats(struct context *c)
{
	static const char type[] = "trace_bprintk_fmt";
	uint64_t head = hv_symbol_of(c->core, "trace_bprintk_fmt_list", ""), at = 0, string = 0;
	char text[HV_EVENT_TEXT_BYTES];
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!head)
		return;
	err = hv_read_u64(&c->core->as, hv_gva(head), &at);
	if (!err && at != head)
		err = hv_read_u64(&c->core->as, hv_gva(at + 16), &string);
	/* If the list is empty, the offsets cannot be checked and are not used. */
	if (err || (at != head && !hv_event_text_read(c->core, string, text)))
		return;
	add(c, type, "list", 0, 16, "list_head");
	add(c, type, "fmt", 16, 8, NULL);
}

void hv_event_members_derive(struct hv_deriving *d)
{
	hv_cleanup(context_deinit) struct context c = {.d = d, .core = d->core};

	hv_objects_read(d->core, "event_", "__tracepoint_", &c.of_tracepoints);
	hv_objects_read(d->core, "event_enter_", "__syscall_meta_", &c.of_syscalls);
	hv_objects_read(d->core, "event_", "event_class_ftrace_", &c.of_tracers);
	hv_objects_read(d->core, "event_class_", "trace_event_raw_event_", &c.classes);
	hv_objects_read(d->core, "__syscall_meta_", "event_enter_", &c.syscalls);
	derive_call(&c);
	derive_class(&c);
	derive_syscalls(&c);
	derive_array(&c);
	derive_options(&c);
	derive_filter(&c);
	derive_formats(&c);
}
