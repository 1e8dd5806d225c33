/* A number as a user writes it before a unit: "2", "1.5", ".5". */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* In thousandths, so that "0.25" keeps its meaning; digits after the third are dropped. Moves *AT
 * behind it. False: no number, or more than twelve digits before the point. */
bool decimal_parse(const char **at, uint64_t *ret_thousandths);
