/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The output of `detach --json` and `recover --json` (docs/schema/detach.json). */
#pragma once

#include <stddef.h>

/* Prints an object with the domain SPEC and the lines of TEXT, which may be NULL. Returns like
 * put_out. */
int put_report(const char *spec, const char *text, size_t len_bytes);
