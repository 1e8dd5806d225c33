/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fake kernel with trace events, for unit tests and the fuzzer. */
#pragma once

#include "tests/unit/kernel/fake_kernel.h"

/* Functions in the kernel. */
#define FE_REG		    (FK_BASE + 0x1000)
#define FE_ENTER_REG	    (FK_BASE + 0x1100)
#define FE_EXIT_REG	    (FK_BASE + 0x1200)
#define FE_GET_ENTER_FIELDS (FK_BASE + 0x1300)
#define FE_CALLBACK	    (FK_BASE + 0x2000)

#define FE_FL_IGNORE_ENABLE 0x10u
#define FE_FL_TRACEPOINT    0x20u
#define FE_LOCKDOWN_TRACEFS 26u

/* Offsets in the structures. */
enum {
	FE_ARRAY_EVENTS = 32, /* struct trace_array */
	FE_FILE_CALL = 16,    /* struct trace_event_file */
	FE_FILE_TR = 24,
	FE_CALL_CLASS = 16, /* struct trace_event_call */
	FE_CALL_NAME = 24,
	FE_CALL_ID = 32,
	FE_CALL_PRINT = 40,
	FE_CALL_MODULE = 48,
	FE_CALL_DATA = 56,
	FE_CALL_FLAGS = 64,
	FE_CLASS_CALLBACK = 8, /* struct trace_event_class */
	FE_CLASS_REG = 16,
	FE_CLASS_TEMPLATES = 24,
	FE_CLASS_GET_FIELDS = 32,
	FE_CLASS_FIELDS = 40,
	FE_FIELD_NAME = 16, /* struct ftrace_event_field */
	FE_FIELD_TYPE = 24,
	FE_FIELD_FILTER = 32,
	FE_FIELD_OFF = 36,
	FE_FIELD_SIZE = 40,
	FE_FIELD_SIGNED = 44,
	FE_FIELD_LEN = 48,
	FE_TEMPLATE_NAME = 8, /* struct trace_event_fields */
	FE_TEMPLATE_SIZE = 16,
	FE_TEMPLATE_ALIGN = 20,
	FE_TEMPLATE_BYTES = 40,
	FE_TP_ITERATOR = 24, /* struct tracepoint */
	FE_TP_FUNCS = 48,
	FE_SYSCALL_NR = 8, /* struct syscall_metadata */
	FE_SYSCALL_NR_ARGS = 12,
	FE_SYSCALL_TYPES = 16,
	FE_SYSCALL_ARGS = 24,
	FE_SYSCALL_FIELDS = 32,
	FE_SYSCALL_USER_MASK = 48,
	FE_SYSCALL_SIZE_ARG = 50,
	FE_ARRAY_USER_BYTES = 56, /* struct trace_array */
};

struct fe {
	struct fk f;
	uint64_t arrays;	       /* ftrace_trace_arrays */
	uint64_t common;	       /* ftrace_common_fields */
	uint64_t locked_down;	       /* kernel_locked_down */
	uint64_t files;		       /* file list of the top array */
	uint64_t formats, formats_end; /* __start___trace_bprintk_fmt */
	uint64_t format_list;
	struct hv_module module;
	uint64_t small, small_end; /* next small object; small objects share pages */
};

/* Name of the member of struct ftrace_event_field that is 1 for signed numbers. */
static const char *fe_sign = "is_signed";

