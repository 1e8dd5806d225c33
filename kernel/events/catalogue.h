/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The catalogue of the guest's events: every trace event that the kernel and its modules have
 * registered at the time of reading.
 *
 * An event type corresponds to a struct trace_event_call: a name, the fields of its records, and
 * the callback that fills them. The guest's own kprobe, uprobe and synthetic events are omitted,
 * because they are settings of its tracefs.
 *
 * All data comes from guest memory and is untrusted. Lists, numbers and strings are bounded. Names
 * of systems and events are valid file names; other strings may contain any bytes. Code that uses
 * an address checks its contents. tree/format/event_format.h formats tracefs files; static_sites.h
 * reads the sites of static keys; patcher/ makes changes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/err.h"
#include "base/guard.h"

struct hv_kernel;
struct hv_store_block;

/* -- memory ------------------------------------------------------------------------------------ */

/* The memory of a catalogue. Allocations do not move and are all freed together. pages.h stores
 * each guest string once. */

/* Zero-initialised is empty and valid. */
struct hv_store {
	struct hv_store_block *blocks; /* owned, the newest first */
	size_t len_bytes;	       /* total size of allocations */
};

void hv_store_deinit(struct hv_store *s);
/* Returns zeroed memory, aligned for any type. */
void *hv_store_alloc(struct hv_store *s, size_t len_bytes) hv_must_use;
/* Returns a copy of LEN_BYTES with a NUL appended. */
char *hv_store_string(struct hv_store *s, const char *string, size_t len_bytes) hv_must_use;

/* -- events ------------------------------------------------------------------------------------ */

/* Data bytes of a page in the guest's ring buffer. A whole record must fit. */
#define HV_EVENT_RECORD_MAX 4080u

/* A field within the first HV_EVENT_RECORD_MAX bytes of a record. Other fields, which no real
 * kernel defines, are dropped, because libraries that read trace.dat trust the format. */
struct hv_event_field {
	const char *name;
	const char *type;	  /* as in C, with the array size: "char[16]" */
	uint32_t off, size_bytes; /* in the record */
	int32_t len;		  /* array length, if has_lens; 0: not an array, or unknown */
	uint32_t filter_type;	  /* FILTER_*, with this kernel's values */
	bool is_signed;
};

struct hv_event_fields {
	struct hv_event_field *list; /* owned by the catalogue, in the order of the record */
	size_t nr;
};

/* How the kernel enables and disables an event. */
enum hv_event_reg {
	HV_EVENT_REG_NONE,	    /* not possible: a tracer records it */
	HV_EVENT_REG_TRACEPOINT,    /* adds its callback to its tracepoint (trace_event_reg) */
	HV_EVENT_REG_SYSCALL_ENTER, /* all system calls share a callback of raw_syscalls */
	HV_EVENT_REG_SYSCALL_EXIT,
	HV_EVENT_REG_OTHER,  /* with another function */
	HV_EVENT_REG_KPROBE, /* not a kernel event: a probe of an hvtrace user */
	HV_EVENT_REG_HOST,   /* not a kernel event: an event of the host */
	HV_EVENT_REG_SYNTH,  /* not a kernel event: a synthetic event */
	HV_EVENT_REG_EPROBE, /* not a kernel event: a probe on an event */
	/* Not a kernel event: its callback is an empty function that can be traced. */
	HV_EVENT_REG_PROBESTUB,
};

/* A struct tracepoint. */
struct hv_tracepoint {
	struct hv_gva at;	/* 0: the event has no tracepoint */
	struct hv_gva key;	/* its struct static_key */
	struct hv_gva funcs;	/* address of the pointer to its array of callbacks */
	struct hv_gva iterator; /* __traceiter_NAME, which calls all callbacks; 0: none */
	/* Called by the kernel before it adds the first callback and after it removes the last one;
	 * 0 if unset. */
	struct hv_gva reg, unreg;
	bool faultable; /* callbacks may sleep */
};

struct hv_syscall {
	const char *name; /* "sys_openat" */
	int32_t nr;
	uint32_t nr_args; /* at most HV_SYSCALL_ARGS_MAX */
	const char *const *types;
	const char *const *args; /* their names */
	/* Since 7.0 the event of a call includes the memory that these arguments point to, in bit
	 * order, up to catalogue.user_bytes for each. Any value is possible in a hostile guest. */
	uint32_t user_mask;
	/* The argument with the length of that memory; negative: the arguments are strings. */
	int32_t user_size_arg;
};

#define HV_SYSCALL_ARGS_MAX 6

