/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A percentage as a user writes it: "5", "0.5", "5%". */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Returns it in parts per million. False: TEXT is no percentage, or it is below 0.001 or above
 * 100. */
bool percent_parse(const char *text, uint64_t *ret_ppm);
#define PERCENT_WANTED "a percentage from 0.001 to 100"
