/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbols from kallsyms in the memory of the running kernel, in every layout that it had: absolute,
 * base-relative, absolute-percpu or place-relative addresses, before or behind the names, with
 * lengths of one or two bytes. The tables are found by their contents, which are hostile. */
#pragma once

#include "kernel/image.h"
#include "kernel/symbols.h"

/* Fails with ENOENT when IMAGE has no kallsyms; the message tells which table is missing. */
struct hv_err *hv_kallsyms_read(const struct hv_image *image, struct hv_symbols *ret) hv_must_use;
