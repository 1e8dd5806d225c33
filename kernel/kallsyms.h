/* kallsyms as it lies in the running kernel's memory, in all its layouts (compressed names,
 * markers, absolute / base-relative / absolute-percpu / place-relative addresses, both array
 * orders, one- and two-byte lengths), found by looking at the bytes. Input is hostile. */
#pragma once

#include "kernel/image.h"
#include "kernel/symbols.h"

/* ENOENT when IMAGE holds no kallsyms; messages say which table was missing. */
struct hv_err *hv_kallsyms_read(const struct hv_image *image, struct hv_symbols *ret) hv_must_use;
