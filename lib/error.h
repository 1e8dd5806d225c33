/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the errors of hvtrace/hvtrace.h. Like base/err.h, for code that must survive a failed
 * allocation: if there is no memory for an error, the error is ENOMEM. */
#pragma once

#include "base/guard.h"
#include "lib/hvtrace/hvtrace.h"
#include "lib/wire.h"

#define LIB_MESSAGE_MAX 2048 /* longer messages of error_new() are cut */

/* Replaces each byte of TEXT that is not part of a printable UTF-8 character by '?'. */
void error_make_safe(char *text);
/* Never returns NULL. Control characters and invalid UTF-8, which can come from the guest, become
 * '?'. */
struct hvt_error *error_new(int code, const char *fmt, ...) hv_printf(2, 3) hv_must_use;
/* Makes the error of a WIRE_ERROR, with the whole message. */
struct hvt_error *error_received(const struct wire_frame *answer) hv_must_use;
struct hvt_error *error_no_memory(void) hv_must_use;
/* For a NULL argument. */
struct hvt_error *error_null(const char *name) hv_must_use;

static inline void error_free_at(struct hvt_error **error)
{
	hvt_error_free(*error);
}
#define AUTO_ERROR hv_cleanup(error_free_at)
