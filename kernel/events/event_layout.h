/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Offsets, from BTF, of members in the kernel's structures for events. The structures are in
 * include/linux/trace_events.h, include/linux/tracepoint-defs.h and kernel/trace/trace.h. Private to
 * kernel/. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

struct hv_kernel_core;

/* Structures are copied whole. The largest has 144 bytes. */
#define HV_EVENT_STRUCT_MAX 1024u

/* A member of up to four bytes, which may be a bit-field. */
struct hv_bits {
	uint32_t off; /* in bits */
	uint32_t nr;
};

struct hv_event_layout {
	struct {
		uint32_t len_bytes, class, name, id, print_fmt, module, data, flags;
	} call; /* struct trace_event_call */
	struct {
		uint32_t len_bytes, system, callback, reg, fields_array, get_fields, fields;
	} class; /* struct trace_event_class */
	struct {
		uint32_t len_bytes, name, type, filter_type, off, size, len, prev;
		struct hv_bits is_signed;
	} field; /* struct ftrace_event_field */
	struct {
		uint32_t len_bytes, type, name, size, align, filter_type, len;
		struct hv_bits is_signed;
	} template; /* struct trace_event_fields */
	struct {
		uint32_t len_bytes, name, key, iterator, funcs, reg, unreg;
		uint32_t ext; /* pointer to reg, unreg and faultable; valid if has_ext */
		uint32_t ext_len_bytes, ext_reg, ext_unreg;
		struct hv_bits faultable;
	} tracepoint; /* struct tracepoint */
	struct {
		uint32_t len_bytes, name, nr, types, args, enter_fields;
		struct hv_bits nr_args;
		struct hv_bits user_mask, user_size_arg; /* nr is 0 if missing */
	} syscall;					 /* struct syscall_metadata */
	uint32_t list_prev;				 /* of struct list_head */
	uint32_t array_list, array_events;		 /* of struct trace_array */
	struct hv_bits array_user_bytes; /* in struct trace_array; nr is 0 if missing */
	uint32_t file_list, file_call;	 /* of struct trace_event_file */
	uint32_t header_len_bytes;	 /* of struct trace_entry */
	uint32_t tracepoint_flag, ignore_enable_flag;
	bool has_lens;	    /* fields contain the array length (6.1, b6c7abd1c28a) */
	bool has_templates; /* kernels after 5.4 */
	bool has_iterators; /* since 5.10 */
	bool has_ext;	    /* since 6.13 */
	bool has_syscalls;  /* CONFIG_FTRACE_SYSCALLS */
};

/* Fails with ENOENT if the kernel lacks a structure or member, which the message names. */
struct hv_err *hv_event_layout_find(const struct hv_kernel_core *core,
				    struct hv_event_layout *ret) hv_must_use;

/* Finds the member of struct tracepoint that points to the iterator. *RET_EXISTS: the kernel has
 * iterators. Before 5.10 (d25e37d89dd2) each caller of a tracepoint goes through its array of
 * callbacks itself. Fails with ENOENT if the kernel has iterators and the member is not known. */
struct hv_err *hv_iterator_find(const struct hv_kernel_core *core, uint32_t *ret_off,
				bool *ret_exists) hv_must_use;

/* Returns the value of a member in a copy of its structure, or 0 if the copy ends before it. */
uint32_t hv_bits_of(struct hv_span copy, struct hv_bits bits);
