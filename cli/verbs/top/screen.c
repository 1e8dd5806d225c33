/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/top/screen.h"

#include <curses.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <unistd.h>

#include "cli/terminal.h"
#include "cli/verbs/terminal_guard.h"

#define LINE_MAX_BYTES 1024
#define REDRAW	       ('l' & 0x1f) /* Ctrl-L */

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
	struct hv_err *err;
	int code;

	if (setupterm(NULL, STDOUT_FILENO, &code) != OK)
		return false;
	hv_text_add(&bytes, "");
	add_bytes(&bytes, "sgr0");
	add_bytes(&bytes, "rmkx");
	add_bytes(&bytes, "cnorm");
	add_bytes(&bytes, "rmcup");
	del_curterm(cur_term); /* newterm() makes its own */
	err = terminal_guard_start(bytes.data, &s->guard);
	hv_err_free(err);
	return !err;
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
		terminal_guard_stop(s->guard);
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
	terminal_guard_stop(s->guard);
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

		show_line((int)y, at, len, strncmp(at, "DOMAIN", strlen("DOMAIN")) == 0);
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
