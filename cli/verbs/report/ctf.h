/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints a trace in the Common Trace Format as text, with libbabeltrace2. */
#pragma once

#include "base/err.h"

/* Loads the plugins of libbabeltrace2, which are files. */
void report_ctf_prepare(void);
/* Prints a line for each event of the directory DIR, which the user calls PATH, to standard output,
 * sorted by time. EINVAL: it is no such trace, or it is damaged; the events before the damage were
 * printed. ENOTSUP: libbabeltrace2 is missing now or was missing at build time (report/ctf_none.c).
 * Ends without an error if the reader of standard output disconnects. */
struct hv_err *report_ctf(const char *path, const char *dir) hv_must_use;
