/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The current state of a tracepoint in the guest's core kernel: the callbacks that it calls, and
 * the static key that enables them (kernel/tracepoint.c, kernel/jump_label.c). Read from live,
 * untrusted memory: lists are bounded, and code that changes a site checks the bytes first. The
 * state is consistent in a hold while the kernel's locks are free (hv_tracepoints_locked).
 * tracer/tracepoints/plug.h changes it. */
#pragma once

#include <stdbool.h>

#include "base/addr.h"
#include "base/err.h"
#include "kernel/events/catalogue.h"
#include "kernel/events/static_sites.h"

struct hv_kernel;

/* A static key that several tracepoints share in addition to their own keys: while it is off, the
 * guest reaches none of them. The kernel's functions that enable and disable such a tracepoint
 * increment and decrement the key (trace_pagefault_reg()), so it counts the enabled tracepoints.
 * tracer/tracepoints/plug.h changes it. */
struct hv_common_key {
	struct hv_gva reg, unreg;     /* the tracepoints' functions */
	struct hv_gva key;	      /* a struct static_key */
	struct hv_gva tracepoints[2]; /* all tracepoints with these functions */
};

/* How the kernel enables the tracepoints of system calls (raw_syscalls): a task executes them while
 * a flag in its task_struct is set. When the first of the two tracepoints gets a callback, the
 * kernel sets the flag of every task and increments a count; when neither has a callback, it clears
 * the flags (syscall_regfunc()). New tasks inherit the flag. tracer/tracepoints/event_tracer.h
 * changes the flags. */
struct hv_syscall_work {
	struct hv_gva reg, unreg;     /* the tracepoints' functions */
	struct hv_gva count;	      /* u32 count of these tracepoints with callbacks */
	struct hv_gva tracepoints[2]; /* sys_enter, sys_exit */
	uint32_t flag_off;	      /* offset in struct task_struct of the byte with the flag */
	uint8_t flag;		      /* mask in that byte */
	uint32_t node_off, next_off;  /* of a task's thread_node, a struct list_head */
	uint32_t prev_off;
};

#define HV_TRACEPOINT_LOCKS 5

/* Offsets and sizes from BTF, and addresses that never change. */
struct hv_tracepoint_layout {
	uint32_t enabled; /* of struct static_key */
	/* An array of callbacks: a header that the kernel uses to free it, then a struct
	 * tracepoint_func for each callback, then one with zeros. */
	uint32_t callbacks; /* offset in struct tp_probes of the first one */
	uint32_t callback_len_bytes, func, data, prio;
	uint32_t static_call; /* offset in struct tracepoint of the pointer to its struct
				 static_call_key */
	uint32_t static_call_func;
	bool has_static_call;
	bool has_calls; /* the following is known */
	struct hv_call_layout calls;
	/* In struct trace_event_file, with the flag that disables recording by callbacks. */
	uint32_t file_flags;
	uint64_t file_soft_disabled;
	uint32_t len_bytes, funcs, key, iterator; /* of struct tracepoint */
	bool has_iterators;			  /* iterator is valid */
	struct hv_jump_layout jumps;
	/* The locks that the kernel takes while it adds or removes a callback or changes code. The
	 * word at `owner` is 0 while the lock is free. */
	struct {
		const char *name;
		struct hv_gva owner;
	} locks[HV_TRACEPOINT_LOCKS];
	size_t nr_locks;
	/* An empty function: tp_stub_func(), or another one in kernels without it. Such kernels do
	 * not drop callbacks with it from an array. */
	struct hv_gva stub_func;
	bool drops_stub;
	bool has_syscalls; /* the following is known */
	struct hv_syscall_work syscalls;
	bool has_common; /* the following is known */
	struct hv_common_key common;
};

/* Fails with ENOENT if the kernel lacks a member or symbol, which the message names. */
struct hv_err *hv_tracepoint_layout_find(const struct hv_kernel *k,
					 struct hv_tracepoint_layout *ret) hv_must_use;

