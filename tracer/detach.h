/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Leaving a guest: restores every byte, unmaps the region, and verifies both. Used by
 * hv_session_detach and hv_session_recover. */
#pragma once

#include "base/err.h"
#include "base/text.h"

struct hv_session;

/* Restores the bytes of every site and the page-table slots, flushes translations, compares the
 * text, and clears the region. REPORT and EBUSY are as for hv_session_detach. */
struct hv_err *hv_session_restore(struct hv_session *s, struct hv_text *report) hv_must_use;
