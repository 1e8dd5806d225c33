/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Used in builds without libtracecmd. */
#include "cli/verbs/report/libraries.h"

struct hv_err *report_dat(const char *const *paths, const int *fds hv_unused, size_t nr hv_unused,
			  enum report_as as hv_unused)
{
	return hv_err_new(ENOTSUP,
			  "%s: this hvtrace was built without libtracecmd, which reads trace.dat; "
			  "use trace-cmd report",
			  paths[0]);
}
