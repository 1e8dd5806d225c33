/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What confine.c permits only because sanitizers need it. Private to confine.c. Builds with
 * sanitizers use confine_sanitized.c, others confine_plain.c, which permits nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

extern const int hv_sanitizer_calls[];
extern const size_t hv_nr_sanitizer_calls;
extern const char *const hv_sanitizer_readable; /* a directory, or NULL */
extern const bool hv_sanitizer_maps_code;
extern const unsigned long hv_sanitizer_traces_itself;
