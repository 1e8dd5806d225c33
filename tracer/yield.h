/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lets the guest's own ftrace work on patched sites. Before it changes a site, it reads the site
 * and compares (ftrace_verify_code); if the bytes are not what it expects, it warns and switches
 * itself off. While sites call our stubs, it reads by a stub of ours (arch/x86_64/yield.S), which
 * shows it the bytes from before. What it then writes is the guest's own, and hvtrace has lost the
 * site.
 * Leaves to others: sites (site_stubs.h). One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

struct hv_decode;
struct hv_journal_entry;
struct hv_kernel;
struct hv_tracee;
struct hv_yield;

/* Adds to RET_REASONS why the guest's ftrace must not begin on traced functions; adds nothing if it
 * may. Changes nothing. If the sites of the guest call our stubs, it finds reasons. */
struct hv_err *hv_yield_look(const struct hv_kernel *k, struct hv_text *ret_reasons) hv_must_use;

/* Borrows T; and DECODE, which is told the callers of the stub. */
struct hv_yield *hv_yield_new(struct hv_tracee *t, struct hv_decode *decode);
void hv_yield_free(struct hv_yield *y);

/* Called before the first site is changed. Does nothing if it was done already. Does nothing either
 * if the kernel has no such place; then the guest's own ftrace must not begin on traced functions
 * (hv_yield_is_patched). */
struct hv_err *hv_yield_begin(struct hv_yield *y) hv_must_use;
/* Called after sites were restored. Restores the place if no site is patched any more. */
struct hv_err *hv_yield_end_if_done(struct hv_yield *y) hv_must_use;
bool hv_yield_is_patched(const struct hv_yield *y);
/* EBUSY: the guest's ftrace reads by a stub of ours. */
struct hv_err *hv_yield_check_gone(const struct hv_yield *y) hv_must_use;

/* Returns whether the guest's ftrace has read a site since the last call, and again each second for
 * a while, since ftrace writes after it has read. True once a second at most, whatever the guest
 * does. NOW_NS: the host's monotonic clock. */
bool hv_yield_looked(struct hv_yield *y, uint64_t now_ns);
/* Removes sites that the guest has taken from the journal. Returns their number. */
size_t hv_yield_forget_taken(struct hv_yield *y);

/* *RET: E, an entry of an untrusted journal, is about such a place: the guest's ftrace reads by our
 * stub there now, and the journal would restore the call of the kernel's own function. */
struct hv_err *hv_yield_is_ours(const struct hv_yield *y, struct hv_journal_entry *e,
				bool *ret) hv_must_use;
