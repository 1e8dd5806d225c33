/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IP addresses in the kernel's formats %pI4, %pI6, %pI6c, %pIS and their variants. pointer.h
 * handles other letters after %p. Pure. */
#pragma once

#include "tree/format/print_fmt/printk.h"

/* SPEC's letters begin with 'I' or 'i'. Returns false if BYTES is too short. */
bool hv_print_inet(struct hv_print_out *out, const struct hv_print_spec *spec, const uint8_t *bytes,
		   size_t len_bytes);
