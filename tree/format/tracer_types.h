/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Built-in event types of tracers, for guests without a readable catalogue: the events that
 * trace_pipe_raw contains (raw_page.h), with the layout of Linux 6.1. */
#pragma once

struct hv_catalogue;

/* Never NULL. Static. */
const struct hv_catalogue *hv_tracer_types(void);
