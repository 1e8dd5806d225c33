/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A duration as a user writes it: "2", "1.5s", "500ms", "1m", "1h". */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define DURATION_MAX_NS (366ull * 24 * 3600 * 1000000000ull)

/* False: TEXT is not a duration, or it is zero or more than a year. Without a unit it means
 * seconds. */
bool duration_parse(const char *text, uint64_t *ret_ns);
#define DURATION_WANTED "a duration: write 2, 1.5s, 500ms, 1m or 1h"
