/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares the kernel's text with the copy that was made when the kernel was opened. This proves
 * that no call of ours is left, and shows what the guest itself has changed. */
#pragma once

#include "base/err.h"
#include "base/text.h"

struct hv_tracee;

/* REPORT gets one line, which names the first differences that are the guest's own. EIO: sites
 * still call a stub, or there is no copy. */
struct hv_err *hv_text_diff_report(const struct hv_tracee *t, struct hv_text *report) hv_must_use;
