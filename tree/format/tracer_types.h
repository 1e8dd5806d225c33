/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The event types of tracers as this program knows them, for a guest whose own catalogue cannot be
 * read: those whose events trace_pipe_raw contains (raw_page.h), laid out as in 6.1. */
#pragma once

struct hv_catalogue;

/* Never NULL. Static. */
const struct hv_catalogue *hv_tracer_types(void);
