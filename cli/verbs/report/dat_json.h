/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An event of a trace.dat file as a line of JSON, with the members that `record --format=jsonl`
 * writes (docs/schema/jsonl.json). The file may be anybody's: what its formats say of an event is
 * checked against the event's length. */
#pragma once

#include <traceevent/event-parse.h>

#include "base/text.h"

/* Adds the line of RECORD, after one of events that were lost before it. */
void report_dat_json(struct tep_handle *tep, struct tep_record *record, struct hv_text *out);
