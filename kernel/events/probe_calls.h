/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The calls in the kernel's code through which an event is recorded from outside
 * (docs/users/events.md):
 *
 * - An event's probe calls trace_event_buffer_reserve() for room, fills the room, and calls
 *   trace_event_buffer_commit(). Part of the probe may be in functions of similar names, which the
 *   compiler or the kernel's macros have split off.
 * - The functions that add a probe to a tracepoint and remove it give the array of probes that they
 *   replace to call_rcu() or call_srcu(), to be freed when nobody uses it any more.
 *
 * Each module has probes of its own. All of it is hostile: see kernel/calls.h.
 * Leaves to others: making these calls lead to stubs (tracer/redirect.h), which events there are
 * (catalogue.h). */
#pragma once

#include "kernel/calls.h"

struct hv_module;

struct hv_probe_call {
	const char *probe; /* of PROBE_LEN bytes: the probe's name; borrowed from the core kernel's
			    * symbols, or of the list's names */
	size_t probe_len;
	struct hv_call call;
	bool commits; /* it is a call of commit */
};

struct hv_probe_calls {
	struct hv_probe_call *list; /* owned; by the names of probes */
	size_t nr;
	char *names; /* owned; NULL: they are borrowed */
};

/* Finds the calls of all probes of the core kernel. ENOENT: the kernel has no function of that
 * name. */
struct hv_err *hv_probe_calls_read(const struct hv_kernel *k,
				   struct hv_probe_calls *ret) hv_must_use;
/* Likewise of all probes of MODULE, one of k->modules. */
struct hv_err *hv_probe_calls_read_module(const struct hv_kernel *k, const struct hv_module *module,
					  struct hv_probe_calls *ret) hv_must_use;
void hv_probe_calls_deinit(struct hv_probe_calls *c);

/* Finds the calls of the probe that begins at PROBE, of the core kernel or of the module that C was
 * read of: the *RET_NR that begin with *RET. If several probes have one name, the calls of all of
 * them are found; if the probe jumps to an equal one, that one's. EOPNOTSUPP, with the reason: the
 * event of that probe cannot be recorded. */
struct hv_err *hv_probe_calls_of(const struct hv_kernel *k, const struct hv_probe_calls *c,
				 struct hv_gva probe, const struct hv_probe_call **ret,
				 size_t *ret_nr) hv_must_use;

/* The addresses to which a call of FUNCTION may lead: its own, and that of the code before it, by
 * which the kernel counts calls. */
struct hv_gva_range hv_probe_call_targets(struct hv_gva function);

struct hv_release_calls {
	struct hv_calls calls;
	struct hv_gva function; /* that they call */
	/* Which argument is the address of the struct rcu_head, counted from 0. */
	unsigned head_argument;
	/* Arrays of tracepoints whose probes may sleep are freed by these calls, of OTHER_FUNCTION,
	 * of which the struct rcu_head is the first argument; none: by the same as all others. */
	struct hv_calls others;
	struct hv_gva other_function;
	bool has_unknown; /* such calls are there, but it is not certain that all were found */
};

/* Finds the calls that free an array of probes. EOPNOTSUPP, with the reason: it is not certain that
 * these are all of them. */
struct hv_err *hv_release_calls_read(const struct hv_kernel *k,
				     struct hv_release_calls *ret) hv_must_use;
void hv_release_calls_deinit(struct hv_release_calls *c);
