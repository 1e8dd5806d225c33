/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The static call of a tracepoint (kernel/static_call_inline.c): a function that is called by
 * direct calls, of which the kernel changes all when another function is to be called. The calls
 * are its trampoline, which jumps there, and sites in the code of the kernel and of its modules.
 * Everything is hostile: whoever changes a call checks what is there. Leaves to others: what it
 * should call (tracer/plug.h). */
#pragma once

#include "kernel/events/site_tables.h"

struct hv_tracepoint;

/* Offsets and sizes, from BTF. */
struct hv_call_layout {
	struct hv_site_table table;
	uint32_t key, trampoline; /* of struct tracepoint: of pointers */
	uint32_t links;		  /* of struct static_call_key */
	uint32_t site_code, site_key;
	uint32_t module_state; /* of struct module */
};

/* ENOENT: this kernel's static calls are of a form that is not known, or it has none. */
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
	struct hv_word *words; /* owned: what leads to them (site_tables.h) */
	size_t nr_words;
};

/* Those of the static call of TP, but not those in init code. EBUSY: one is being changed; EINVAL:
 * one is neither a call nor a jump. */
struct hv_err *hv_call_sites_read(const struct hv_kernel *k, const struct hv_call_layout *layout,
				  const struct hv_tracepoint *tp,
				  struct hv_call_sites *ret) hv_must_use;
void hv_call_sites_deinit(struct hv_call_sites *s);

/* EBUSY: a module with calls of the static call of TP is being loaded. Its init code, which is not
 * looked at, may have some. */
struct hv_err *hv_call_sites_check_modules(const struct hv_kernel *k,
					   const struct hv_call_layout *layout,
					   const struct hv_tracepoint *tp) hv_must_use;
