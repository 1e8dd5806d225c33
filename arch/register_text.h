/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A number in the text of the monitor's `info registers`. Leaves to others: what it means. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The hexadecimal number after NAME, which starts a word: "CR3=0000000000a4c002". False: there is
 * none. */
bool hv_register_in(const char *text, const char *name, uint64_t *ret);
