/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Leaving a guest: puts every byte back, unmaps the region, and proves both. hv_session_detach and
 * hv_session_recover share this. */
#pragma once

#include "base/err.h"
#include "base/text.h"

struct hv_session;

/* Puts the bytes of every site and the page-table slots back, flushes translations, compares the
 * text, and clears the region. REPORT and EBUSY as for hv_session_detach. */
struct hv_err *hv_session_restore(struct hv_session *s, struct hv_text *report) hv_must_use;
