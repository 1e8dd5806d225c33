/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stubs in a guest: writes their code and parameters, computes their addresses, and writes the
 * landings that lead to them.
 *
 * site_stubs.h decides which site calls which stub; arch/ contains their code. */
#pragma once

#include <stddef.h>

#include "arch/arch.h"
#include "base/addr.h"
#include "base/err.h"
#include "vmm/guest.h"

struct hv_tracee;

/* The stub that a site calls. The graph kinds differ in how they affect the calls inside the
 * function. Graph options select the calls to record. */
enum hv_stub {
	HV_STUB_NONE = 0,
	HV_STUB_SECTION_FUNCTION, /* HV_STUB_FUNCTION, but only in a section (section_tracer.h) */
	HV_STUB_FUNCTION,
	HV_STUB_FUNCTION_STACK, /* also records the callers; needs hv_callers_prepare */
	HV_STUB_SECTION_GRAPH,	/* like HV_STUB_GRAPH, but only in a section */
	HV_STUB_GRAPH,		/* call and return */
	HV_STUB_GRAPH_ROOT,	/* with HV_GRAPH_SUBTREE also records the function's callees:
				   set_graph_function */
	HV_STUB_GRAPH_NOTRACE,	/* records neither the call nor its callees: set_graph_notrace */
	HV_STUB_FUNCTION_AND_GRAPH, /* first HV_STUB_FUNCTION's record, then HV_STUB_GRAPH */
	HV_STUB_ACTIONS,	    /* only has actions; never wanted */
	/* Combined with one of the above, in WANTED only: a site that calls no stub yet is not
	 * changed until it is wanted without this flag. A site that calls a stub keeps it, without
	 * HV_STUB_PROFILED. */
	HV_STUB_LATER = 0x40,
	/* Combined with any of the others: calls are also counted and timed (call_counts.h). */
	HV_STUB_PROFILED = 0x80,
};

/* The first stub that replaces return addresses. */
#define HV_STUB_FIRST_GRAPH HV_STUB_SECTION_GRAPH

/* Returns why guests of ARCH cannot be traced (there are no stubs for it), or NULL. */
struct hv_err *hv_stubs_refusal(const struct hv_arch *arch) hv_must_use;

/* Returns whether the stubs of ARCH include STUB (enum hv_stub, with or without
 * HV_STUB_PROFILED). */
bool hv_stubs_have(const struct hv_arch *arch, unsigned stub);
/* EOPNOTSUPP, naming the feature that needs STUB: ARCH does not have it. STUB may be none or wanted
 * later. */
struct hv_err *hv_stubs_check(const struct hv_arch *arch, unsigned stub) hv_must_use;
/* EOPNOTSUPP: ARCH has no stubs for actions, or not for all of DOES (HV_SLOT_*). */
struct hv_err *hv_stubs_check_actions(const struct hv_arch *arch, uint32_t does) hv_must_use;

/* Initializes everything in the region of T that the stubs read and write, except return stacks.
 * The range of T must be known, and nothing may be mapped yet. */
void hv_stubs_prepare(const struct hv_tracee *t);
/* Initializes the return stacks, an eighth of the region. Call it once, before a site first calls a
 * stub that adds frames. */
void hv_stubs_prepare_stacks(const struct hv_tracee *t);
/* Writes the stubs' code. It returns in the way that the kernel uses now, and adds to memory with
 * locked instructions if the kernel is preemptible now or was at an earlier write. A vCPU may be
 * executing the code: only the return and these locks change. ERANGE: a value of this kernel does
 * not fit into the code. */
struct hv_err *hv_stubs_place(struct hv_tracee *t) hv_must_use;
/* Returns whether the kernel is preemptible now but the code was written without locks. */
bool hv_stubs_lack_locks(const struct hv_tracee *t);

/* Returns the address that a site calls for STUB (enum hv_stub, with or without HV_STUB_PROFILED)
 * and ROLE, which must not both be none. */
struct hv_gva hv_stubs_call(const struct hv_tracee *t, unsigned stub, enum hv_call_role role);
/* Returns the stub that begins at AT, including HV_STUB_PROFILED, or HV_STUB_NONE. */
unsigned hv_stubs_called_at(const struct hv_tracee *t, struct hv_gva at);
/* Returns the address that a site with actions calls: the entry of SLOT, which is below
 * HV_NR_SLOTS. */
struct hv_gva hv_stubs_action(const struct hv_tracee *t, unsigned slot);
/* Like hv_stubs_action(), for a slot with HV_SLOT_ALL_REGS. */
struct hv_gva hv_stubs_entry_regs(const struct hv_tracee *t, unsigned slot);
/* Returns where that entry continues if its slot has HV_SLOT_RETURN. */
struct hv_gva hv_stubs_probed(const struct hv_tracee *t, unsigned slot);
/* Returns the kind (HV_KIND_*, HV_FRAME_*) of calls that go to hv_stubs_call(STUB, ROLE). Not for
 * stubs that record stacks or only sections. */
uint32_t hv_stubs_kind(unsigned stub, enum hv_call_role role);
/* Returns entry NR of the stub through which the guest's ftrace reads sites; for HV_NR_YIELDS, the
 * end of the last entry. */
struct hv_gva hv_stubs_ftrace_reader(const struct hv_tracee *t, size_t nr);
/* Returns the stub that the kernel calls before it hibernates; 0: not on this architecture. */
struct hv_gva hv_stubs_hibernation(const struct hv_tracee *t);
/* The function at which the stub for renames (kernel_calls.h) continues; some kernels lack it. */
#define HV_RENAMES_CALLEE "perf_event_comm"
/* Returns the stub that the kernel calls after it has written a task's name (kernel_calls.h); 0:
 * none. */
struct hv_gva hv_stubs_rename(const struct hv_tracee *t);
/* Returns the handler to which traced functions of a graph return. */
struct hv_gva hv_stubs_handler(const struct hv_tracee *t);

/* -- landings ---------------------------------------------------------------------------------- */

/* Landings: code that jumps to a stub, for sites that cannot call the stub itself. There is one per
 * stub, in the part of the region for detours, which these architectures do not have. They are
 * needed if
 *
 *   - call targets must be at a fixed offset in a page (entry_bytes of struct hv_reach; riscv64).
 *     Each landing is then at that offset, and the function tracer's stub needs none;
 *   - modules cannot reach the stubs (arm64). That part of the region is then mapped a second
 *     time, near the modules (hv_tracee.landings), and only sites out of reach use landings.
 *
 * patcher/mapping.h chooses the second mapping; returns.h checks for tasks in landings. */

/* STUB is the address that sites in reach call. Returns the address that the site at AT calls: STUB
 * itself, or its landing in the second mapping. If AT reaches neither, encode_call() of the result
 * fails. */
struct hv_gva hv_landing_from(const struct hv_tracee *t, struct hv_gva at, struct hv_gva stub);
/* Returns the address that sites in reach call instead of TARGET: TARGET itself, unless it is a
 * landing in the second mapping. */
struct hv_gva hv_landing_leads_to(const struct hv_tracee *t, struct hv_gva target);
