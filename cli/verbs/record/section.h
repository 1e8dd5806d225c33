/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `hvtrace record` with a tracer that keeps the longest section or the longest wait of a woken
 * task (docs/users/latency-tracers.md): at the end it prints that section, beside the events.
 * Leaves to others: the events (record.c, file.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct client;

/* Whether the tracer of this name, which exists, is one. NULL: it is not. */
bool record_section_has(const char *tracer);
/* What such a tracer keeps the longest of: "section" or "wait". */
const char *record_section_noun(const char *tracer);
/* Prints the `trace` of the instance DIR, whose tracer it is, to FD, which is that of
 * standard output or of standard error. *RET_OUT_ERROR is what put_out (verb.h) returns. */
struct hv_err *record_section_print(struct client *c, const char *dir, int fd,
				    int *ret_out_error) hv_must_use;
/* The length of the longest section, in us; 0: there was none. */
struct hv_err *record_section_longest_us(struct client *c, const char *dir,
					 uint64_t *ret) hv_must_use;
