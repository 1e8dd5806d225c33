/* The signals that ask a process to end, as something to poll for. Leaves to others: what ends. */
#pragma once

/* From now on SIGTERM, SIGINT and SIGHUP of this thread, and of those that it makes, are read from
 * the signalfd(2) that is returned; it does not block, and the caller closes it. A write to a pipe
 * that nobody reads is an error, not a signal. -1: errno says why; the signals are blocked all the
 * same. */
int stop_signals_fd(void);
