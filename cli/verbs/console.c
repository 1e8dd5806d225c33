/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/console.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/guard.h"
#include "cli/thread.h"

#define ESCAPE	   1 /* Ctrl-A */
#define KEYS_BYTES 256

struct console {
	int signal_fd, end_fd;
	int keys[2]; /* a pipe to the machine */
	pthread_t thread;
	bool has_thread;
	bool is_terminal;
	bool is_escaped; /* Ctrl-A was the last key */
	bool has_stopped;
	int signo;
	void (*stop)(void *ctx);
	void *ctx;
};

/* Global, because a signal handler gets no argument. */
static struct termios terminal_before;
static volatile sig_atomic_t terminal_is_raw;

/* Returns whether another job uses the terminal. That job may have changed its settings, and
 * changing them here would stop this process. */
static bool is_in_background(void)
{
	pid_t foreground = tcgetpgrp(STDIN_FILENO);

	return foreground > 0 && foreground != getpgrp();
}

static void restore_terminal(void)
{
	if (terminal_is_raw && !is_in_background())
		tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before);
	terminal_is_raw = false;
}

static void on_death(int signo)
{
	restore_terminal();
	signal(signo, SIG_DFL);
	raise(signo);
}

/* Delivers keys one by one and unchanged. Output processing stays, for hvtrace's own lines. Keeps
 * the saved settings if the terminal is already raw, because another program may have changed it
 * since. */
static void make_raw(void)
{
	struct termios raw;

	if (is_in_background())
		return;
	if (!terminal_is_raw && tcgetattr(STDIN_FILENO, &terminal_before) != 0)
		return;
	raw = terminal_before;
	cfmakeraw(&raw);
	raw.c_oflag = terminal_before.c_oflag;
	terminal_is_raw = true;
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

static void take_terminal(void)
{
	static const int deaths[] = {SIGABRT, SIGSEGV, SIGBUS,	  SIGFPE,  SIGILL,  SIGSYS,
				     SIGTRAP, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGUSR2};

	atexit(restore_terminal);
	for (size_t i = 0; i < sizeof(deaths) / sizeof(deaths[0]); i++)
		if (signal(deaths[i], on_death) == SIG_IGN)
			signal(deaths[i], SIG_IGN);
	make_raw();
}

static void stop(struct console *c)
{
	if (!c->has_stopped)
		c->stop(c->ctx);
	c->has_stopped = true;
}

/* Removes keys that are meant for hvtrace. Returns the number of remaining keys. */
static size_t filter_keys(struct console *c, uint8_t *keys, size_t nr)
{
	size_t kept = 0;

	for (size_t i = 0; i < nr; i++) {
		if (c->is_escaped && (keys[i] == 'x' || keys[i] == 'X'))
			stop(c);
		else if (c->is_escaped || keys[i] != ESCAPE)
			keys[kept++] = keys[i];
		c->is_escaped = !c->is_escaped && keys[i] == ESCAPE;
	}
	return kept;
}

/* False: no more keys will arrive. */
static bool pass_keys(struct console *c)
{
	uint8_t keys[KEYS_BYTES];
	ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));
	size_t nr, done = 0;

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	if (n == 0)
		return false;
	nr = c->is_terminal ? filter_keys(c, keys, (size_t)n) : (size_t)n;
	while (done < nr && !c->has_stopped) {
		struct pollfd fds[2] = {{c->keys[1], POLLOUT, 0}, {c->end_fd, POLLIN, 0}};

		poll(fds, 2, -1);
		if (fds[1].revents)
			return false;
		n = write(c->keys[1], keys + done, nr - done);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* Stops the whole process until it is continued. Does nothing in an orphaned process group, where
 * no shell could continue it and the kernel ignores the signal. */
static void stop_job(struct console *c)
{
	sigset_t set;

	restore_terminal();
	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	raise(SIGTSTP);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (c->is_terminal)
		make_raw();
}

static void take_signal(struct console *c)
{
	struct signalfd_siginfo info;

	if (read(c->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGTSTP) {
		stop_job(c);
	} else if (info.ssi_signo == SIGCONT) {
		if (c->is_terminal)
			make_raw();
	} else {
		c->signo = (int)info.ssi_signo;
		stop(c);
	}
}

static void *console_main(void *arg)
{
	struct console *c = arg;
	struct pollfd fds[3] = {
		{c->end_fd, POLLIN, 0}, {c->signal_fd, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};

	for (;;) {
		if (poll(fds, 3, -1) < 0)
			continue;
		if (fds[0].revents)
			return NULL;
		if (fds[1].revents)
			take_signal(c);
		if (fds[2].revents && !pass_keys(c))
			fds[2].fd = -1;
	}
}

/* Signals that the caller ignores stay ignored, as under nohup or with the shell's `&`. */
static void add_heard(sigset_t *ret)
{
	static const int heard[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT};
	struct sigaction action;

	sigemptyset(ret);
	for (size_t i = 0; i < sizeof(heard) / sizeof(heard[0]); i++)
		if (sigaction(heard[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(ret, heard[i]);
}

struct hv_err *console_open(struct console **ret, int *ret_in_fd)
{
	struct console *c = hv_alloc(sizeof(*c));
	sigset_t set;

	signal(SIGPIPE, SIG_IGN); /* writes return an error instead */
	signal(SIGXFSZ, SIG_IGN);
	add_heard(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	c->keys[0] = c->keys[1] = -1;
	c->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	c->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->signal_fd < 0 || c->end_fd < 0 || pipe2(c->keys, O_CLOEXEC | O_NONBLOCK) != 0) {
		struct hv_err *err =
			hv_err_new(errno, "cannot prepare the console: %s", strerror(errno));

		console_close(c);
		return err;
	}
	c->is_terminal = isatty(STDIN_FILENO);
	*ret_in_fd = c->keys[0];
	*ret = c;
	return NULL;
}

struct hv_err *console_start(struct console *c, void (*stop_fn)(void *ctx), void *ctx)
{
	struct hv_err *err;

	c->stop = stop_fn;
	c->ctx = ctx;
	if (c->is_terminal)
		take_terminal();
	err = thread_start(&c->thread, console_main, c, "the console");
	c->has_thread = !err;
	return err;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

int console_close(struct console *c)
{
	uint64_t one = 1;
	int signo;

	if (!c)
		return 0;
	if (c->has_thread && write(c->end_fd, &one, sizeof(one)) == sizeof(one))
		pthread_join(c->thread, NULL);
	restore_terminal();
	signo = c->signo;
	close_fd(c->signal_fd);
	close_fd(c->end_fd);
	close_fd(c->keys[0]);
	close_fd(c->keys[1]);
	free(c);
	return signo;
}
