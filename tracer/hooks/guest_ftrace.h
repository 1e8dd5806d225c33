/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the guest's own ftrace work on patched sites. Before it changes a site, ftrace reads it and
 * compares (ftrace_verify_code); if the bytes are not as expected, it warns and disables itself.
 * While sites call our trampolines, ftrace reads through a trampoline (arch/x86_64/ftrace_reader.S) that
 * returns the original bytes. If ftrace then writes to the site, the site belongs to the guest, and
 * hvtrace has lost it.
 *
 * site_trampolines.h changes sites. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/err.h"
#include "base/text.h"

struct hv_decode;
struct hv_journal_entry;
struct hv_kernel;
struct hv_tracee;
struct hv_guest_ftrace;

/* Adds to RET_REASONS why the guest's ftrace must not be used on traced functions; adds nothing if
 * it may. Changes nothing. Also reports reasons while the guest's sites call our trampolines. */
struct hv_err *hv_guest_ftrace_look(const struct hv_kernel *k,
				    struct hv_text *ret_reasons) hv_must_use;

/* Borrows T, and DECODE, which receives the callers of the trampoline. */
struct hv_guest_ftrace *hv_guest_ftrace_new(struct hv_tracee *t, struct hv_decode *decode);
void hv_guest_ftrace_free(struct hv_guest_ftrace *g);

/* Call this before the first site is changed. Does nothing if it was done already, or if the kernel
 * has no suitable call. In the latter case the guest's own ftrace must not be used on traced
 * functions (hv_guest_ftrace_is_patched). */
struct hv_err *hv_guest_ftrace_begin(struct hv_guest_ftrace *g) hv_must_use;
/* Call this after sites were restored. Restores the reader's calls if no site is patched any
 * longer. */
struct hv_err *hv_guest_ftrace_end_if_done(struct hv_guest_ftrace *g) hv_must_use;
bool hv_guest_ftrace_is_patched(const struct hv_guest_ftrace *g);
/* EBUSY: the guest's ftrace still reads through our trampoline. */
struct hv_err *hv_guest_ftrace_check_gone(const struct hv_guest_ftrace *g) hv_must_use;

/* Returns true if the guest's ftrace has read a site since the last call, and then again every
 * second for a while, because ftrace writes after it has read. Returns true at most once a second,
 * whatever the guest does. NOW_NS is the host's monotonic clock. */
bool hv_guest_ftrace_has_read(struct hv_guest_ftrace *g, uint64_t now_ns);
/* Removes from the journal the sites that the guest has taken over, and notes them as taken. Returns
 * their number. */
size_t hv_guest_ftrace_forget_taken(struct hv_guest_ftrace *g);

/* -- sites that the guest has taken ------------------------------------------------------------ */

/* A site is taken from the guest's write until hvtrace changes it again or no longer wants it. In
 * that time its calls are not seen. */

/* Returns true if the guest may have taken sites since the last call of
 * hv_guest_ftrace_forget_taken(): its ftrace has read a site since, or a short time before. Cheap;
 * call it every HV_REJOIN_NS, because sites are known to be ours until the last call that returned
 * false. NOW_NS is the host's monotonic clock. */
#define HV_REJOIN_NS 20000000ull
bool hv_guest_ftrace_may_write(struct hv_guest_ftrace *g, uint64_t now_ns);

/* Removes the site at AT, in memory at GPA, from the journal, and notes it as taken. */
void hv_guest_ftrace_take(struct hv_guest_ftrace *g, struct hv_gva at, struct hv_gpa gpa);

struct hv_unseen {
	size_t nr_now;	     /* sites that are taken now */
	uint64_t nr;	     /* times that a site was taken and changed again */
	uint64_t total_ns;   /* upper limits of these times: their sum */
	uint64_t longest_ns; /* and the longest one */
};
/* Borrowed. */
const struct hv_unseen *hv_guest_ftrace_unseen(const struct hv_guest_ftrace *g);

bool hv_guest_ftrace_is_taken(struct hv_guest_ftrace *g, struct hv_gva at);
/* Notes that the taken site at AT calls hvtrace again. Returns the upper limit of the time in which
 * its calls were not seen. */
uint64_t hv_guest_ftrace_is_back(struct hv_guest_ftrace *g, struct hv_gva at, uint64_t now_ns);
/* Notes that the taken site at AT is still wanted. */
void hv_guest_ftrace_stays_taken(struct hv_guest_ftrace *g, struct hv_gva at);
/* Forgets the taken sites for which neither hv_guest_ftrace_is_back() nor
 * hv_guest_ftrace_stays_taken() was called since the last call of this function. */
void hv_guest_ftrace_settle(struct hv_guest_ftrace *g);

/* Sets *RET to whether E, an entry of an untrusted journal, is a call through which the guest's
 * ftrace now reads with our trampoline, and the journal would restore the call of the kernel's own
 * function. */
struct hv_err *hv_guest_ftrace_is_ours(const struct hv_guest_ftrace *g, struct hv_journal_entry *e,
				       bool *ret) hv_must_use;
