/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/stop_signals.h"

#include <stddef.h>
#include <sys/signalfd.h>

int stop_signals_fd(void)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

volatile sig_atomic_t caught_signal;

static void on_signal(int signo)
{
	caught_signal = signo;
}

void stop_signals_catch_also(int signo)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND};

	sigaction(signo, &action, NULL);
}

void stop_signals_catch(void)
{
	stop_signals_catch_also(SIGINT);
	stop_signals_catch_also(SIGTERM);
	stop_signals_catch_also(SIGHUP);
	signal(SIGPIPE, SIG_IGN);
}

void stop_signals_die(int signo)
{
	signal(signo, SIG_DFL);
	raise(signo);
}
