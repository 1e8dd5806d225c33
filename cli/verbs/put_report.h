/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `detach --json` and `recover --json` print (docs/schema/detach.json). */
#pragma once

#include <stddef.h>

/* Prints an object with the lines of TEXT, which may be NULL, of the domain SPEC. Returns as
 * put_out does. */
int put_report(const char *spec, const char *text, size_t len_bytes);
