/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The calls in kernel code that hvtrace redirects to record an event (docs/users/events.md):
 * - An event's callback calls trace_event_buffer_reserve(), fills the reserved space, and calls
 *   trace_event_buffer_commit(). The compiler or the kernel's macros can split parts of the
 *   callback into functions with similar names.
 * - The functions that add a callback to a tracepoint or remove one pass the replaced array of
 *   callbacks to call_rcu(), call_rcu_sched() or call_srcu(), which frees it when it is no longer
 *   in use.
 *
 * Modules have separate callbacks. All input is untrusted: see kernel/code/text_search.h.
 * tracer/hooks/kernel_calls.h redirects the calls; catalogue.h lists the events. */
#pragma once

#include "base/addr.h"
#include "base/err.h"
#include "kernel/code/text_search.h"

struct hv_module;

struct hv_callback_call {
	const char *callback; /* the callback's name, CALLBACK_LEN bytes; borrowed from the core
			      kernel's symbols or from the list's names */
	size_t callback_len;
	struct hv_call call;
	bool commits; /* a call of commit; otherwise of reserve */
};

struct hv_callback_calls {
	struct hv_callback_call *list; /* owned, sorted by callback name */
	size_t nr;
	char *names; /* owned; NULL: they are borrowed */
};

/* Finds the calls in all callbacks of the core kernel. Fails with ENOENT if the kernel lacks the
 * function. */
struct hv_err *hv_callback_calls_read(const struct hv_kernel *k,
				      struct hv_callback_calls *ret) hv_must_use;
/* Like hv_callback_calls_read(), for all callbacks of MODULE, one of k->modules. */
struct hv_err *hv_callback_calls_read_module(const struct hv_kernel *k,
					     const struct hv_module *module,
					     struct hv_callback_calls *ret) hv_must_use;
void hv_callback_calls_deinit(struct hv_callback_calls *c);

/* Finds the calls of the callback at CALLBACK, in the core kernel or in the module that C was read
 * from: *RET_NR calls starting at *RET. If several callbacks have the same name, the result
 * includes the calls of all of them. If the callback only jumps to an identical callback, the
 * result is that callback's calls. Fails with EOPNOTSUPP and the reason if the callback's event
 * cannot be recorded. */
struct hv_err *hv_callback_calls_of(const struct hv_kernel *k, const struct hv_callback_calls *c,
				    struct hv_gva callback, const struct hv_callback_call **ret,
				    size_t *ret_nr) hv_must_use;

/* Returns the addresses that a call of FUNCTION may target: the function, and the code before it
 * that the kernel uses to count calls. */
struct hv_gva_range hv_callback_call_targets(struct hv_gva function);

struct hv_release_calls {
	struct hv_calls calls;
	struct hv_gva function; /* the function that they call */
	/* Number of the argument with the address of the struct rcu_head, from 0. */
	unsigned head_argument;
	/* The calls of OTHER_FUNCTION that free arrays of tracepoints whose callbacks may sleep;
	 * the first argument is the struct rcu_head. Empty: the calls above free these arrays,
	 * too. */
	struct hv_calls others;
	struct hv_gva other_function;
	bool has_unknown; /* there are such calls, but some may be missing */
};

/* Finds the calls that free an array of callbacks. Fails with EOPNOTSUPP and the reason if some may
 * be missing. */
struct hv_err *hv_release_calls_read(const struct hv_kernel *k,
				     struct hv_release_calls *ret) hv_must_use;
void hv_release_calls_deinit(struct hv_release_calls *c);

/* Kernel functions and structure members that hvtrace's code in the guest needs for trace events:
 * the functions it replaces, and the members it shares with callbacks. */
struct hv_event_symbols {
	struct hv_gva reserve;	     /* trace_event_buffer_reserve() */
	struct hv_gva commit;	     /* trace_event_buffer_commit() */
	struct hv_gva release;	     /* frees the array of a tracepoint's callbacks later */
	struct hv_gva release_other; /* like release, for callbacks that may sleep; 0: the same
					function */
	/* Offsets in struct trace_event_buffer, which a callback has on its stack. */
	uint32_t buffer_file, buffer_event, buffer_entry;
	/* In struct task_struct: a u32 with architecture-specific flags for system calls of another
	 * ABI, or one where these flags are always 0. */
	uint32_t task_status;
};

/* RELEASE and RELEASE_OTHER come from hv_release_calls. Fails with ENOENT and the reason if events
 * of this kernel cannot be recorded. */
struct hv_err *hv_event_symbols_find(const struct hv_kernel *k, struct hv_gva release,
				     struct hv_gva release_other,
				     struct hv_event_symbols *ret) hv_must_use;
