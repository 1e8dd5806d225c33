/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exceptions to base/confine.h that sanitizers need in test builds. Private to it. confine_plain.c
 * defines them for builds without sanitizers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

extern const int hv_sanitizer_calls[];
extern const size_t hv_nr_sanitizer_calls;
extern const char *const hv_sanitizer_readable; /* a directory, or NULL */
extern const bool hv_sanitizer_maps_code;
extern const unsigned long hv_sanitizer_traces_itself;
