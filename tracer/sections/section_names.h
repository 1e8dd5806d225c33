/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of addresses in modules at the time of a section. A section is kept until a worse one is
 * found. Until then its module may be unloaded and another one loaded at the same addresses. The
 * core kernel does not change.
 *
 * tree/format/ shows the names. */
#pragma once

#include "tracer/sections/section.h"

struct hv_kernel;

/* Looks up all addresses of S outside the core kernel. */
void hv_section_keep_names(struct hv_section *s, const struct hv_kernel *k);
