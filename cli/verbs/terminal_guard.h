/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts a terminal back if the process that changed it ends in any way before it has done so itself,
 * even by SIGKILL: a child waits for that. */
#pragma once

#include "base/err.h"

struct terminal_guard;

/* Starts to guard the terminal that is standard input and output now, before it is changed. BYTES
 * are what to write to it then. The child keeps no other file open. */
struct hv_err *terminal_guard_start(const char *bytes, struct terminal_guard **ret) hv_must_use;
/* The terminal has been put back. */
void terminal_guard_stop(struct terminal_guard *g);
