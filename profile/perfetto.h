/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples one by one in Perfetto's trace format, as its own profiler writes them: a PerfSample with an
 * interned call stack for each, and a track for each task. Perfetto draws a flame graph of each time
 * range. Names are untrusted. Pure. */
#pragma once

#include "base/text.h"
#include "profile/flame.h"
#include "profile/pprof.h"

/* All frames of C must have names. P names the files of programs. COMM returns the name of the task of
 * a node. Begins no packet after OUT has MAX_BYTES; returns false if this omits a sample. */
bool hv_flame_perfetto(const struct hv_chains *c, const struct hv_flame_sample *samples, size_t nr,
		       const struct hv_pprof *p,
		       const char *(*comm)(const struct hv_chains *c, uint32_t node),
		       size_t max_bytes, struct hv_text *out);
