/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Describes a recording: the domain, the settings, the duration, and the destination. Verbs that
 * record fill in a request. record, stream and hist pass it to record_run(), which does everything.
 * latency, top and exporter decide themselves when to stop, and call the steps of recording.h. Each
 * verb parses its options. */
#pragma once

#include "cli/verbs/record/file.h"

/* -- the settings ----------------------------------------------------------------------------- */

/* The settings of a recording: tracer, functions, events with filters, probes, tasks. Also applies
 * them to an instance: turns globs into words of set_event, defines probes in kprobe_events, and
 * adds a note for each thing that cannot be recorded. If record is killed, its probes stay defined
 * but nothing is recorded. recording.h handles the instance, file.h the events;
 * tree/settings/event_set.h and tree/settings/kprobe.h define the grammars of set_event and of
 * probes. */

struct recording; /* recording.h */

/* Zero-initialised is empty. */
struct record_filters {
	struct record_filter {
		const char *event; /* as given; borrowed */
		char *filter;	   /* owned */
	} * list;		   /* owned */
	size_t nr;
};

/* Zero-initialised is empty. The char pointers are borrowed. */
struct record_settings {
	const char *tracer;    /* NULL: none */
	bool reports_host;     /* record for how long of a call the host did not run the vCPU */
	struct hv_text filter; /* globs, with a blank before each except the first */
	struct hv_text notrace;
	struct hv_text graph;
	struct hv_text events; /* words, with a blank before each except the first */
	struct hv_text probes; /* definitions, one per line */
	const char *event;     /* the last one added */
	struct hv_text pairs;  /* lines: an event and the event that ends it */
	struct record_filters event_filters;
	struct hv_text pids;
};

/* GLOBS is one of the settings. */
void record_settings_add_glob(struct hv_text *globs, const char *glob);

/* Returns whether there are events or probes. */
static inline bool record_settings_have_events(const struct record_settings *s)
{
	return s->events.len_bytes || s->probes.len_bytes || s->pairs.len_bytes;
}

/* Applies the settings to the instance of R, which is not recording. RET_PROBED gets the events of
 * the defined probes, even if an error follows, because they outlive the instance. RET_NOTES gets a
 * line for each thing left out. */
struct hv_err *record_settings_put(const struct record_settings *s, const struct recording *r,
				   struct hv_text *ret_probed,
				   struct hv_text *ret_notes) hv_must_use;

/* Adds to RET a line for each entry of DIR/error_log: the things left out. */
struct hv_err *record_events_refused(struct client *c, const char *dir,
				     struct hv_text *ret) hv_must_use;

/* The probe for marks (tracer/events/guest_marks.h). All commands that record marks share it: the
 * first defines it, and the last removes it. */
#define RECORD_PROBES_MARK "p:hvtrace/mark security_task_prctl text=$mark"

/* Removes the probes of EVENTS, as named by record_settings_put(). They must no longer be
 * recorded. */
struct hv_err *record_probes_remove(struct client *c, const char *events) hv_must_use;

/* -- the request ------------------------------------------------------------------------------ */

struct cli; /* cli/verbs/verb.h */

/* Zero-initialised is empty. Strings are borrowed. */
struct record_request {
	const char *spec; /* the domain */

	struct record_settings settings; /* owned */
	const char *instance;		 /* name of the recording instance; NULL: record-PID */
	const char *buffer_kb; /* per vCPU. NULL: as at the top, if the host has enough memory */
	const char *clock;     /* as in trace_clock. NULL: the clock of a new instance */

	uint64_t for_ns;	   /* 0: until COMMAND ends or a signal arrives */
	char **command;		   /* NULL: none */
	uint64_t max_overhead_ppm; /* 0: no limit */

	struct record_target target;
	const char *format; /* name of the format for TARGET. NULL: determined by the file name */
	bool is_json;	    /* print the last line as an object on standard output */
};
/* For `clock`: the top's clock, if the instance supports it. */
#define RECORD_CLOCK_OF_TOP "top"

void record_request_deinit(struct record_request *q);

/* The options of a request: letters as for getopt, long options, and their help. */
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
	"  -f, --filter=FILTER    record the preceding EVENT only if FILTER matches, as in\n"      \
	"                         'prev_pid == 1 || comm ~ \"init*\"'\n"                           \
	"  -k PROBE               a probe as in kprobe_events, p[:NAME] FUNCTION [ARGUMENTS], "    \
	"or\n"                                                                                     \
	"                         r[:NAME]... for its returns: record its event, and remove it\n"  \
	"                         at the end\n"                                                    \
	"  --marks                marks of the guest's programs (hvtrace-agent(1)), as the "       \
	"event\n"                                                                                  \
	"                         hvtrace:mark\n"

/* Parses OPTION, one of these, into Q. False: return *RET_EXIT. */
bool record_request_take_option(struct cli *cli, struct record_request *q, int option,
				int *ret_exit);
/* Parses the operands DOMAIN and COMMAND that verb_option() left. False: return *RET_EXIT. */
bool record_request_take_operands(struct cli *cli, int argc, char **argv, struct record_request *q,
				  int *ret_exit);

/* Records as Q requests. Attaches first and detaches at the end if the domain has no session.
 * Prints messages as CLI's verb. Returns its exit code; if a signal ended recording, the process
 * ends with that signal instead. */
int record_run(struct cli *cli, const struct record_request *q);
