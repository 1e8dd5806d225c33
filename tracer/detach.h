/* Leaving a guest: every byte back, nothing of ours mapped, and the proof of it. What
 * hv_session_detach and hv_session_recover share. */
#pragma once

#include "base/err.h"
#include "base/text.h"

struct hv_session;

/* Every site's bytes and the page-table slots back, translations flushed, text compared, region
 * cleared. REPORT and EBUSY as for hv_session_detach. */
struct hv_err *hv_session_restore(struct hv_session *s, struct hv_text *report) hv_must_use;