/* IS_OLD: functions create the fields, as in 5.4, and tracepoints have no iterators. */
static inline void fe_types(bool is_old)
{
	uint32_t list = FK_STRUCT("list_head", 16, {"next", 0, 8}, {"prev", 8, 8});
	uint32_t event = FK_STRUCT("trace_event", 8, {"type", 0, 4});

	FK_STRUCT("trace_array", 64, {"list", 0, 0, list}, {"events", FE_ARRAY_EVENTS, 0, list},
		  {"syscall_buf_sz", FE_ARRAY_USER_BYTES, 4});
	FK_STRUCT("trace_event_file", 32, {"list", 0, 0, list}, {"event_call", FE_FILE_CALL, 8},
		  {"tr", FE_FILE_TR, 8});
	FK_STRUCT("trace_event_call", 72, {"class", FE_CALL_CLASS, 8}, {"name", FE_CALL_NAME, 8},
		  {"event", FE_CALL_ID, 0, event}, {"print_fmt", FE_CALL_PRINT, 8},
		  {"module", FE_CALL_MODULE, 8}, {"data", FE_CALL_DATA, 8},
		  {"flags", FE_CALL_FLAGS, 4});
	FK_STRUCT("trace_event_class", 56, {"system", 0, 8}, {"probe", FE_CLASS_CALLBACK, 8},
		  {"reg", FE_CLASS_REG, 8},
		  {is_old ? "define_fields" : "fields_array", FE_CLASS_TEMPLATES, 8},
		  {"get_fields", FE_CLASS_GET_FIELDS, 8}, {"fields", FE_CLASS_FIELDS, 0, list});
	FK_STRUCT("ftrace_event_field", 56, {"link", 0, 0, list}, {"name", FE_FIELD_NAME, 8},
		  {"type", FE_FIELD_TYPE, 8}, {"filter_type", FE_FIELD_FILTER, 4},
		  {"offset", FE_FIELD_OFF, 4}, {"size", FE_FIELD_SIZE, 4},
		  {fe_sign, FE_FIELD_SIGNED, 4}, {"len", FE_FIELD_LEN, 4});
	FK_STRUCT(is_old ? "another" : "trace_event_fields", FE_TEMPLATE_BYTES, {"type", 0, 8},
		  {"name", FE_TEMPLATE_NAME, 8}, {"size", FE_TEMPLATE_SIZE, 4},
		  {"align", FE_TEMPLATE_ALIGN, 4}, {"is_signed", 24, 4}, {"filter_type", 28, 4},
		  {"len", 32, 4});
	FK_STRUCT("tracepoint", 56, {"name", 0, 8}, {"key", 8, 16},
		  {is_old ? "unused" : "iterator", FE_TP_ITERATOR, 8}, {"regfunc", 32, 8},
		  {"unregfunc", 40, 8}, {"funcs", FE_TP_FUNCS, 8});
	FK_STRUCT("syscall_metadata", 64, {"name", 0, 8}, {"syscall_nr", FE_SYSCALL_NR, 4},
		  {"nb_args", FE_SYSCALL_NR_ARGS, 4}, {"types", FE_SYSCALL_TYPES, 8},
		  {"user_mask", FE_SYSCALL_USER_MASK, 2}, {"user_arg_size", FE_SYSCALL_SIZE_ARG, 1},
		  {"args", FE_SYSCALL_ARGS, 8}, {"enter_fields", FE_SYSCALL_FIELDS, 0, list});
	FK_STRUCT("trace_entry", 8, {"type", 0, 2}, {"flags", 2, 1}, {"preempt_count", 3, 1},
		  {"pid", 4, 4});
	FK_STRUCT("trace_bprintk_fmt", 24, {"list", 0, 0, list}, {"fmt", 16, 8});
	enumerator("TRACE_EVENT_FL_TRACEPOINT", FE_FL_TRACEPOINT);
	enumerator("TRACE_EVENT_FL_IGNORE_ENABLE", FE_FL_IGNORE_ENABLE);
	enumerator("LOCKDOWN_TRACEFS", FE_LOCKDOWN_TRACEFS);
	enumerator("LOCKDOWN_CONFIDENTIALITY_MAX", FE_LOCKDOWN_TRACEFS + 2);
}

static inline uint64_t fe_alloc(struct fe *e, uint64_t len_bytes)
{
	uint64_t at;

	len_bytes = (len_bytes + 7) & ~7ull;
	if (e->small + len_bytes > e->small_end) {
		e->small = fk_alloc(&e->f, len_bytes);
		e->small_end = e->f.brk;
	}
	at = e->small;
	e->small += len_bytes;
	return at;
}

static inline uint64_t fe_string(struct fe *e, const char *s)
{
	uint64_t at = fe_alloc(e, strlen(s) + 1);

	fk_str(&e->f, at, s);
	return at;
}

