/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The catalogue of the guest's events: every trace event that its kernel and its modules define, as
 * they are registered when it is read. An event type is what the kernel calls a struct
 * trace_event_call: a name, the fields of its records, and the probe that fills them. The guest's
 * own kprobe, uprobe and synthetic events are left out: they are settings of its tracefs. All of it
 * comes from guest memory and is hostile. Lists, numbers and strings are bounded. Names of systems
 * and events are valid names of files; other strings may contain any bytes. Addresses are the
 * guest's, too: whoever uses one checks what is there. Leaves to others: the text of tracefs files
 * (tree/format/event_format.h), the sites of a tracepoint's static key (jump_sites.h), changing
 * anything (patcher/). */
#pragma once

#include "base/addr.h"
#include "base/err.h"
#include "kernel/events/store.h"

struct hv_kernel;

/* Bytes of the data of a page of the guest's ring buffer, in which a whole record must fit. */
#define HV_EVENT_RECORD_MAX 4080u

/* All of a field is within the first HV_EVENT_RECORD_MAX bytes of a record. One that is not, which
 * no kernel defines, is left out: libraries that read trace.dat believe what a format says. */
struct hv_event_field {
	const char *name;
	const char *type;	  /* as in C; with the number of elements of an array: "char[16]" */
	uint32_t off, size_bytes; /* in the record */
	int32_t len;		  /* number of elements, if has_lens; 0: no array, or unknown */
	uint32_t filter_type;	  /* FILTER_*, as this kernel numbers them */
	bool is_signed;
};

struct hv_event_fields {
	struct hv_event_field *list; /* owned by the catalogue, in the order of the record */
	size_t nr;
};

/* How the kernel switches an event on and off. */
enum hv_event_reg {
	HV_EVENT_REG_NONE,	    /* not at all: a tracer records it */
	HV_EVENT_REG_TRACEPOINT,    /* its probe goes into its tracepoint (trace_event_reg) */
	HV_EVENT_REG_SYSCALL_ENTER, /* all system calls share a probe of raw_syscalls */
	HV_EVENT_REG_SYSCALL_EXIT,
	HV_EVENT_REG_OTHER,  /* by another function */
	HV_EVENT_REG_KPROBE, /* it is none of the kernel's: a probe of hvtrace's users */
	HV_EVENT_REG_HOST,   /* likewise: an event of the host */
	HV_EVENT_REG_SYNTH,  /* likewise: a synthetic event */
	HV_EVENT_REG_EPROBE, /* likewise: a probe of an event */
	/* Likewise: its probe does nothing, and is a function that can be traced. */
	HV_EVENT_REG_PROBESTUB,
};

/* A struct tracepoint. */
struct hv_tracepoint {
	struct hv_gva at;	/* 0: the event has none */
	struct hv_gva key;	/* its struct static_key */
	struct hv_gva funcs;	/* where the pointer to its array of probes is */
	struct hv_gva iterator; /* __traceiter_NAME, which calls all probes */
	/* Functions that the kernel calls before it adds the first probe, and after it has removed
	 * the last one; 0: none. */
	struct hv_gva reg, unreg;
	bool faultable; /* probes are called where they may sleep */
};

struct hv_syscall {
	const char *name; /* "sys_openat" */
	int32_t nr;
	uint32_t nr_args; /* at most HV_SYSCALL_ARGS_MAX */
	const char *const *types;
	const char *const *args; /* their names */
	/* Since 7.0 the event of a call has what these arguments point to, in the order of their
	 * bits, up to catalogue.user_bytes of each. The guest may claim any. */
	uint32_t user_mask;
	/* The argument that says how many bytes are there; a negative number: strings are. */
	int32_t user_size_arg;
};

#define HV_SYSCALL_ARGS_MAX 6

/* Of what one argument points to (SYSCALL_FAULT_USER_MAX). */
#define HV_USER_BYTES_MAX 165

