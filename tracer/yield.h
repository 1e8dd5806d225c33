/* Getting out of the way of the guest's own ftrace. Before it changes a site it reads it and
 * compares (ftrace_verify_code); what it does not expect makes it warn and switch itself off. While
 * sites call our stubs it reads by one of ours (arch/x86_64/yield.S), which shows it what stood
 * there: what it then writes is the guest's own, and hvtrace has lost the site.
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

/* Why the guest's ftrace must not begin on what would be traced; nothing is added when it may.
 * Looks only: of a guest whose sites call us it finds that it must not. */
struct hv_err *hv_yield_look(const struct hv_kernel *k, struct hv_text *ret_reasons) hv_must_use;

/* Borrows T, and DECODE, which is told who calls the stub. */
struct hv_yield *hv_yield_new(struct hv_tracee *t, struct hv_decode *decode);
void hv_yield_free(struct hv_yield *y);

/* Before the first site is changed. Does nothing where it is done already, and where no such place
 * is found: there the guest's own ftrace must not begin on what is traced (hv_yield_stands). */
struct hv_err *hv_yield_begin(struct hv_yield *y) hv_must_use;
/* After sites were restored: ends it when that was the last. */
struct hv_err *hv_yield_end_if_done(struct hv_yield *y) hv_must_use;
bool hv_yield_stands(const struct hv_yield *y);
/* EBUSY when the guest's ftrace reads by a stub of ours. */
struct hv_err *hv_yield_check_gone(const struct hv_yield *y) hv_must_use;

/* Whether the guest's ftrace has looked at a site since this was last asked, and again a second
 * later and so on for a while: it writes after it has looked. True once a second at most, whatever
 * the guest says. NOW_NS: the host's monotonic clock. */
bool hv_yield_looked(struct hv_yield *y, uint64_t now_ns);
/* Sites that the guest has taken go from the journal. Returns their number. */
size_t hv_yield_forget_taken(struct hv_yield *y);

/* Whether E, an entry of an untrusted journal, is of such a place: the guest's ftrace reads by our
 * stub there now, and the journal would have it read by the kernel's own function. */
struct hv_err *hv_yield_is_ours(const struct hv_yield *y, struct hv_journal_entry *e,
				bool *ret) hv_must_use;
