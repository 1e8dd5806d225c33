/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/stop_signals.h"

#include <signal.h>
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