struct hv_event_type {
	const char *system;
	const char *name;
	const char *module; /* NULL: the core kernel */
	const char *print_fmt;
	uint32_t id;		       /* common_type of its records */
	uint32_t flags;		       /* TRACE_EVENT_FL_*, as this kernel numbers them */
	bool is_available;	       /* it is in available_events: it can be switched on */
	bool has_fields;	       /* false: made by the kernel in a way that is not known */
	struct hv_event_fields fields; /* without the common ones */
	enum hv_event_reg reg_kind;
	struct hv_gva call;  /* its struct trace_event_call */
	struct hv_gva reg;   /* the function that switches it on and off; 0: none */
	struct hv_gva probe; /* the function that fills a record (class->probe); 0: none */
	struct hv_tracepoint tracepoint;
	const struct hv_syscall *syscall; /* NULL: the event is not of a system call */
	const char *probed; /* SYSTEM.EVENT, of a probe of an event; NULL: it is none */
};

struct hv_event_system {
	const char *name;
	size_t first, nr; /* in by_name */
};

struct hv_catalogue {
	struct hv_event_type *types; /* owned, in the order of the guest's available_events */
	size_t nr;
	struct hv_event_fields common;	 /* of every record */
	uint32_t header_len_bytes;	 /* of a record: struct trace_entry, with padding */
	uint32_t user_bytes;		 /* at most HV_USER_BYTES_MAX; 0: no event has any */
	bool has_lens;			 /* this kernel has hv_event_field.len */
	bool char_is_signed;		 /* for this kernel's compiler */
	struct hv_event_system *systems; /* owned, by name */
	size_t nr_systems;
	/* Owned: indices into types, sorted by system and name, and by id. Of types with one name
	 * only the first is in by_name. */
	uint32_t *by_name, *by_id;
	struct hv_store store;
};

/* Events of modules that are not in k->modules are left out. ENOENT: this kernel lacks a symbol or
 * member, which the message names. */
struct hv_err *hv_catalogue_read(const struct hv_kernel *k, struct hv_catalogue *ret) hv_must_use;
void hv_catalogue_deinit(struct hv_catalogue *c);

/* *RET: TYPE, of the core kernel or of a module, is registered in the guest still: its id is where
 * it was, and ids are not given again. If its module can go, this is so for now only. */
struct hv_err *hv_event_type_is_there(const struct hv_kernel *k, const struct hv_event_type *type,
				      bool *ret) hv_must_use;

/* Adds TYPE, whose strings and fields are borrowed until it is removed, as the last one. It takes
 * the place of the guest's types of its id, which a guest can make at any time. Pointers to types
 * are not valid any more, and hv_catalogue_index() must follow. */
void hv_catalogue_add(struct hv_catalogue *c, const struct hv_event_type *type);
/* Removes the type ID, if there is one. Pointers to types are not valid any more. */
void hv_catalogue_remove(struct hv_catalogue *c, uint32_t id);
/* Makes systems, by_name, by_id and char_is_signed from types. */
void hv_catalogue_index(struct hv_catalogue *c);
/* NULL: there is none. */
const struct hv_event_system *hv_catalogue_system(const struct hv_catalogue *c, const char *name);
const struct hv_event_type *hv_catalogue_find(const struct hv_catalogue *c, const char *system,
					      const char *name);
const struct hv_event_type *hv_catalogue_by_id(const struct hv_catalogue *c, uint32_t id);
/* The INDEXth event of SYSTEM, by name. INDEX is below its nr. */
const struct hv_event_type *hv_catalogue_at(const struct hv_catalogue *c,
					    const struct hv_event_system *system, size_t index);
/* Looks among the fields of TYPE, then among the common ones. NULL: there is no field NAME. */
const struct hv_event_field *hv_event_type_field(const struct hv_catalogue *c,
						 const struct hv_event_type *type,
						 const char *name);
/* The type of what is written into trace_marker (ftrace:print). It cannot be switched, but has
 * triggers. */
bool hv_event_type_is_marker(const struct hv_event_type *type);
static inline bool hv_event_type_has_triggers(const struct hv_event_type *type)
{
	return type->is_available || hv_event_type_is_marker(type);
}
