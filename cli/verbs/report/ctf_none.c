/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Used in builds without libbabeltrace2. */
#include "cli/verbs/report/libraries.h"

void report_ctf_prepare(void)
{
}

struct hv_err *report_ctf(const char *path, const char *dir hv_unused)
{
	return hv_err_new(ENOTSUP,
			  "%s: this hvtrace was built without libbabeltrace2, which reads CTF; use "
			  "babeltrace2",
			  path);
}
