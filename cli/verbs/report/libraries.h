/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the files of record that libraries read. Builds without a library use a file *_none.c,
 * which returns an error. */
#pragma once

#include "base/err.h"

/* -- trace.dat -------------------------------------------------------------------------------- */

/* Prints events of a trace.dat file as text, with libtracecmd, the library of trace-cmd. */

enum report_as { REPORT_TEXT, REPORT_JSON };

/* Prints a line for each event of the NR files FDS, one or more, to stdout, sorted by time. With
 * several files, lines begin with the file's name from PATHS. Errors name the file. Ends without an
 * error if the reader of stdout disconnects. The plugins of libtraceevent, which also parse guests'
 * data, are not loaded in a process that cannot open files. */
struct hv_err *report_dat(const char *const *paths, const int *fds, size_t nr,
			  enum report_as as) hv_must_use;

/* -- CTF -------------------------------------------------------------------------------------- */

/* Prints a trace in the Common Trace Format as text, with libbabeltrace2. */

/* Loads the plugins of libbabeltrace2, which are files. */
void report_ctf_prepare(void);
/* Prints a line for each event of the directory DIR, which the user calls PATH, to standard output,
 * sorted by time. EINVAL: it is no such trace, or it is damaged; the events before the damage were
 * printed. ENOTSUP: libbabeltrace2 is missing now or was missing at build time (report/ctf_none.c).
 * Ends without an error if the reader of standard output disconnects. */
struct hv_err *report_ctf(const char *path, const char *dir) hv_must_use;
