/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trampolines in a guest: writes their code and parameters, computes their addresses, and
 * writes the veneers that lead to them.
 *
 * site_trampolines.h decides which site calls which trampoline; arch/ contains their code. */
#pragma once

#include <stddef.h>

#include "arch/arch.h"
#include "base/addr.h"
#include "base/err.h"
#include "vmm/guest.h"

struct hv_kernel;
struct hv_tracee;

/* The trampoline that a site calls. The graph kinds differ in how they affect the calls inside the
 * function. Graph options select the calls to record. */
enum hv_trampoline {
	HV_TRAMPOLINE_NONE = 0,
	HV_TRAMPOLINE_SECTION_FUNCTION, /* HV_TRAMPOLINE_FUNCTION, but only in a section
					   (section_tracer.h) */
	HV_TRAMPOLINE_FUNCTION,
	HV_TRAMPOLINE_FUNCTION_STACK, /* also records the callers; needs hv_callers_prepare */
	HV_TRAMPOLINE_SECTION_GRAPH,  /* like HV_TRAMPOLINE_GRAPH, but only in a section */
	HV_TRAMPOLINE_GRAPH,	      /* call and return */
	/* With HV_GRAPH_SUBTREE, also records the function's callees: set_graph_function. */
	HV_TRAMPOLINE_GRAPH_ROOT,
	HV_TRAMPOLINE_GRAPH_NOTRACE,	  /* neither the call nor its callees: set_graph_notrace */
	HV_TRAMPOLINE_FUNCTION_AND_GRAPH, /* first HV_TRAMPOLINE_FUNCTION's record, then
					     HV_TRAMPOLINE_GRAPH */
	HV_TRAMPOLINE_ACTIONS,		  /* only has actions; never wanted */
	/* Combined with one of the above, in WANTED only: a site that calls no trampoline yet is
	 * not changed until it is wanted without this flag. A site that calls a trampoline keeps
	 * it, without HV_TRAMPOLINE_PROFILED. */
	HV_TRAMPOLINE_LATER = 0x40,
	/* Combined with any of the others: calls are also counted and timed (call_counts.h). */
	HV_TRAMPOLINE_PROFILED = 0x80,
};

/* The first trampoline that replaces return addresses. */
#define HV_TRAMPOLINE_FIRST_GRAPH HV_TRAMPOLINE_SECTION_GRAPH

/* Returns why guests of ARCH cannot be traced (there are no trampolines for it), or NULL. */
struct hv_err *hv_trampolines_refusal(const struct hv_arch *arch) hv_must_use;

/* Returns whether sites of K can call TRAMPOLINE (enum hv_trampoline, with or without
 * HV_TRAMPOLINE_PROFILED): K's architecture has it, and so has a kernel without ftrace. */
bool hv_trampolines_have(const struct hv_kernel *k, unsigned trampoline);
/* EOPNOTSUPP, naming the feature that needs TRAMPOLINE: K does not have it. TRAMPOLINE may be none
 * or wanted later. */
struct hv_err *hv_trampolines_check(const struct hv_kernel *k, unsigned trampoline) hv_must_use;
/* EOPNOTSUPP: K has no trampolines for actions, or not for all of DOES (HV_DOES_*). */
struct hv_err *hv_trampolines_check_actions(const struct hv_kernel *k, uint32_t does) hv_must_use;

/* Initializes everything in the region of T that the trampolines read and write, except return
 * stacks. The range of T must be known, and nothing may be mapped yet. */
void hv_trampolines_prepare(const struct hv_tracee *t);
/* Initializes the return stacks, an eighth of the region. Call it once, before a site first calls a
 * trampoline that adds frames. */
void hv_trampolines_prepare_stacks(const struct hv_tracee *t);
/* Writes the trampolines' code. It returns in the way that the kernel uses now, and adds to memory
 * with locked instructions if the kernel is preemptible now or was at an earlier write. A vCPU may
 * be executing the code: only the return and these locks change. ERANGE: a value of this kernel
 * does not fit into the code. */
struct hv_err *hv_trampolines_link(struct hv_tracee *t) hv_must_use;
/* Returns whether the kernel is preemptible now but the code was written without locks. */
bool hv_trampolines_lack_locks(const struct hv_tracee *t);

/* Returns the address that a site calls for TRAMPOLINE (enum hv_trampoline, with or without
 * HV_TRAMPOLINE_PROFILED) and ROLE, which must not both be none. */
