/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What other verbs do by recording. Leaves to others: their own options. */
#pragma once

#include "cli/verbs/verb.h"
#include "stream/sender.h"

#define STREAM_KEY_PATH "/etc/hvtrace/stream.key"

/* Runs the verb record with ARGV, but sends the events to TO instead of writing them. Messages are
 * those of CLI's verb. */
int record_to(struct cli *cli, int argc, char **argv, const struct hv_stream_to *to,
	      enum hv_compression compression);
