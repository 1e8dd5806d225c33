/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The static call of a tracepoint (kernel/static_call_inline.c): direct calls of one function,
 * which the kernel patches to change the function. They are the static call's trampoline, which
 * jumps to the function, and call sites in the kernel and its modules. All input is untrusted: code
 * that changes a call checks the bytes first. tracer/tracepoints/plug.h chooses the target. */
#pragma once

#include "kernel/events/site_tables.h"

struct hv_tracepoint;

/* Offsets and sizes, from BTF. */
struct hv_call_layout {
	struct hv_site_table table;
	uint32_t key, trampoline; /* offsets in struct tracepoint; pointers */
	uint32_t links;		  /* of struct static_call_key */
	uint32_t site_code, site_key;
	uint32_t module_state; /* of struct module */
};

/* Fails with ENOENT if this kernel has no static calls or their layout is unknown. */
struct hv_err *hv_call_layout_find(const struct hv_kernel *k,
				   struct hv_call_layout *ret) hv_must_use;

/* A direct call or jump. */
struct hv_call_site {
	struct hv_gva at;
	struct hv_gva target;
	bool is_jump;
	uint8_t bytes[8];
};

struct hv_call_sites {
	struct hv_call_site *list; /* owned; the first one is the trampoline */
	size_t nr;
	struct hv_word *words; /* owned; the pointers that lead to the sites (site_tables.h) */
	size_t nr_words;
};

/* Reads the calls of TP's static call, except those in init code. Fails with EBUSY if one is being
 * changed, or EINVAL if one is neither a call nor a jump. */
struct hv_err *hv_call_sites_read(const struct hv_kernel *k, const struct hv_call_layout *layout,
				  const struct hv_tracepoint *tp,
				  struct hv_call_sites *ret) hv_must_use;
void hv_call_sites_deinit(struct hv_call_sites *s);

/* Fails with EBUSY if a module with calls of TP's static call is being loaded, because its init
 * code, which is not read, may contain calls. */
struct hv_err *hv_call_sites_check_modules(const struct hv_kernel *k,
					   const struct hv_call_layout *layout,
					   const struct hv_tracepoint *tp) hv_must_use;
