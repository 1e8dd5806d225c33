/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that define events by commands, one in each line. */
#pragma once

#include "base/err.h"
#include "tree/files/file.h"

struct hv_kprobe_fault;

/* Obeys one command, of LEN bytes. */
typedef struct hv_err *(*hv_command_obey)(struct hv_file *f, const char *line, size_t len);

/* The write operation of such a file. The commands before one that is refused have been obeyed
 * (trace_parse_run_command()). */
struct hv_err *hv_commands_write(struct hv_file *f, const char *buf, size_t len_bytes,
				 hv_command_obey obey, size_t *ret_len) hv_must_use;

/* The words of a line; those that are separated by white space (argv_split()). */
struct hv_words {
	char *line;  /* owned */
	char **list; /* owned, of words in LINE */
	size_t nr;
};
struct hv_words hv_words_split(const char *line, size_t len);
void hv_words_deinit(struct hv_words *w);
/* Adds to error_log what ERR and FAULT say about W. Returns ERR. */
struct hv_err *hv_words_tell(struct hv_file *f, const struct hv_words *w, struct hv_err *err,
			     const struct hv_kprobe_fault *fault) hv_must_use;

/* A command of kprobe_events; of dynamic_events, if F is that, all but those that define synthetic
 * events and probes of events. */
struct hv_err *hv_kprobe_command_obey(struct hv_file *f, const char *line, size_t len) hv_must_use;
