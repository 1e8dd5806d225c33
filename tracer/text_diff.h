/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares the kernel's text with the copy made when the kernel was opened. This proves that no
 * call to a stub is left, and shows the guest's own changes. */
#pragma once

#include "base/err.h"
#include "base/text.h"

struct hv_tracee;

/* Adds one line to REPORT that names the first differences made by the guest. EIO: sites still call
 * a stub, or there is no copy. */
struct hv_err *hv_text_diff_report(const struct hv_tracee *t, struct hv_text *report) hv_must_use;
