/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A number that a user writes before a unit: "2", "1.5", ".5". */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Returns the number in thousandths, so that "0.25" keeps its meaning; drops digits after the
 * third. Moves *AT to the first character after the number. False: there is no number, or it has
 * more than twelve digits before the point. */
bool decimal_parse(const char **at, uint64_t *ret_thousandths);
