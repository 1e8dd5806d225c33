/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/top/screen.h"

#include <curses.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include "base/err.h"
#include "base/guard.h"
#include "base/prefix.h"
#include "cli/terminal.h"

/* -- guard of the terminal --------------------------------------------------------------------- */

/* Restores a terminal if the process that changed it ends without doing so, even by SIGKILL. A
 * child process waits for that. */

#define PIPE_FD 3 /* in the child, after standard input, output and error */

struct terminal_guard {
	pid_t pid;
	int fd; /* write end of the child's pipe; a byte means that the terminal was restored */
};

/* Ignores signals that end or stop a process, including SIGTTOU for changes of the terminal by a
 * background process. */
static void ignore_signals(void)
{
	static const int ignored[] = {SIGINT,  SIGTERM, SIGHUP,	 SIGQUIT, SIGTSTP,
				      SIGTTIN, SIGTTOU, SIGPIPE, SIGWINCH};
	sigset_t none;

	for (size_t i = 0; i < HV_ARRAY_LEN(ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The child. Closes inherited files, because a session's connection must end when the parent
 * ends. */
static void wait_and_restore(int fd, const struct termios *before, const char *bytes)
{
	char byte;
	ssize_t n;

	ignore_signals();
	prctl(PR_SET_NAME, "hvtrace:screen");
	if (fd != PIPE_FD && dup2(fd, PIPE_FD) < 0)
		_exit(1);
	close_range(PIPE_FD + 1, ~0u, 0);
	do
		n = read(PIPE_FD, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1)
		_exit(0);
	tcsetattr(STDIN_FILENO, TCSANOW, before);
	n = write(STDOUT_FILENO, bytes, strlen(bytes));
	_exit(n < 0);
}

/* Starts to guard the terminal on standard input and output before it is changed. The child writes
 * BYTES to restore it. The child keeps no other file open. Returns NULL if there is no child. */
static struct terminal_guard *guard_start(const char *bytes)
{
	struct terminal_guard *g;
	struct termios before;
	int fds[2];
	pid_t pid;

	if (tcgetattr(STDIN_FILENO, &before) != 0 || pipe2(fds, O_CLOEXEC) != 0)
		return NULL;
	pid = fork();
	if (pid == 0) {
		close(fds[1]);
		wait_and_restore(fds[0], &before, bytes);
	}
	close(fds[0]);
	if (pid < 0) {
		close(fds[1]);
		return NULL;
	}
	g = hv_alloc(sizeof(*g));
	*g = (struct terminal_guard){pid, fds[1]};
	return g;
}

/* Call it after restoring the terminal. */
static void guard_stop(struct terminal_guard *g)
{
	if (!g)
		return;
	if (write(g->fd, "", 1) != 1)
		errno = 0; /* it may have ended */
	close(g->fd);
	while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(g);
}

/* -- screen ------------------------------------------------------------------------------------ */

#define REDRAW ('l' & 0x1f) /* Ctrl-L */

struct top_screen {
	SCREEN *screen;
	FILE *out; /* owned; not filtered, because ncurses writes escape sequences */
	struct terminal_guard *guard;
};

/* Appends the terminal's sequence for CAPABILITY, if it has one. */
static void add_bytes(struct hv_text *t, const char *capability)
{
	const char *bytes = tigetstr(capability);

	if (bytes && bytes != (const char *)-1)
		hv_text_add(t, bytes);
}

/* Starts a guard with the sequences that show the cursor and leave ncurses' screen. */
static bool start_guard(struct top_screen *s)
{
	HV_AUTO_TEXT struct hv_text bytes = {0};
	int code;

	if (setupterm(NULL, STDOUT_FILENO, &code) != OK)
		return false;
	hv_text_add(&bytes, "");
	add_bytes(&bytes, "sgr0");
	add_bytes(&bytes, "rmkx");
	add_bytes(&bytes, "cnorm");
	add_bytes(&bytes, "rmcup");
	del_curterm(cur_term); /* newterm() makes its own */
	s->guard = guard_start(bytes.data);
	return s->guard != NULL;
}

static void prepare(void)
{
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	curs_set(0);
}

static FILE *open_output(void)
{
	HV_AUTO_FD int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (out)
		fd = -1;
	return out;
}

static void close_output(struct top_screen *s)
{
	if (s->out)
		fclose(s->out);
}

bool top_screen_open(struct top_screen **ret)
{
	struct top_screen *s;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return false;
	s = hv_alloc(sizeof(*s));
	s->out = open_output();
	s->screen = s->out && start_guard(s) ? newterm(NULL, s->out, stdin) : NULL;
	if (!s->screen) {
		guard_stop(s->guard);
		close_output(s);
		free(s);
		return false;
	}
	prepare();
	*ret = s;
	return true;
}

void top_screen_close(struct top_screen *s)
{
	if (!s)
		return;
	endwin();
	delscreen(s->screen);
	guard_stop(s->guard);
	close_output(s);
	free(s);
}

unsigned top_screen_lines(const struct top_screen *s hv_unused)
{
	return LINES > 1 ? (unsigned)LINES - 1 : 0;
}

static void show_line(int y, const char *line, size_t len, bool is_head)
{
	if (is_head)
		attron(A_REVERSE);
	mvaddnstr(y, 0, line, (int)(len < (size_t)COLS ? len : (size_t)COLS));
	if (is_head)
		attroff(A_REVERSE);
}

void top_screen_show(struct top_screen *s, const char *title, const struct hv_text *text)
{
	HV_AUTO_TEXT struct hv_text shown = {0};
	const char *at;

	terminal_add_text(&shown, text->data ? text->data : "", text->len_bytes);
	at = shown.data;
	erase();
	show_line(0, title, strlen(title), false);
	for (unsigned y = 1; y <= top_screen_lines(s) && *at; y++) {
		size_t len = strcspn(at, "\n");

		show_line((int)y, at, len, hv_starts_with(at, "DOMAIN"));
		at += len + (at[len] == '\n');
	}
	refresh();
}

int top_screen_key(struct top_screen *s hv_unused, int wait_ms)
{
	struct pollfd keys = {STDIN_FILENO, POLLIN, 0};
	int key;

	/* getch() cannot distinguish a vanished terminal from a missing key. */
	if (poll(&keys, 1, wait_ms) > 0 && (keys.revents & (POLLHUP | POLLERR | POLLNVAL)))
		return TOP_KEY_GONE;
	timeout(0);
	key = getch();
	if (key == KEY_RESIZE)
		return TOP_KEY_SHOW;
	if (key == REDRAW) {
		clearok(stdscr, TRUE);
		return TOP_KEY_SHOW;
	}
	return key > 0 && key < 0x80 ? key : TOP_KEY_NONE;
}
