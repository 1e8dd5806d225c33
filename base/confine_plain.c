/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/confine.h"

const int hv_sanitizer_calls[] = {-1};
const size_t hv_nr_sanitizer_calls = 0;
const char *const hv_sanitizer_readable = NULL;
const bool hv_sanitizer_maps_code = false;
const unsigned long hv_sanitizer_traces_itself = 0;
