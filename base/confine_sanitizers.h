/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the sanitizers of a test build need of a confined process (base/confine.h). Private to it.
 * confine_plain.c is for programs without sanitizers, which need nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

extern const int hv_sanitizer_calls[];
extern const size_t hv_nr_sanitizer_calls;
extern const char *const hv_sanitizer_readable; /* a directory; NULL: none */
extern const bool hv_sanitizer_maps_code;
extern const unsigned long hv_sanitizer_traces_itself;
