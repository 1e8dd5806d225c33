/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The latest refused writes and the reasons (tracing_log_err). The kernel logs only errors of
 * probes and event filters. hvtrace logs every refused write, because a mounted file can only
 * return an errno. files/file.c has the file. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

#define HV_ERROR_LOG_MAX 8 /* TRACING_LOG_ERRS_MAX */

struct hv_logged_error {
	uint64_t time_ns;
	char *where;   /* owned; the file */
	char *why;     /* owned */
	char *command; /* owned; one line of the write */
	unsigned at;   /* the column of the error */
};

/* Zero-initialised is empty. */
struct hv_error_log {
	struct hv_logged_error list[HV_ERROR_LOG_MAX]; /* oldest first */
	size_t nr;
};

void hv_error_log_clear(struct hv_error_log *log);
/* Logs the write COMMAND with the error at its first word. */
void hv_error_log_add(struct hv_error_log *log, uint64_t time_ns, const char *where,
		      const char *why, const char *command, size_t len_bytes);
/* Moves the error mark of the latest entry to offset AT. */
void hv_error_log_mark(struct hv_error_log *log, size_t at);
void hv_error_log_text(const struct hv_error_log *log, struct hv_text *ret);
