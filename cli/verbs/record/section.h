/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `hvtrace record` with a tracer that keeps the longest section or the longest wait of a woken task
 * (docs/users/latency-tracers.md): prints that section at the end, in addition to the events.
 * record.c and file.h handle events. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct client;

/* Whether TRACER, the name of a tracer or NULL, keeps the longest section or wait. */
bool record_section_has(const char *tracer);
/* The noun for such a tracer's result: "section" or "wait". */
const char *record_section_noun(const char *tracer);
/* Prints the file `trace` of the instance DIR to FD, standard output or standard error. Sets
 * *RET_OUT_ERROR to the result of put_out (verb.h). */
struct hv_err *record_section_print(struct client *c, const char *dir, int fd,
				    int *ret_out_error) hv_must_use;
/* Returns the length of the longest section in us; 0: there was no section. */
struct hv_err *record_section_longest_us(struct client *c, const char *dir,
					 uint64_t *ret) hv_must_use;