static inline void fe_list(struct fe *e, uint64_t head)
{
	fk_u64(&e->f, head, head);
	fk_u64(&e->f, head + 8, head);
}

static inline uint64_t fe_read(struct fe *e, uint64_t at)
{
	uint64_t value;

	memcpy(&value, fk_host(&e->f, at), 8);
	return value;
}

/* Like the kernel's list_add_tail(). */
static inline void fe_list_add_tail(struct fe *e, uint64_t head, uint64_t entry)
{
	uint64_t last = fe_read(e, head + 8);

	fk_u64(&e->f, entry, head);
	fk_u64(&e->f, entry + 8, last);
	fk_u64(&e->f, last, entry);
	fk_u64(&e->f, head + 8, entry);
}

/* Like trace_define_field(), which adds to the head of the list. Returns the field. */
static inline uint64_t fe_field(struct fe *e, uint64_t head, const char *type, const char *name,
				uint32_t off, uint32_t size)
{
	uint64_t field = fe_alloc(e, 56), first = fe_read(e, head);

	fk_u64(&e->f, field, first);
	fk_u64(&e->f, field + 8, head);
	fk_u64(&e->f, first + 8, field);
	fk_u64(&e->f, head, field);
	fk_u64(&e->f, field + FE_FIELD_NAME, fe_string(e, name));
	fk_u64(&e->f, field + FE_FIELD_TYPE, fe_string(e, type));
	fk_u32(&e->f, field + FE_FIELD_OFF, off);
	fk_u32(&e->f, field + FE_FIELD_SIZE, size);
	return field;
}

/* Adds a class without fields and returns it. */
static inline uint64_t fe_class(struct fe *e, const char *system, uint64_t reg)
{
	uint64_t class = fe_alloc(e, 56);

	fk_u64(&e->f, class, fe_string(e, system));
	fk_u64(&e->f, class + FE_CLASS_CALLBACK, FE_CALLBACK);
	fk_u64(&e->f, class + FE_CLASS_REG, reg);
	fe_list(e, class + FE_CLASS_FIELDS);
	return class;
}

/* Adds NR templates of a u32 each and a terminating one. Returns the first. */
static inline uint64_t fe_templates(struct fe *e, unsigned nr)
{
	uint64_t at = fe_alloc(e, (nr + 1) * FE_TEMPLATE_BYTES);

	for (unsigned i = 0; i < nr; i++) {
		uint64_t template = at + i * FE_TEMPLATE_BYTES;

		fk_u64(&e->f, template, fe_string(e, "u32"));
		fk_u64(&e->f, template + FE_TEMPLATE_NAME, fe_string(e, "value"));
		fk_u32(&e->f, template + FE_TEMPLATE_SIZE, 4);
		fk_u32(&e->f, template + FE_TEMPLATE_ALIGN, 4);
	}
	return at;
}

/* Adds a file for CALL to the top array. */
static inline void fe_file(struct fe *e, uint64_t call)
{
	uint64_t file = fe_alloc(e, 32);

	fk_u64(&e->f, file + FE_FILE_CALL, call);
	fk_u64(&e->f, file + FE_FILE_TR, e->files - FE_ARRAY_EVENTS);
	fe_list_add_tail(e, e->files, file);
}

/* Adds an event without a tracepoint, and its file. Returns its struct trace_event_call. */
static inline uint64_t fe_event(struct fe *e, uint64_t class, const char *name, uint32_t id)
{
	uint64_t call = fe_alloc(e, 72);

	fk_u64(&e->f, call + FE_CALL_CLASS, class);
	fk_u64(&e->f, call + FE_CALL_NAME, fe_string(e, name));
	fk_u32(&e->f, call + FE_CALL_ID, id);
	fk_u64(&e->f, call + FE_CALL_PRINT, fe_string(e, "\"%d\", REC->value"));
	fe_file(e, call);
	return call;
}

