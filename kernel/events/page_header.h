/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of events/header_page (the header of a ring-buffer page) that differs between
 * kernels. */
#pragma once

#include <stdbool.h>

struct hv_kernel;

/* Returns whether the member `overwrite` has the type char. In older kernels it is an int. */
bool hv_page_header_has_char(const struct hv_kernel *k);