/* A site of the static key in code that is not freed. */
struct hv_key_site {
	struct hv_gva at;
	struct hv_gva target;
	uint8_t bytes[8];
	uint8_t len_bytes;
	bool jumps; /* a jump to TARGET; false: a nop */
};

struct hv_tracepoint_callback {
	struct hv_gva at; /* address of its struct tracepoint_func */
	uint64_t func;
	uint64_t data;
	uint32_t priority; /* higher priorities come first */
};

struct hv_tracepoint_state {
	uint64_t funcs;		      /* address of its first callback; 0: no callbacks */
	uint32_t enabled;	      /* count of the static key */
	uint64_t static_call;	      /* the target of its static call; 0: no static call */
	struct hv_gva static_call_at; /* address of that target; 0: none */
	struct hv_tracepoint_callback *callbacks; /* owned */
	size_t nr_callbacks;
	/* Owned: first the sites of its own static key, then the sites of the shared key. */
	struct hv_key_site *key_sites;
	size_t nr_own_key_sites, nr_key_sites;
	/* The calls of its static call, while it has callbacks; empty if unknown. */
	struct hv_call_sites calls;
	struct hv_word *words; /* owned; the pointers that lead to the sites (static_sites.h) */
	size_t nr_words;
	/* The kernel counts the enabled tracepoints of system calls, and of those with a shared
	 * static key. If this is one of them: the count, at COUNT_AT, and how many others are
	 * enabled. */
	bool is_counted;
	struct hv_gva count_at;
	uint32_t nr_on, nr_others_on;
};

/* Skips the callbacks of an array in OURS, hvtrace's memory. Fails with EBUSY if the guest is
 * changing a site or keeps replacing the callbacks, or with EINVAL if a site contains neither a nop
 * nor a jump. */
struct hv_err *hv_tracepoint_state_read(const struct hv_kernel *k,
					const struct hv_tracepoint_layout *layout,
					const struct hv_tracepoint *tp, struct hv_gva_range ours,
					struct hv_tracepoint_state *ret) hv_must_use;
/* Like hv_tracepoint_state_read(), but reads only the callbacks: all other members of *RET are
 * 0. */
struct hv_err *hv_tracepoint_callbacks_read(const struct hv_kernel *k,
					    const struct hv_tracepoint_layout *layout,
					    const struct hv_tracepoint *tp,
					    struct hv_gva_range ours,
					    struct hv_tracepoint_state *ret) hv_must_use;

/* Reads the callbacks of a guest array whose first element is at FUNCS. */
struct hv_err *hv_tracepoint_callbacks_at(const struct hv_kernel *k,
					  const struct hv_tracepoint_layout *layout, uint64_t funcs,
					  struct hv_tracepoint_state *ret) hv_must_use;

/* Sets *RET to whether S is still current, except for the bytes of sites and calls. For use in a
 * hold: reads only known addresses and does not allocate. */
struct hv_err *hv_tracepoint_state_is_same(const struct hv_kernel *k,
					   const struct hv_tracepoint_layout *layout,
					   const struct hv_tracepoint *tp,
					   const struct hv_tracepoint_state *s,
					   bool *ret) hv_must_use;
void hv_tracepoint_state_deinit(struct hv_tracepoint_state *s);

/* Reads the struct tracepoint at AT, without reg and unreg. */
struct hv_err *hv_tracepoint_at(const struct hv_kernel *k,
				const struct hv_tracepoint_layout *layout, struct hv_gva at,
				struct hv_tracepoint *ret) hv_must_use;

/* Returns in *RET the name of a lock that is taken and protects tracepoints, static keys or code,
 * or NULL if all are free. */
struct hv_err *hv_tracepoints_locked(const struct hv_kernel *k,
				     const struct hv_tracepoint_layout *layout,
				     const char **ret) hv_must_use;
