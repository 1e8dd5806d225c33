/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Assertions for calls that can fail. Each function frees the error, which may be NULL. */
#pragma once

#include <check.h>
#include <string.h>

#include "base/err.h"

static inline void expect_success(struct hv_err *err)
{
	ck_assert_msg(!err, "%s", err ? err->message : "");
}

/* WHY is a part of the expected message. */
static inline void expect_error(struct hv_err *err, int code, const char *why)
{
	ck_assert_msg(err && err->code == code && strstr(err->message, why), "%s: %s", why,
		      err ? err->message : "no error");
	hv_err_free(err);
}
