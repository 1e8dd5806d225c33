/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Releases the copy of a kernel's image while it is not in use: the code, the constants, and the
 * types that are used in place (BTF). image/release.h describes how pages are released and read
 * again. */
#pragma once

#include "kernel/image/release.h"

struct hv_kernel;

/* Prepares releases: stores the present bytes of the code that the kernel itself patches while it
 * runs, which are entries of functions and the sites of static keys and static calls. Kprobes can be
 * anywhere and are not known. If a table of sites is unknown or invalid, more pages count as changed
 * later. FN puts back what hvtrace patches. */
void hv_idle_memory_begin(struct hv_kernel *k, hv_image_put_back_fn fn, void *ctx);
/* Ends the use of FN. */
void hv_idle_memory_end(struct hv_kernel *k);
/* Reads the types and the known tables of ORC again if they are released. Call it before a hold, in
 * which that would take too long. */
void hv_idle_memory_load(struct hv_kernel *k);
/* As hv_image_release_some(). */
bool hv_idle_memory_release_some(const struct hv_kernel *k);
