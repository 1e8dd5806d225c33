/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbols from kallsyms in the memory of the running kernel. Handles the layouts of all kernels up
 * to 7.x: absolute, base-relative, absolute-percpu and place-relative addresses, before or after
 * the names, with lengths of one or two bytes. The tables are found by their contents, which are
 * untrusted. */
#pragma once

#include "kernel/image/image.h"
#include "kernel/image/symbols.h"

/* Fails with ENOENT if IMAGE has no kallsyms; the message names the missing table. */
struct hv_err *hv_kallsyms_read(const struct hv_image *image, struct hv_symbols *ret) hv_must_use;
