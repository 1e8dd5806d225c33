/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace profile --diff: compares two files that profile wrote. The process gives up its rights before
 * it reads them. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct profile_diff {
	const char *paths[2]; /* borrowed */
	const char *out_path; /* of -o: .svg or .folded; NULL: a tree on standard output */
	uint64_t min_ppm;
};

/* Sets *RET_OUT_ERROR to the errno if standard output failed. */
struct hv_err *profile_diff(const struct profile_diff *d, int *ret_out_error) hv_must_use;
