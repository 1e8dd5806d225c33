/* The stubs in a guest: their code and parameters, and where each of them begins.
 * Leaves to others: which site calls which (site_stubs.h), what they do (arch/). */
#pragma once

#include "arch/arch.h"
#include "base/addr.h"
#include "base/err.h"

struct hv_tracee;

/* What a site calls. The kinds of a graph differ in what their own call means for the calls that
 * it makes; graph options say which calls are recorded. */
enum hv_stub {
	HV_STUB_NONE = 0,
	HV_STUB_FUNCTION = 1,
	HV_STUB_FUNCTION_STACK, /* likewise, and who called it; needs hv_callers_prepare */
	HV_STUB_GRAPH,		/* call and return */
	HV_STUB_GRAPH_ROOT,	/* likewise, and with HV_GRAPH_SUBTREE what it calls is recorded:
				   a function of set_graph_function */
	HV_STUB_GRAPH_NOTRACE,	/* neither it nor what it calls: a function of set_graph_notrace */
	HV_STUB_ACTIONS,	/* nothing but actions; never wanted */
	/* With any of the others: calls are counted and timed, too (call_counts.h). */
	HV_STUB_PROFILED = 0x80,
};

/* Parameters of a kernel whose range is known; before anything is mapped. */
void hv_stubs_set_params(const struct hv_tracee *t);
/* The stubs' code, which returns as the kernel does now. A vCPU that is in it goes on rightly: only
 * the way out changes. */
struct hv_err *hv_stubs_place(struct hv_tracee *t) hv_must_use;

/* What a site calls for STUB, enum hv_stub with or without HV_STUB_PROFILED, and for ROLE, one of
 * which is not none. */
struct hv_gva hv_stubs_call(const struct hv_tracee *t, unsigned stub, enum hv_call_role role);
/* The stub that begins at AT, HV_STUB_PROFILED included; HV_STUB_NONE: none. */
unsigned hv_stubs_called_at(const struct hv_tracee *t, struct hv_gva at);
/* What a site with actions calls: the entry of SLOT, below HV_NR_SLOTS. */
struct hv_gva hv_stubs_action(const struct hv_tracee *t, unsigned slot);
/* What the guest's ftrace reads sites by: entry NR, up to HV_NR_YIELDS, where the last one ends. */
struct hv_gva hv_stubs_yield(const struct hv_tracee *t, size_t nr);
/* What returns from traced calls of a graph go through. */
struct hv_gva hv_stubs_handler(const struct hv_tracee *t);
