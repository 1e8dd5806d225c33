/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The signals that ask a process to end: as a file descriptor for poll, or as a variable for a verb
 * that first restores its settings. */
#pragma once

#include <signal.h>

/* Blocks SIGTERM, SIGINT and SIGHUP in this thread and in threads that it creates later, and
 * returns a non-blocking signalfd(2) that receives them. The caller closes it. Also ignores
 * SIGPIPE, so a write to a pipe without a reader returns an error. -1 with errno on failure; the
 * signals are blocked even then. */
int stop_signals_fd(void);

/* The last signal that was caught; 0: none. Only the signal handler writes it. */
extern volatile sig_atomic_t caught_signal;

/* Catches SIGINT, SIGTERM and SIGHUP from now on, and ignores SIGPIPE. The second signal of a kind
 * ends the process immediately, because a session may not answer. The service undoes this process's
 * settings when its connection ends. */
void stop_signals_catch(void);
/* Catches SIGNO, too. */
void stop_signals_catch_also(int signo);
/* Ends the process by the signal SIGNO. Call it after all settings are restored. */
void stop_signals_die(int signo);
