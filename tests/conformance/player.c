/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plays a script of file operations on a tree (backend.h) and prints the result of each, so that
 * the transcripts of two trees can be compared. Usage: player WHERE <SCRIPT >TRANSCRIPT
 *
 *   # comment
 *   ls DIR | cat FILE | stat PATH | mkdir PATH | rmdir PATH
 *   echo TEXT > FILE | echo TEXT >> FILE | printf TEXT > FILE    as a shell does them
 *   open HANDLE MODE FILE     MODE of r, w, t (truncate), n (non-blocking); HANDLE is a digit
 *   write HANDLE TEXT | read HANDLE LEN | rewind HANDLE | close HANDLE
 *   fill HANDLE NR TEXT       one write of TEXT repeated NR times
 *
 * TEXT may contain \n, \t, \0, \\ and \xNN. Each line is shown after '$ '; a failed call shows '= ERRNO',
 * a write its count; bytes read are shown as they are. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/backend.h"
#include "tests/lib/script.h"

#define LINE_MAX_BYTES 8192
#define LIST_MAX_BYTES 65536

static int handles[10] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1};

/* Prints errno and returns true if RESULT is negative. */
static int failed(long result)
{
	if (result >= 0)
		return 0;
	printf("= %s\n", strerrorname_np(errno));
	return 1;
}

static void do_cat(const char *path)
{
	int handle = backend_open(path, O_RDONLY);
	char buf[65536];
	ssize_t n;

	if (failed(handle))
		return;
	while (!failed(n = backend_read(handle, buf, sizeof(buf))) && n)
		fwrite(buf, 1, (size_t)n, stdout);
	failed(backend_close(handle));
}

/* Writes like a shell's echo: continues after a short write, and stops at an error. */
static void do_redirect(char *args, int newline)
{
	char *arrow = strstr(args, "> ");
	int append = arrow && arrow > args && arrow[-1] == '>';
	size_t len, done = 0;
	char *text = args;
	int handle;

	if (!arrow) {
		printf("= no '>'\n");
		return;
	}
	arrow[append ? -1 : 0] = '\0';
	len = strlen(text);
	if (len && text[len - 1] == ' ')
		text[len - 1] = '\0';
	len = unescape(text);
	if (newline)
		text[len++] = '\n'; /* overwrites the blank or the arrow */
	handle = backend_open(arrow + 2, O_WRONLY | (append ? 0 : O_TRUNC));
	if (failed(handle))
		return;
	while (done < len) {
		ssize_t n = backend_write(handle, text + done, len - done);

		if (failed(n) || n == 0)
			break;
		done += (size_t)n;
	}
	failed(backend_close(handle));
}

static void do_open(char *args)
{
	unsigned slot = (unsigned)atoi(next_word(&args)) % 10;
	const char *mode = next_word(&args);
	int flags = strchr(mode, 'r') ? strchr(mode, 'w') ? O_RDWR : O_RDONLY : O_WRONLY;

	flags |= strchr(mode, 't') ? O_TRUNC : 0;
	flags |= strchr(mode, 'n') ? O_NONBLOCK : 0;
	handles[slot] = backend_open(args, flags);
	failed(handles[slot]);
}

static void do_fill(int handle, char *args)
{
	size_t nr = (size_t)atoi(next_word(&args)), len = unescape(args);
	char *buf = malloc(nr * len + 1);
	ssize_t n;

	if (!buf)
		abort();
	for (size_t i = 0; i < nr; i++)
		memcpy(buf + i * len, args, len);
	n = backend_write(handle, buf, nr * len);
	if (!failed(n))
		printf("= %zd\n", n);
	free(buf);
}

static void do_handle(const char *command, char *args)
{
	unsigned slot = (unsigned)atoi(next_word(&args)) % 10;
	static char buf[1 << 20];
	ssize_t n;

	if (strcmp(command, "write") == 0) {
		n = backend_write(handles[slot], args, unescape(args));
		if (!failed(n))
			printf("= %zd\n", n);
	} else if (strcmp(command, "read") == 0) {
		n = backend_read(handles[slot], buf, (size_t)atoi(args) % sizeof(buf));
		if (!failed(n))
			printf("= %zd '%.*s'\n", n, (int)n, buf);
	} else if (strcmp(command, "rewind") == 0) {
		failed(backend_rewind(handles[slot]));
	} else if (strcmp(command, "fill") == 0) {
		do_fill(handles[slot], args);
	} else {
		failed(backend_close(handles[slot]));
		handles[slot] = -1;
	}
}

static void do_stat(const char *path)
{
	unsigned mode, is_dir;

	if (!failed(backend_stat(path, &mode, &is_dir)))
		printf("= %s %04o\n", is_dir ? "directory" : "file", mode);
}

static void do_ls(const char *path)
{
	static char names[LIST_MAX_BYTES];

	if (!failed(backend_list(path, names, sizeof(names))))
		printf("%s", names);
}

static void do_line(char *line)
{
	const char *command;

	printf("$ %s\n", line);
	command = next_word(&line);
	if (strcmp(command, "ls") == 0)
		do_ls(line);
	else if (strcmp(command, "cat") == 0)
		do_cat(line);
	else if (strcmp(command, "stat") == 0)
		do_stat(line);
	else if (strcmp(command, "mkdir") == 0)
		failed(backend_mkdir(line));
	else if (strcmp(command, "rmdir") == 0)
		failed(backend_rmdir(line));
	else if (strcmp(command, "echo") == 0)
		do_redirect(line, 1);
	else if (strcmp(command, "printf") == 0)
		do_redirect(line, 0);
	else if (strcmp(command, "open") == 0)
		do_open(line);
	else if (strcmp(command, "write") == 0 || strcmp(command, "read") == 0 ||
		 strcmp(command, "rewind") == 0 || strcmp(command, "fill") == 0 ||
		 strcmp(command, "close") == 0)
		do_handle(command, line);
	else
		printf("= unknown command '%s'\n", command);
}

int main(int argc, char **argv)
{
	static char line[LINE_MAX_BYTES];

	if (argc != 2 || backend_begin(argv[1]) != 0) {
		fprintf(stderr, "player: %s\n",
			argc == 2 ? strerror(errno) : "usage: player WHERE");
		return 2;
	}
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] && line[0] != '#')
			do_line(line);
		fflush(stdout);
	}
	return 0;
}
