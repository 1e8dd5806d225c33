/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The signals that ask a process to end, as a file descriptor to poll. Leaves to others: what the
 * process does then. */
#pragma once

/* Blocks SIGTERM, SIGINT and SIGHUP in this thread and in those that it makes, and returns a
 * signalfd(2) from which they are read. The descriptor does not block, and the caller closes it.
 * From now on a write to a pipe without a reader is an error, not a signal. -1: errno says why; the
 * signals are blocked nevertheless. */
int stop_signals_fd(void);
