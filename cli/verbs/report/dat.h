/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of a trace.dat file as text, by libtracecmd, the library of trace-cmd. Where it was not
 * there at build time, report_dat_none.c takes its place, and says so. */
#pragma once

#include "base/err.h"

enum report_as { REPORT_TEXT, REPORT_JSON };

/* Prints a line for each event of the NR files FDS, one or more, to stdout, in the order of their
 * times; of more than one, lines begin with the name of the file, of PATHS. Errors name the file. A
 * reader of stdout that has gone ends it without an error. The plugins of libtraceevent, which read
 * what guests write, too, are not loaded in a process that cannot open files. */
struct hv_err *report_dat(const char *const *paths, const int *fds, size_t nr,
			  enum report_as as) hv_must_use;
