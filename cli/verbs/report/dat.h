/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints events of a trace.dat file as text, with libtracecmd, the library of trace-cmd. Builds
 * without it use report/dat_none.c, which returns an error. */
#pragma once

#include "base/err.h"

enum report_as { REPORT_TEXT, REPORT_JSON };

/* Prints a line for each event of the NR files FDS, one or more, to stdout, sorted by time. With
 * several files, lines begin with the file's name from PATHS. Errors name the file. Ends without an
 * error if the reader of stdout disconnects. The plugins of libtraceevent, which also parse guests'
 * data, are not loaded in a process that cannot open files. */
struct hv_err *report_dat(const char *const *paths, const int *fds, size_t nr,
			  enum report_as as) hv_must_use;
