/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The last writes that were refused, and why (tracing_log_err). The kernel logs only errors of
 * probes and event filters. Here every refused write is logged, since a mounted file itself can
 * only return an errno.
 * Leaves to others: the file (files/error_log.c). Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

#define HV_ERROR_LOG_MAX 8 /* TRACING_LOG_ERRS_MAX */

struct hv_logged_error {
	uint64_t time_ns;
	char *where;   /* owned; the file */
	char *why;     /* owned */
	char *command; /* owned; a line of what was written */
	unsigned at;   /* the column of the error */
};

/* Zero-initialised is empty. */
struct hv_error_log {
	struct hv_logged_error list[HV_ERROR_LOG_MAX]; /* the oldest first */
	size_t nr;
};

void hv_error_log_clear(struct hv_error_log *log);
/* COMMAND is what was written. The error marks its first word. */
void hv_error_log_add(struct hv_error_log *log, uint64_t time_ns, const char *where,
		      const char *why, const char *command, size_t len_bytes);
/* Marks the character AT of what was logged last. */
void hv_error_log_mark(struct hv_error_log *log, size_t at);
void hv_error_log_text(const struct hv_error_log *log, struct hv_text *ret);
