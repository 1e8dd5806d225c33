/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stubs in a guest: writes their code and parameters, and knows where each of them begins.
 * Leaves to others: which site calls which (site_stubs.h), what they do (arch/). */
#pragma once

#include "arch/arch.h"
#include "base/addr.h"
#include "base/err.h"

struct hv_tracee;

/* What a site calls. The kinds of a graph differ in what their call means for the calls inside it.
 * Graph options say which calls are recorded. */
enum hv_stub {
	HV_STUB_NONE = 0,
	HV_STUB_SECTION_FUNCTION, /* as the next, but only in a section (section_tracer.h) */
	HV_STUB_FUNCTION,
	HV_STUB_FUNCTION_STACK, /* the same, and the callers; needs hv_callers_prepare */
	HV_STUB_SECTION_GRAPH,	/* as the next, but only in a section */
	HV_STUB_GRAPH,		/* call and return */
	HV_STUB_GRAPH_ROOT, /* the same, and with HV_GRAPH_SUBTREE also what the function calls: a
			       function of set_graph_function */
	HV_STUB_GRAPH_NOTRACE, /* neither this call nor what it calls is recorded: a function of
				  set_graph_notrace */
	HV_STUB_FUNCTION_AND_GRAPH, /* a record of HV_STUB_FUNCTION, then what HV_STUB_GRAPH does */
	HV_STUB_ACTIONS,	    /* only actions; never wanted */
	/* Together with one of the above, only wanted: a site that calls no stub yet is not changed
	 * before it is wanted without this flag. A site that calls a stub keeps it, without
	 * HV_STUB_PROFILED. */
	HV_STUB_LATER = 0x40,
	/* Together with any of the others: calls are counted and timed, too (call_counts.h). */
	HV_STUB_PROFILED = 0x80,
};

/* The first of those that replace return addresses. */
#define HV_STUB_FIRST_GRAPH HV_STUB_SECTION_GRAPH

/* Why guests of ARCH cannot be traced: there are no stubs for it. NULL: there are. */
struct hv_err *hv_stubs_refusal(const struct hv_arch *arch) hv_must_use;

/* Whether guests of ARCH, which have stubs, have STUB (enum hv_stub, with or without
 * HV_STUB_PROFILED). */
bool hv_stubs_have(const struct hv_arch *arch, unsigned stub);
/* EOPNOTSUPP with the name of what needs STUB, which may be none or wanted later: guests of ARCH
 * have none. */
struct hv_err *hv_stubs_check(const struct hv_arch *arch, unsigned stub) hv_must_use;
/* EOPNOTSUPP: guests of ARCH have no stubs of actions, or of some of DOES (HV_SLOT_*). */
struct hv_err *hv_stubs_check_actions(const struct hv_arch *arch, uint32_t does) hv_must_use;

/* Initializes everything in the region of T that the stubs read and write, but for return stacks.
 * The range of T is known. Nothing is mapped yet. */
void hv_stubs_prepare(const struct hv_tracee *t);
/* Initializes the return stacks, whose memory is an eighth of the region. Comes once, before a site
 * first calls a stub that adds frames. */
void hv_stubs_prepare_stacks(const struct hv_tracee *t);
/* Writes the stubs' code, which returns as the kernel does now, and locks what it adds if the
 * kernel preempts itself now or did when it was written before. A vCPU may be executing it: only
 * the way out and these locks change. ERANGE: a value of this kernel does not fit into the code. */
struct hv_err *hv_stubs_place(struct hv_tracee *t) hv_must_use;
/* Whether the kernel preempts itself now, and the code was not written for that. */
bool hv_stubs_lack_locks(const struct hv_tracee *t);

/* Returns the address that a site calls for STUB (enum hv_stub, with or without HV_STUB_PROFILED)
 * and ROLE, at least one of which is not none. */
struct hv_gva hv_stubs_call(const struct hv_tracee *t, unsigned stub, enum hv_call_role role);
/* Returns the stub that begins at AT, including HV_STUB_PROFILED; HV_STUB_NONE: none. */
unsigned hv_stubs_called_at(const struct hv_tracee *t, struct hv_gva at);
/* Returns the address that a site with actions calls: the entry of SLOT, which is below
 * HV_NR_SLOTS. */
struct hv_gva hv_stubs_action(const struct hv_tracee *t, unsigned slot);
/* Likewise if the slot has HV_SLOT_ALL_REGS. */
struct hv_gva hv_stubs_entry_regs(const struct hv_tracee *t, unsigned slot);
/* Returns where that entry goes on to if its slot has HV_SLOT_RETURN. */
struct hv_gva hv_stubs_probed(const struct hv_tracee *t, unsigned slot);
/* The kind (HV_KIND_*, HV_FRAME_*) of the calls that go to hv_stubs_call(STUB, ROLE). Stubs that
 * record stacks, or only sections, have none. */
uint32_t hv_stubs_kind(unsigned stub, enum hv_call_role role);
/* Returns entry NR of the stub by which the guest's ftrace reads sites; for NR HV_NR_YIELDS, the
 * end of the last entry. */
struct hv_gva hv_stubs_yield(const struct hv_tracee *t, size_t nr);
/* Returns what the kernel calls on its way to hibernate; 0: the architecture has none. */
struct hv_gva hv_stubs_hibernation(const struct hv_tracee *t);
/* Likewise after it has written a task's name (renames.h). */
struct hv_gva hv_stubs_rename(const struct hv_tracee *t);
/* Returns the handler, to which traced functions of a graph return. */
struct hv_gva hv_stubs_handler(const struct hv_tracee *t);