struct hv_gva hv_trampolines_call(const struct hv_tracee *t, unsigned trampoline,
				  enum hv_call_role role);
/* Returns the trampoline that begins at AT, including HV_TRAMPOLINE_PROFILED, or
 * HV_TRAMPOLINE_NONE. */
unsigned hv_trampolines_called_at(const struct hv_tracee *t, struct hv_gva at);
/* Returns whether TRAMPOLINE replaces the return address of its function's caller. TRAMPOLINE is one
 * of hv_trampolines_call() or hv_trampolines_probed(). */
bool hv_trampolines_replace_return(const struct hv_tracee *t, struct hv_gva trampoline);
/* Sets *RET to the chain for sites that would call TRAMPOLINE, or continue there after their actions,
 * if the guest did not use them, and called TARGET, a trampoline of the guest. TRAMPOLINE may be 0,
 * for actions without one. Returns false if TRAMPOLINE has no chain. */
bool hv_trampolines_chain(const struct hv_tracee *t, struct hv_gva trampoline, struct hv_gva target,
			  struct hv_chain *ret);
/* Writes the trampolines' code, unless that was done, so that those of a chain with a kind can
 * return to it. */
struct hv_err *hv_trampolines_link_chains(struct hv_tracee *t) hv_must_use;
/* Returns the address that a site with actions calls: the entry of GROUP, which is below
 * HV_NR_ACTION_GROUPS. */
struct hv_gva hv_trampolines_action(const struct hv_tracee *t, unsigned group);
/* Like hv_trampolines_action(), for an action group with HV_DOES_ALL_REGS. */
struct hv_gva hv_trampolines_entry_regs(const struct hv_tracee *t, unsigned group);
/* Returns where the entry of GROUP continues if the action group has HV_DOES_RETURN. */
struct hv_gva hv_trampolines_probed(const struct hv_tracee *t, unsigned group);
/* Returns the kind (HV_KIND_*, HV_FRAME_*) of calls that go to hv_trampolines_call(TRAMPOLINE,
 * ROLE). Not for trampolines that record stacks or only sections. */
uint32_t hv_trampolines_kind(unsigned trampoline, enum hv_call_role role);
/* Returns entry NR of the trampoline through which the guest's ftrace reads sites; for
 * HV_NR_FTRACE_READERS, the end of the last entry. */
struct hv_gva hv_trampolines_ftrace_reader(const struct hv_tracee *t, size_t nr);
/* Returns the trampoline that the kernel calls before it hibernates; 0: not on this
 * architecture. */
struct hv_gva hv_trampolines_hibernation(const struct hv_tracee *t);
/* The function at which the trampoline for renames (kernel_calls.h) continues; some kernels lack
 * it. */
#define HV_RENAMES_CALLEE "perf_event_comm"
/* Returns the trampoline that the kernel calls after it has written a task's name (kernel_calls.h);
 * 0: none. */
struct hv_gva hv_trampolines_rename(const struct hv_tracee *t);
/* Returns the handler to which traced functions of a graph return. */
struct hv_gva hv_trampolines_handler(const struct hv_tracee *t);

/* -- veneers ----------------------------------------------------------------------------------- */

/* Veneers: code that jumps to a trampoline, for sites that cannot call the trampoline itself. There
 * is one per trampoline, in the part of the region for detours, which these architectures do not
 * have. They are needed if
 *
 *   - call targets must be at a fixed offset in a page (entry_bytes of struct hv_reach; riscv64).
 *     Each veneer is then at that offset, and the function tracer's trampoline needs none;
 *   - modules cannot reach the trampolines (arm64). That part of the region is then mapped a second
 *     time, near the modules (hv_tracee.veneers), and only sites out of reach use veneers.
 *
 * patcher/mapping.h chooses the second mapping; returns.h checks for tasks in veneers. */

/* TRAMPOLINE is the address that sites in reach call. Returns the address that the site at AT
 * calls: TRAMPOLINE itself, or its veneer in the second mapping. If AT reaches neither,
 * encode_call() of the result fails. */
struct hv_gva hv_veneer_from(const struct hv_tracee *t, struct hv_gva at, struct hv_gva trampoline);
/* Returns the address that sites in reach call instead of TARGET: TARGET itself, unless it is a
 * veneer in the second mapping. */
struct hv_gva hv_veneer_leads_to(const struct hv_tracee *t, struct hv_gva target);
