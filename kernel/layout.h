/* Where the kernel keeps what stubs and readers need: fills struct hv_layout.
 * Private to kernel/. */
#pragma once

#include "kernel/kernel.h"

/* Needs K's address space, symbols and BTF. ENOENT names what is not there. */
struct hv_err *hv_layout_read(const struct hv_kernel *k, struct hv_layout *ret) hv_must_use;
