/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trace in the Common Trace Format as lines of text, by libbabeltrace2. */
#pragma once

#include "base/err.h"

/* Loads the plugins of libbabeltrace2, which are files. */
void report_ctf_prepare(void);
/* Prints a line for each event of the directory DIR, which the user calls PATH, to standard output,
 * in the order of their times. EINVAL: it is no such trace, or it is damaged; what is before the
 * damage was printed. ENOTSUP: libbabeltrace2 is not there, or was not at build time
 * (report_ctf_none.c). A reader of standard output that has gone ends it without an error. */
struct hv_err *report_ctf(const char *path, const char *dir) hv_must_use;
