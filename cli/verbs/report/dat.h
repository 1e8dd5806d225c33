/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of a trace.dat file as text, by libtracecmd, the library of trace-cmd. Where it was not
 * there at build time, report_dat_none.c takes its place, and says so. */
#pragma once

#include "base/err.h"

/* Prints a line for each event of the file PATH to stdout, in the order of their times. Errors name
 * the file. A reader of stdout that has gone ends it without an error. */
struct hv_err *report_dat(const char *path) hv_must_use;
