/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of addresses in modules, as they were when a section was taken. A section is kept for as
 * long as none is worse; meanwhile a module may go, and another one may come to its addresses. The
 * core kernel stays.
 * Leaves to others: how names are shown (tree/format/). */
#pragma once

#include "tracer/section.h"

struct hv_kernel;

/* Looks up all addresses of S that are not in the core kernel. */
void hv_section_keep_names(struct hv_section *s, const struct hv_kernel *k);