/* Limit for the memory of one argument (SYSCALL_FAULT_USER_MAX). */
#define HV_USER_BYTES_MAX 165

struct hv_event_type {
	const char *system;
	const char *name;
	const char *module; /* NULL: the core kernel */
	const char *print_fmt;
	uint32_t id;		       /* common_type of its records */
	uint32_t flags;		       /* TRACE_EVENT_FL_*, with this kernel's values */
	bool is_available;	       /* listed in available_events: it can be enabled */
	bool has_fields;	       /* false: the kernel creates the fields in an unknown way */
	struct hv_event_fields fields; /* without the common fields */
	enum hv_event_reg reg_kind;
	struct hv_gva call;	/* its struct trace_event_call */
	struct hv_gva reg;	/* function that enables and disables it; 0: none */
	struct hv_gva callback; /* the function that fills a record (class->probe); 0: none */
	struct hv_tracepoint tracepoint;
	const struct hv_syscall *syscall; /* NULL: not a system call's event */
	const char *probed;		  /* SYSTEM.EVENT for a probe on an event, otherwise NULL */
};

struct hv_event_system {
	const char *name;
	size_t first, nr; /* range in by_name */
};

struct hv_catalogue {
	struct hv_event_type *types; /* owned, in the order of the guest's available_events */
	size_t nr;
	struct hv_event_fields common; /* of every record */
	uint32_t header_len_bytes;     /* size of struct trace_entry with padding */
	uint32_t user_bytes; /* at most HV_USER_BYTES_MAX; 0: events contain no user memory */
	bool has_lens;	     /* this kernel has hv_event_field.len */
	bool char_is_signed; /* with this kernel's compiler */
	struct hv_event_system *systems; /* owned, by name */
	size_t nr_systems;
	/* Owned: indices into types, sorted by system and name, and by id. If several types have
	 * the same name, by_name contains only the first. */
	uint32_t *by_name, *by_id;
	struct hv_store store;
};

/* Skips events of modules that are not in k->modules. Fails with ENOENT if this kernel lacks a
 * symbol or member, which the message names. */
struct hv_err *hv_catalogue_read(const struct hv_kernel *k, struct hv_catalogue *ret) hv_must_use;
void hv_catalogue_deinit(struct hv_catalogue *c);

/* Sets *RET to whether TYPE is still registered in the guest: its id is at the same address, and
 * the kernel never reuses ids. If its module can be removed, the result can become stale at any
 * time. */
struct hv_err *hv_event_type_is_there(const struct hv_kernel *k, const struct hv_event_type *type,
				      bool *ret) hv_must_use;

/* Appends TYPE. Its strings and fields are borrowed until it is removed. It replaces guest types
 * with the same id, which a guest can create at any time. Invalidates pointers to types; call
 * hv_catalogue_index() afterwards. */
void hv_catalogue_add(struct hv_catalogue *c, const struct hv_event_type *type);
/* Removes the type ID, if it exists. Invalidates pointers to types. */
void hv_catalogue_remove(struct hv_catalogue *c, uint32_t id);
/* Computes systems, by_name, by_id and char_is_signed from types. */
void hv_catalogue_index(struct hv_catalogue *c);
/* Return NULL if not found. */
const struct hv_event_system *hv_catalogue_system(const struct hv_catalogue *c, const char *name);
const struct hv_event_type *hv_catalogue_find(const struct hv_catalogue *c, const char *system,
					      const char *name);
const struct hv_event_type *hv_catalogue_by_id(const struct hv_catalogue *c, uint32_t id);
/* Returns event INDEX of SYSTEM in name order. INDEX must be below system->nr. */
const struct hv_event_type *hv_catalogue_at(const struct hv_catalogue *c,
					    const struct hv_event_system *system, size_t index);
/* Searches the fields of TYPE, then the common fields. Returns NULL if there is no field NAME. */
const struct hv_event_field *hv_event_type_field(const struct hv_catalogue *c,
						 const struct hv_event_type *type,
						 const char *name);
/* The type of records written through trace_marker (ftrace:print). It cannot be enabled or
 * disabled, but has triggers. */
bool hv_event_type_is_marker(const struct hv_event_type *type);
static inline bool hv_event_type_has_triggers(const struct hv_event_type *type)
{
	return type->is_available || hv_event_type_is_marker(type);
}

/* Returns whether the member `overwrite` of the header of a ring-buffer page (events/header_page)
 * has the type char. In older kernels it is an int. */
bool hv_page_header_has_char(const struct hv_kernel *k);
