/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IP addresses as %pI4, %pI6, %pI6c, %pIS and their variants show them in the kernel.
 * Leaves to others: other letters after %p (pointer.h). Pure. */
#pragma once

#include "tree/format/print_fmt/printk.h"

/* The letters of SPEC begin with 'I' or 'i'. False: BYTES is too short. */
bool hv_print_inet(struct hv_print_out *out, const struct hv_print_spec *spec, const uint8_t *bytes,
		   size_t len_bytes);
