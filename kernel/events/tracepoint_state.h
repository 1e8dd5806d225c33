/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a tracepoint of the guest's core kernel is doing: the probes that it calls, and the static
 * key that leads to them (kernel/tracepoint.c, kernel/jump_label.c). It is read from live memory
 * and hostile: lists are bounded, and whoever changes a place checks what is there. In a hold, and
 * while nobody has locked what the kernel changes it under (hv_tracepoints_locked), it is
 * consistent. Leaves to others: changing it (tracer/plug.h). */
#pragma once

#include "base/addr.h"
#include "base/err.h"
#include "kernel/events/call_sites.h"
#include "kernel/events/catalogue.h"
#include "kernel/events/common_key.h"
#include "kernel/events/jump_sites.h"
#include "kernel/events/syscall_work.h"

struct hv_kernel;

#define HV_TRACEPOINT_LOCKS 5

/* Offsets and sizes, from BTF, and what is at the same place in all tracepoints' lives. */
struct hv_tracepoint_layout {
	uint32_t enabled; /* of struct static_key */
	/* An array of probes: what the kernel frees it by, then struct tracepoint_func one after
	 * the other, and one that is 0. */
	uint32_t probes; /* of struct tp_probes: of the first one */
	uint32_t probe_len_bytes, func, data, prio;
	uint32_t static_call; /* of struct tracepoint: of the pointer to its struct static_call_key
			       */
	uint32_t static_call_func;
	bool has_static_call;
	bool has_calls; /* the following is known */
	struct hv_call_layout calls;
	/* Of struct trace_event_file, and the flag in it that keeps probes from recording. */
	uint32_t file_flags;
	uint64_t file_soft_disabled;
	uint32_t len_bytes, funcs, key, iterator; /* of struct tracepoint */
	struct hv_jump_layout jumps;
	/* What the kernel locks while it adds or removes a probe or changes code: the word that is
	 * 0 while nobody has it. */
	struct {
		const char *name;
		struct hv_gva owner;
	} locks[HV_TRACEPOINT_LOCKS];
	struct hv_gva stub; /* tp_stub_func(), which does nothing */
	bool has_syscalls;  /* the following is known */
	struct hv_syscall_work syscalls;
	bool has_common; /* the following is known */
	struct hv_common_key common;
};

/* ENOENT: the kernel lacks a member or a symbol, which the message names. */
struct hv_err *hv_tracepoint_layout_find(const struct hv_kernel *k,
					 struct hv_tracepoint_layout *ret) hv_must_use;

/* A place of the static key in code that stays. */
struct hv_key_place {
	struct hv_gva at;
	struct hv_gva target;
	uint8_t bytes[8];
	uint8_t len_bytes;
	bool jumps; /* to TARGET; false: a nop */
};

struct hv_tracepoint_probe {
	struct hv_gva at; /* of its struct tracepoint_func */
	uint64_t func;
	uint64_t data;
	uint32_t priority; /* those with a higher one come first */
};

struct hv_tracepoint_state {
	uint64_t funcs;		      /* the address of its first probe; 0: it has none */
	uint32_t enabled;	      /* count of the static key */
	uint64_t static_call;	      /* the function that its static call calls; 0: it has none */
	struct hv_gva static_call_at; /* where that is; 0: nowhere */
	struct hv_tracepoint_probe *probes; /* owned */
	size_t nr_probes;
	/* Owned: those of its own static key, then those of the key that it has in common with
	 * others. */
	struct hv_key_place *places;
	size_t nr_own_places, nr_places;
	/* Those of its static call, while it has probes; none: they are not known. */
	struct hv_call_sites calls;
	struct hv_word *words; /* owned: what leads to the places (site_tables.h) */
	size_t nr_words;
	/* Of a tracepoint of system calls, or one that has a static key in common with others: how
	 * many of them are on, as the kernel counts at COUNT_AT, and how many of the others are. */
	bool is_counted;
	struct hv_gva count_at;
	uint32_t nr_on, nr_others_on;
};

/* An array of probes in OURS, memory that is not the guest's own, is not read: its probes are left
 * out. EBUSY: a place is being changed; EINVAL: it has something else than a nop or a jump. */
struct hv_err *hv_tracepoint_state_read(const struct hv_kernel *k,
					const struct hv_tracepoint_layout *layout,
					const struct hv_tracepoint *tp, struct hv_gva_range ours,
					struct hv_tracepoint_state *ret) hv_must_use;
/* Likewise, but reads only its probes: the others in RET are 0. */
struct hv_err *hv_tracepoint_probes_read(const struct hv_kernel *k,
					 const struct hv_tracepoint_layout *layout,
					 const struct hv_tracepoint *tp, struct hv_gva_range ours,
					 struct hv_tracepoint_state *ret) hv_must_use;

/* Likewise the probes of an array of the guest's, of which FUNCS is the first. */
struct hv_err *hv_tracepoint_probes_at(const struct hv_kernel *k,
				       const struct hv_tracepoint_layout *layout, uint64_t funcs,
				       struct hv_tracepoint_state *ret) hv_must_use;

/* *RET: everything in S is still so, but the bytes of places and calls. For a hold: reads only what
 * is there already, and allocates nothing. */
struct hv_err *hv_tracepoint_state_is_same(const struct hv_kernel *k,
					   const struct hv_tracepoint_layout *layout,
					   const struct hv_tracepoint *tp,
					   const struct hv_tracepoint_state *s,
					   bool *ret) hv_must_use;
void hv_tracepoint_state_deinit(struct hv_tracepoint_state *s);

/* The struct tracepoint at AT, as far as its state tells; without its functions reg and unreg. */
struct hv_err *hv_tracepoint_at(const struct hv_kernel *k,
				const struct hv_tracepoint_layout *layout, struct hv_gva at,
				struct hv_tracepoint *ret) hv_must_use;

/* *RET: the name of a lock that somebody has, under which the guest changes tracepoints, static
 * keys or code; NULL: all are free. */
struct hv_err *hv_tracepoints_locked(const struct hv_kernel *k,
				     const struct hv_tracepoint_layout *layout,
				     const char **ret) hv_must_use;
