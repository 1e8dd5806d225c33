/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What other verbs do by recording. Leaves to others: their own options. */
#pragma once

#include "cli/verbs/verb.h"
#include "stream/sender.h"

#define STREAM_KEY_PATH "/etc/hvtrace/stream.key"

/* The options that say what is recorded, and for how long: letters as for getopt, long options, and
 * their help. */
#define RECORD_LETTERS "p:e:f:k:l:n:g:P:j"
#define RECORD_LONGS                                                                               \
	{"filter", required_argument, NULL, 'f'}, {"marks", no_argument, NULL, 'M'},               \
		{"date", no_argument, NULL, 'D'}, {"json", no_argument, NULL, 'j'},                \
		{"host-time", no_argument, NULL, 'H'}, {"for", required_argument, NULL, 'T'},      \
	{                                                                                          \
		"max-overhead", required_argument, NULL, 'O'                                       \
	}
#define RECORD_ARGS                                                                                \
	"{-p TRACER | -e EVENT [-f FILTER] | -k PROBE | --marks}... [-l GLOB]... [-n GLOB]... "    \
	"[-g GLOB]... [--host-time] [-P PID]... "
#define RECORD_EVENT_HELP                                                                          \
	"  -e EVENT               an event of the guest's own, as in available_events: "           \
	"SYSTEM:EVENT,\n"                                                                          \
	"                         SYSTEM or EVENT, with globs\n"                                   \
	"  -f, --filter=FILTER    only those of the EVENT before it that FILTER lets pass, as "    \
	"in\n"                                                                                     \
	"                         'prev_pid == 1 || comm ~ \"init*\"'\n"                           \
	"  -k PROBE               a probe as in kprobe_events, p[:NAME] FUNCTION [ARGUMENTS], "    \
	"or\n"                                                                                     \
	"                         r[:NAME]... of its returns: its event is recorded, and it is\n"  \
	"                         removed at the end\n"                                            \
	"  --marks                marks of the guest's programs (hvtrace-agent(1)), as the "       \
	"event\n"                                                                                  \
	"                         hvtrace:mark\n"

/* The word of a command line that stands for OPTION, one of these. NULL: it is none. */
const char *record_word(int option);

/* Runs the verb record with ARGV, and also records PAIRS: lines, each an event and the one that
 * ends it. A pair that cannot be recorded now is named and left out if there is anything else. */
int record_pairs(struct cli *cli, int argc, char **argv, const char *pairs);

struct record_dial; /* record/apart.h */

/* Runs the verb record with ARGV, but sends the events to TO instead of writing them. DIAL may be
 * NULL, if no connection has to be made again. Messages are those of CLI's verb. */
int record_to(struct cli *cli, int argc, char **argv, const struct hv_stream_to *to,
	      struct record_dial *dial, enum hv_compression compression);
