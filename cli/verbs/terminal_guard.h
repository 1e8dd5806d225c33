/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Restores a terminal if the process that changed it ends without doing so, even by SIGKILL. A
 * child process waits for that. */
#pragma once

#include "base/err.h"

struct terminal_guard;

/* Starts to guard the terminal on standard input and output before it is changed. The child writes
 * BYTES to restore it. The child keeps no other file open. */
struct hv_err *terminal_guard_start(const char *bytes, struct terminal_guard **ret) hv_must_use;
/* Call it after restoring the terminal. */
void terminal_guard_stop(struct terminal_guard *g);
