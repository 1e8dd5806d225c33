/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The formats, one per source file. */
#pragma once

#include "export/export.h"

extern const struct hv_export_format hv_export_dat;	/* dat.c: trace.dat, one or two files */
extern const struct hv_export_format hv_export_dat_one; /* dat.c: trace.dat, version 7 */
extern const struct hv_export_format hv_export_ctf;	/* ctf.c: a directory in CTF 1.8 */
extern const struct hv_export_format hv_export_jsonl;	/* jsonl.c: JSON, one event per line */
extern const struct hv_export_format hv_export_txt;	/* txt.c: the text of trace_pipe */
/* histogram.c: durations, as bars or as JSON */
extern const struct hv_export_format hv_export_histogram, hv_export_histogram_json;
extern const struct hv_export_format hv_export_perfetto; /* perfetto.c: for ui.perfetto.dev */
