/* The signals that ask a process to end, as something to poll for. Leaves to others: what ends. */
#pragma once

/* From now on SIGTERM, SIGINT and SIGHUP of this thread, and of those it makes, are read from the
 * signalfd(2) that is returned, which does not block and is the caller's, and a write to a pipe
 * that nobody reads is an error and no signal. -1: errno says why; the signals are blocked even so.
 */
int stop_signals_fd(void);
