/* How much, as a user writes it: "512M", "2G", "1.5G", "262144K"; no unit means MiB. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* False: not a size, or 2^63 bytes and more. Thousandths count, what is smaller is dropped. */
bool size_parse(const char *text, uint64_t *ret_bytes);
