/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An amount of memory as a user writes it: "512M", "2G", "1.5G", "262144K". Without a unit it means
 * MiB. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* False: TEXT is not a size, or 2^63 bytes or more. Digits after the third behind the point are
 * dropped. The result is rounded down to 4 KiB. */
bool size_parse(const char *text, uint64_t *ret_bytes);
