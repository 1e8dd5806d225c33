/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Redirects direct calls and jumps in the kernel's code, other than sites, to a stub, and
 * recognises them afterwards. The stub acts like the original function for its caller.
 *
 * kernel/code/text_search.h finds calls, yield.h and others decide when to change them, patcher/
 * writes. One thread. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "kernel/code/text_search.h"
#include "patcher/patcher.h"

struct hv_tracee;

/* Plans the change that makes CALL lead to TO. *RET_PLANNED is false, and *RET unchanged, if the
 * guest has changed the code, if the instruction crosses a page so that no single write can change
 * it, or if TO is out of reach. */
struct hv_err *hv_redirect_plan(const struct hv_tracee *t, const struct hv_call *call,
				struct hv_gva to, enum hv_change_kind kind, struct hv_change *ret,
				bool *ret_planned) hv_must_use;

/* *RET: whether E, an entry of an untrusted journal, is a redirected call: it leads into the range
 * of T now, and the journal would make it lead into FUNCTIONS with the same instruction. The bytes
 * in the guest become E's new ones. */
struct hv_err *hv_redirect_is_ours(const struct hv_tracee *t, struct hv_gva_range functions,
				   struct hv_journal_entry *e, bool *ret) hv_must_use;
