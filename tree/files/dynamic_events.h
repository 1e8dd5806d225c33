/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that define events by commands, one in each line. */
#pragma once

#include "base/err.h"
#include "tree/files/file.h"

/* Obeys one command, of LEN bytes. */
typedef struct hv_err *(*hv_command_obey)(struct hv_file *f, const char *line, size_t len);

/* The write operation of such a file. The commands before one that is refused have been obeyed
 * (trace_parse_run_command()). */
struct hv_err *hv_commands_write(struct hv_file *f, const char *buf, size_t len_bytes,
				 hv_command_obey obey, size_t *ret_len) hv_must_use;

/* A command of kprobe_events; of dynamic_events, if F is that, all but those that define synthetic
 * events. */
struct hv_err *hv_kprobe_command_obey(struct hv_file *f, const char *line, size_t len) hv_must_use;