/* Gives CALL a tracepoint with its name. Returns the tracepoint. */
static inline uint64_t fe_tracepoint(struct fe *e, uint64_t call)
{
	uint64_t tp = fe_alloc(e, 56);

	fk_u64(&e->f, tp, fe_read(e, call + FE_CALL_NAME));
	fk_u64(&e->f, tp + FE_TP_ITERATOR, FK_BASE + 0x3000);
	fk_u64(&e->f, call + FE_CALL_NAME, tp);
	fk_u32(&e->f, call + FE_CALL_FLAGS, FE_FL_TRACEPOINT);
	return tp;
}

/* Adds an event of a system call with two arguments. Returns its struct syscall_metadata. */
static inline uint64_t fe_syscall(struct fe *e, const char *name, uint32_t id)
{
	uint64_t class = fe_class(e, "syscalls", FE_ENTER_REG), data = fe_alloc(e, 64);
	uint64_t words = fe_alloc(e, 16), call = fe_event(e, class, name, id);

	fk_u64(&e->f, words, fe_string(e, "int"));
	fk_u64(&e->f, words + 8, fe_string(e, "fd"));
	fk_u64(&e->f, class + FE_CLASS_GET_FIELDS, FE_GET_ENTER_FIELDS);
	fk_u64(&e->f, call + FE_CALL_DATA, data);
	fk_u64(&e->f, data, fe_string(e, "sys_read"));
	fk_u32(&e->f, data + FE_SYSCALL_NR, 0);
	fk_u32(&e->f, data + FE_SYSCALL_NR_ARGS, 2);
	fk_u64(&e->f, data + FE_SYSCALL_TYPES, words);
	fk_u64(&e->f, data + FE_SYSCALL_ARGS, words);
	fe_list(e, data + FE_SYSCALL_FIELDS);
	fe_field(e, data + FE_SYSCALL_FIELDS, "int", "__syscall_nr", 8, 4);
	return data;
}

/* Makes a kernel with the common fields and no events. Its module "m" has its struct module at
 * FK_MODULES. */
static inline void fe_init_as(struct fe *e, bool is_old)
{
	uint64_t array;

	*e = (struct fe){0};
	fk_init(&e->f);
	fe_types(is_old);
	fk_symbol(&e->f, "trace_event_reg", FE_REG);
	fk_symbol(&e->f, "syscall_enter_register", FE_ENTER_REG);
	fk_symbol(&e->f, "syscall_exit_register", FE_EXIT_REG);
	fk_symbol(&e->f, "syscall_get_enter_fields", FE_GET_ENTER_FIELDS);
	e->arrays = fe_alloc(e, 16);
	e->common = fe_alloc(e, 16);
	e->locked_down = fe_alloc(e, 16);
	array = fe_alloc(e, 64);
	e->files = array + FE_ARRAY_EVENTS;
	e->formats = fe_alloc(e, 16);
	e->formats_end = e->formats + 16;
	e->format_list = fe_alloc(e, 16);
	fk_symbol(&e->f, "ftrace_trace_arrays", e->arrays);
	fk_symbol(&e->f, "ftrace_common_fields", e->common);
	fk_symbol(&e->f, "kernel_locked_down", e->locked_down);
	fk_symbol(&e->f, "__start___trace_bprintk_fmt", e->formats);
	fk_symbol(&e->f, "__stop___trace_bprintk_fmt", e->formats_end);
	fk_symbol(&e->f, "trace_bprintk_fmt_list", e->format_list);
	fe_list(e, e->arrays);
	fe_list_add_tail(e, e->arrays, array);
	fe_list(e, e->files);
	fe_list(e, e->common);
	fe_list(e, e->format_list);
	fe_field(e, e->common, "unsigned short", "common_type", 0, 2);
	fe_field(e, e->common, "int", "common_pid", 4, 4);
	e->module = (struct hv_module){.name = "m", .at = hv_gva(FK_MODULES)};
	e->f.k.modules = (struct hv_modules){.list = &e->module, .nr = 1};
	fk_done(&e->f);
}

static inline void fe_init(struct fe *e)
{
	fe_init_as(e, false);
}

static inline void fe_deinit(struct fe *e)
{
	e->f.k.modules = (struct hv_modules){0};
	fk_deinit(&e->f);
}
