/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the sites lead that the guest itself uses: its function tracers, kprobes, BPF programs and
 * livepatches. The kernel's own records explain each target:
 *
 *   - ftrace_caller and ftrace_regs_caller, which call several users of a site;
 *   - the trampoline of a struct ftrace_ops on ftrace_ops_list, for a single user;
 *   - the address that direct_functions has for the site: a direct call, such as the trampoline of a
 *     BPF program.
 *
 * sites.h reads which sites are in use; tracer/sites/chains.h continues at these targets. All data
 * comes from the guest and is untrusted. Source: kernel/trace/ftrace.c. */
#pragma once

#include "kernel/core/core.h"

struct hv_sites;

/* A trampoline that is called from any site. */
struct hv_ftrace_target {
	uint64_t at;
	/* Whether it replaces return addresses: perhaps, never, or as the kprobes at the site do. */
	enum { HV_RETURNS_UNKNOWN, HV_RETURNS_KEPT, HV_RETURNS_OF_KPROBES } returns;
};

struct hv_direct_call {
	uint64_t ip; /* address in the site's record */
	uint64_t target;
};

struct hv_ftrace_users {
	struct hv_ftrace_target *targets; /* owned; sorted */
	size_t nr_targets;
	struct hv_direct_call *directs; /* owned; sorted */
	size_t nr_directs, directs_cap;
	uint64_t *kprobes; /* owned; sorted addresses of those that may replace return addresses */
	size_t nr_kprobes, kprobes_cap;
	bool knows_kprobes;
};

/* The guest can change its records during the call, so a user that just comes or goes may be
 * missing. EINVAL: a list does not end, or is too long. *RET is unchanged on errors. */
struct hv_err *hv_ftrace_users_read(const struct hv_kernel_core *core,
				    struct hv_ftrace_users *ret) hv_must_use;
void hv_ftrace_users_deinit(struct hv_ftrace_users *u);

/* Returns whether the records explain that the site with address IP in its record calls TARGET. */
bool hv_ftrace_users_explain(const struct hv_ftrace_users *u, struct hv_gva ip,
			     struct hv_gva target);
/* Returns whether TARGET, which the records explain at IP, is known to leave the return address of
 * its caller as it is: direct calls, and the trampolines of function tracers, livepatches and
 * kprobes that only record the call. Those of kretprobes, fprobes and the guest's function_graph may
 * keep and replace that address. */
bool hv_ftrace_users_keep_returns(const struct hv_ftrace_users *u, struct hv_gva ip,
				  struct hv_gva target);

/* Sets *RET to the number of sites in use by the guest whose calls the records explain; 0 on
 * architectures without chains. */
struct hv_err *hv_ftrace_users_count(const struct hv_kernel_core *core,
				     const struct hv_sites *sites, size_t *ret) hv_must_use;
