/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tests expect of calls that can fail. Each of these takes the error, which may be NULL. */
#pragma once

#include <check.h>
#include <string.h>

#include "base/err.h"

static inline void expect_success(struct hv_err *err)
{
	ck_assert_msg(!err, "%s", err ? err->message : "");
}

/* WHY: a part of the message. */
static inline void expect_error(struct hv_err *err, int code, const char *why)
{
	ck_assert_msg(err && err->code == code && strstr(err->message, why), "%s: %s", why,
		      err ? err->message : "no error");
	hv_err_free(err);
}
