/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The calls in kernel code that hvtrace redirects to record an event (docs/users/events.md):
 * - An event's probe calls trace_event_buffer_reserve(), fills the reserved space, and calls
 *   trace_event_buffer_commit(). The compiler or the kernel's macros can split parts of the probe
 *   into functions with similar names.
 * - The functions that add a probe to a tracepoint or remove one pass the replaced array of probes
 *   to call_rcu() or call_srcu(), which frees it when it is no longer in use.
 *
 * Modules have separate probes. All input is untrusted: see kernel/code/text_search.h.
 * tracer/hooks/kernel_calls.h redirects the calls; catalogue.h lists the events. */
#pragma once

#include "base/addr.h"
#include "base/err.h"
#include "kernel/code/text_search.h"

struct hv_module;

struct hv_probe_call {
	const char *probe; /* the probe's name, PROBE_LEN bytes; borrowed from the core kernel's
			      symbols or from the list's names */
	size_t probe_len;
	struct hv_call call;
	bool commits; /* a call of commit; otherwise of reserve */
};

struct hv_probe_calls {
	struct hv_probe_call *list; /* owned, sorted by probe name */
	size_t nr;
	char *names; /* owned; NULL: they are borrowed */
};

/* Finds the calls in all probes of the core kernel. Fails with ENOENT if the kernel lacks the
 * function. */
struct hv_err *hv_probe_calls_read(const struct hv_kernel *k,
				   struct hv_probe_calls *ret) hv_must_use;
/* Like hv_probe_calls_read(), for all probes of MODULE, one of k->modules. */
struct hv_err *hv_probe_calls_read_module(const struct hv_kernel *k, const struct hv_module *module,
					  struct hv_probe_calls *ret) hv_must_use;
void hv_probe_calls_deinit(struct hv_probe_calls *c);

/* Finds the calls of the probe at PROBE, in the core kernel or in the module that C was read from:
 * *RET_NR calls starting at *RET. If several probes have the same name, the result includes the
 * calls of all of them. If the probe only jumps to an identical probe, the result is that probe's
 * calls. Fails with EOPNOTSUPP and the reason if the probe's event cannot be recorded. */
struct hv_err *hv_probe_calls_of(const struct hv_kernel *k, const struct hv_probe_calls *c,
				 struct hv_gva probe, const struct hv_probe_call **ret,
				 size_t *ret_nr) hv_must_use;

/* Returns the addresses that a call of FUNCTION may target: the function, and the code before it
 * that the kernel uses to count calls. */
struct hv_gva_range hv_probe_call_targets(struct hv_gva function);

struct hv_release_calls {
	struct hv_calls calls;
	struct hv_gva function; /* the function that they call */
	/* Number of the argument with the address of the struct rcu_head, from 0. */
	unsigned head_argument;
	/* The calls of OTHER_FUNCTION that free arrays of tracepoints whose probes may sleep; the
	 * first argument is the struct rcu_head. Empty: the calls above free these arrays, too. */
	struct hv_calls others;
	struct hv_gva other_function;
	bool has_unknown; /* there are such calls, but some may be missing */
};

/* Finds the calls that free an array of probes. Fails with EOPNOTSUPP and the reason if some may be
 * missing. */
struct hv_err *hv_release_calls_read(const struct hv_kernel *k,
				     struct hv_release_calls *ret) hv_must_use;
void hv_release_calls_deinit(struct hv_release_calls *c);

/* Kernel functions and structure members that hvtrace's code in the guest needs for trace events:
 * the functions it replaces, and the members it shares with probes. */
struct hv_event_places {
	struct hv_gva reserve; /* trace_event_buffer_reserve() */
	struct hv_gva commit;  /* trace_event_buffer_commit() */
	struct hv_gva release; /* frees the array of a tracepoint's probes later */
	struct hv_gva
		release_other; /* like release, for probes that may sleep; 0: the same function */
	/* Offsets in struct trace_event_buffer, which a probe has on its stack. */
	uint32_t buffer_file, buffer_event, buffer_entry;
	/* In struct task_struct: a u32 with architecture-specific flags for system calls of another
	 * ABI. */
	uint32_t task_status;
};

/* RELEASE and RELEASE_OTHER come from hv_release_calls. Fails with ENOENT and the reason if events
 * of this kernel cannot be recorded. */
struct hv_err *hv_event_places_find(const struct hv_kernel *k, struct hv_gva release,
				    struct hv_gva release_other,
				    struct hv_event_places *ret) hv_must_use;
