/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chains: code in the region for sites that the guest's own tracers use. Such a site called a
 * trampoline of the guest. It is made to call a chain instead, which calls one of our trampolines
 * and then jumps to the guest's (docs/internals/trampolines.md). There is one chain for each pair
 * of our trampoline and the guest's. If the function has actions, the chain jumps to the action
 * group's entry, and the action group continues at a second chain.
 *
 * kernel/sites/ftrace_users.h explains the guest's trampolines, site_trampolines.h changes sites.
 * One thread. */
#pragma once

#include "base/addr.h"
#include "base/err.h"

struct hv_chains;
struct hv_ftrace_users;
struct hv_journal_entry;
struct hv_tracee;

/* Borrows T. */
struct hv_chains *hv_chains_new(struct hv_tracee *t);
void hv_chains_free(struct hv_chains *c);

/* Chooses the chain that continues at TARGET, for a site that would call TRAMPOLINE if the guest
 * did not use it, or for an action group that would continue at TRAMPOLINE (0: nowhere). Returns
 * false if TRAMPOLINE has none, TARGET is in the region or out of reach, or there is no room.
 * hv_chains_write() must precede the use of the chain. */
bool hv_chains_choose(struct hv_chains *c, struct hv_gva trampoline, struct hv_gva target,
		      struct hv_gva *ret);
/* Writes the chains that were chosen since the last call. */
struct hv_err *hv_chains_write(struct hv_chains *c) hv_must_use;
/* Returns whether AT is a chain. *RET_TRAMPOLINE and *RET_TARGET are as for hv_chains_choose(). */
bool hv_chains_at(const struct hv_chains *c, struct hv_gva at, struct hv_gva *ret_trampoline,
		  struct hv_gva *ret_target);

/* Sets *RET to whether E, an entry of an untrusted journal, is a site that calls the region, and the
 * journal would restore the call of a trampoline of the guest that USERS explain. The site's bytes
 * become E's new ones. */
struct hv_err *hv_chains_are_ours(const struct hv_tracee *t, const struct hv_ftrace_users *users,
				  struct hv_journal_entry *e, bool *ret) hv_must_use;
