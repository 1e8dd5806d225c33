/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The signals that ask a process to end, as a file descriptor for poll. */
#pragma once

/* Blocks SIGTERM, SIGINT and SIGHUP in this thread and in threads that it creates later, and
 * returns a non-blocking signalfd(2) that receives them. The caller closes it. Also ignores
 * SIGPIPE, so a write to a pipe without a reader returns an error. -1 with errno on failure; the
 * signals are blocked even then. */
int stop_signals_fd(void);
