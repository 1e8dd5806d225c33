/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Redirecting calls: makes a direct call or jump in the kernel's code, which no site is, lead to a
 * stub of ours, and recognises it afterwards. The stub does what the caller expects of the function
 * that it called before.
 * Leaves to others: finding calls (kernel/calls.h), when they are changed and put back (yield.h),
 * writing (patcher/). */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "kernel/calls.h"
#include "patcher/patcher.h"

struct hv_tracee;

/* Plans the change that makes CALL lead to TO. *RET_PLANNED false, and *RET untouched: the guest
 * has other code there by now, or the instruction lies in two pages, so that no single write can
 * change it, or TO is out of its reach. */
struct hv_err *hv_redirect_plan(const struct hv_tracee *t, const struct hv_call *call,
				struct hv_gva to, enum hv_change_kind kind, struct hv_change *ret,
				bool *ret_planned) hv_must_use;

/* *RET: E, an entry of an untrusted journal, is about a redirected call: it leads into the range of
 * T now, and the journal would make it lead into FUNCTIONS, by the same instruction. The bytes that
 * are there become E's new ones. */
struct hv_err *hv_redirect_is_ours(const struct hv_tracee *t, struct hv_gva_range functions,
				   struct hv_journal_entry *e, bool *ret) hv_must_use;
