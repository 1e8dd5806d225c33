/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"

#define WIDTH_MIN 40 /* narrower terminals wrap lines themselves */

struct terminal terminal_of(int fd)
{
	const char *no_color = getenv("NO_COLOR"), *name = getenv("TERM");
	struct terminal t = {0};
	struct winsize size;

	if (!isatty(fd))
		return t;
	t.is_terminal = 1;
	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= WIDTH_MIN)
		t.width = size.ws_col;
	t.has_cursor = name && *name && strcmp(name, "dumb") != 0;
	t.has_color = t.has_cursor && !(no_color && *no_color);
	return t;
}

#define CHARACTER_BYTES_MAX 4
#define NR_OUTPUTS	    2

/* Standard output and standard error. */
struct output {
	bool is_filtered;
	pthread_mutex_t lock;
	/* Start of a character; the rest arrives with the next bytes. */
	char begun[CHARACTER_BYTES_MAX];
	size_t nr_begun;
};

static struct output outputs[NR_OUTPUTS] = {{.lock = PTHREAD_MUTEX_INITIALIZER},
					    {.lock = PTHREAD_MUTEX_INITIALIZER}};

static size_t plain_len(const char *at, size_t left)
{
	size_t len = 0;

	while (len < left &&
	       ((at[len] >= ' ' && at[len] <= '~') || at[len] == '\n' || at[len] == '\t'))
		len++;
	return len;
}

/* Returns the number of BYTES at the end that start an incomplete character; they are not added. */
static size_t add_filtered(struct hv_text *out, const char *bytes, size_t len_bytes)
{
	for (size_t i = 0; i < len_bytes;) {
		size_t left = len_bytes - i, len = plain_len(bytes + i, left);

		if (!len)
			len = hv_utf8_safe(bytes + i, left);
		if (len)
			hv_text_add_bytes(out, bytes + i, len);
		else if (hv_utf8_is_begin(bytes + i, left))
			return left;
		else
			hv_text_add_char(out, '?');
		i += len ? len : 1;
	}
	return 0;
}

void terminal_add_text(struct hv_text *out, const char *bytes, size_t len_bytes)
{
	size_t rest;

	hv_text_add(out, "");
	rest = add_filtered(out, bytes, len_bytes);
	hv_text_add_fill(out, '?', rest);
}

static int write_all(int fd, const char *at, size_t len_bytes)
{
	while (len_bytes) {
		ssize_t n = write(fd, at, len_bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		at += n;
		len_bytes -= (size_t)n;
	}
	return 0;
}

static int put_filtered(struct output *o, int fd, const char *bytes, size_t len_bytes)
{
	HV_AUTO_TEXT struct hv_text all = {0}, out = {0};
	size_t rest;
	int code;

	pthread_mutex_lock(&o->lock);
	hv_text_add_bytes(&all, o->begun, o->nr_begun);
	hv_text_add_bytes(&all, bytes, len_bytes);
	rest = add_filtered(&out, all.data, all.len_bytes);
	memcpy(o->begun, all.data + all.len_bytes - rest, rest);
	o->nr_begun = rest;
	code = write_all(fd, out.data, out.len_bytes);
	pthread_mutex_unlock(&o->lock);
	return code;
}

int terminal_put(int fd, const void *bytes, size_t len_bytes)
{
	struct output *o = &outputs[fd - STDOUT_FILENO];

	return o->is_filtered ? put_filtered(o, fd, bytes, len_bytes)
			      : write_all(fd, bytes, len_bytes);
}

int terminal_put_own(int fd, const char *text)
{
	return write_all(fd, text, strlen(text));
}

ssize_t terminal_write(int fd, const void *bytes, size_t len_bytes)
{
	HV_AUTO_TEXT struct hv_text out = {0};
	int code;

	terminal_add_text(&out, bytes, len_bytes);
	code = write_all(fd, out.data, out.len_bytes);
	errno = code;
	return code ? -1 : (ssize_t)len_bytes;
}

static ssize_t put_of_stdio(void *cookie, const char *bytes, size_t len_bytes)
{
	struct output *o = cookie;
	int code =
		put_filtered(o, o == &outputs[0] ? STDOUT_FILENO : STDERR_FILENO, bytes, len_bytes);

	errno = code;
	return code ? 0 : (ssize_t)len_bytes;
}

/* Libraries print through these streams, too. */
static FILE *filtered_stream(int fd, FILE *stream, int buffering)
{
	struct output *o = &outputs[fd - STDOUT_FILENO];
	FILE *filtered;

	if (!isatty(fd))
		return stream;
	filtered = fopencookie(o, "w", (cookie_io_functions_t){.write = put_of_stdio});
	if (!filtered)
		abort();
	setvbuf(filtered, NULL, buffering, BUFSIZ);
	o->is_filtered = true;
	return filtered;
}

void terminal_filter_output(void)
{
	stdout = filtered_stream(STDOUT_FILENO, stdout, _IOLBF);
	stderr = filtered_stream(STDERR_FILENO, stderr, _IONBF);
}

/* Returns the width in columns, one per UTF-8 character. */
static unsigned columns(const char *text, size_t len)
{
	unsigned nr = 0;

	for (size_t i = 0; i < len; i++)
		nr += ((unsigned char)text[i] & 0xc0) != 0x80;
	return nr;
}

/* Returns the number of bytes of LINE for a line of WIDTH columns: up to a blank, or all of a
 * longer word. */
static size_t fitting(const char *line, size_t len, unsigned width)
{
	size_t end = 0;

	if (columns(line, len) <= width)
		return len;
	for (size_t i = 1; i < len; i++)
		if (line[i] == ' ' && line[i - 1] != ' ' && (!end || columns(line, i) <= width))
			end = i;
	return end ? end : len;
}

static void add_folded(struct hv_text *out, const struct terminal *t, const char *line, size_t len,
		       unsigned indent)
{
	unsigned width = t->width;
	size_t lead = 0;

	if (!width || indent + WIDTH_MIN / 2 > width) {
		hv_text_add_bytes(out, line, len);
		return;
	}
	while (lead < len && line[lead] == ' ')
		lead++;
	hv_text_add_bytes(out, line, lead);
	line += lead, len -= lead, width -= (unsigned)lead < width ? (unsigned)lead : 0;
	for (;;) {
		size_t fits = fitting(line, len, width);

		hv_text_add_bytes(out, line, fits);
		while (fits < len && line[fits] == ' ')
			fits++;
		line += fits, len -= fits, width = t->width - indent;
		if (!len)
			return;
		hv_text_add_char(out, '\n');
		hv_text_add_fill(out, ' ', indent);
	}
}

static const struct terminal_mark *mark_of(const char *line, size_t len,
					   const struct terminal_mark *marks, size_t nr_marks)
{
	for (size_t i = 0; i < nr_marks; i++) {
		size_t begin = strlen(marks[i].begin);

		if (begin <= len && memcmp(line, marks[i].begin, begin) == 0)
			return &marks[i];
	}
	return NULL;
}

void terminal_add(struct hv_text *out, const struct terminal *t, const char *lines, unsigned indent,
		  const struct terminal_mark *marks, size_t nr_marks)
{
	static const char *const colors[] = {[TERMINAL_PLAIN] = "",
					     [TERMINAL_RED] = "\033[31m",
					     [TERMINAL_GREEN] = "\033[32m",
					     [TERMINAL_YELLOW] = "\033[33m"};

	for (size_t len; *lines; lines += len + (lines[len] == '\n')) {
		HV_AUTO_TEXT struct hv_text line = {0}, folded = {0};
		const struct terminal_mark *mark;
		unsigned keep;

		len = strcspn(lines, "\n");
		mark = mark_of(lines, len, marks, nr_marks);
		hv_text_add(&line, "");
		if (t->is_terminal)
			terminal_add_text(&line, lines, len);
		else
			hv_text_add_bytes(&line, lines, len);
		if (mark && mark->is_whole)
			hv_text_add_bytes(&folded, line.data, line.len_bytes);
		else
			add_folded(&folded, t, line.data, line.len_bytes, indent);
		mark = t->has_color && mark && mark->color ? mark : NULL;
		hv_text_add(&folded, "");
		keep = mark && mark->keep < folded.len_bytes ? mark->keep : 0;
		hv_text_add_bytes(out, folded.data, keep);
		hv_text_add(out, mark ? colors[mark->color] : "");
		hv_text_add(out, folded.data + keep);
		hv_text_add(out, mark ? "\033[m\n" : "\n");
	}
}

/* -- progress --------------------------------------------------------------------------------- */

#define ERASE	    "\r\033[K"
#define MESSAGE_MAX 256

static void put(const char *text, size_t len)
{
	ssize_t n = write(STDERR_FILENO, text, len);

	(void)n; /* the terminal may be gone */
}

/* Leaves the cursor at the start of the line, so that the next message overwrites it. */
static void say(const char *text, uint64_t began_ns, uint64_t limit_ns)
{
	unsigned long long s = (hv_now_ns() - began_ns) / HV_NS_PER_S;
	HV_AUTO_TEXT struct hv_text line = {0};

	hv_text_printf(&line, ERASE "%.*s: %llu s", MESSAGE_MAX, text, s);
	if (limit_ns)
		hv_text_printf(&line, " of %g s", (double)limit_ns / HV_NS_PER_S);
	hv_text_add_char(&line, '\r');
	put(line.data, line.len_bytes);
}

static void watch(const char *text, uint64_t limit_ns, int end)
{
	uint64_t began_ns = hv_now_ns(), next_ns = began_ns + HV_NS_PER_S;
	struct pollfd ended = {end, POLLIN, 0};
	bool has_said = false;

	for (;;) {
		int ready = poll(&ended, 1, hv_left_ms(next_ns));

		if (ready > 0)
			break;
		if (ready < 0)
			continue;
		say(text, began_ns, limit_ns);
		has_said = true;
		next_ns += HV_NS_PER_S;
	}
	if (has_said)
		put(ERASE, strlen(ERASE));
}

/* Closes the files of the parent and ignores the terminal's signals. Ends with PARENT, which may
 * already have ended. */
static void become(const char *text, uint64_t limit_ns, int end, pid_t parent)
{
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	close(STDOUT_FILENO);
	dup2(end, STDIN_FILENO);
	close_range(STDERR_FILENO + 1, ~0u, 0);
	watch(text, limit_ns, STDIN_FILENO);
	_exit(0);
}

void progress_begin(struct progress *p, uint64_t limit_ns, const char *what, const char *name)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	pid_t self = getpid();
	int ends[2];

	progress_end(p);
	if (!terminal_of(STDERR_FILENO).has_cursor || pipe2(ends, O_CLOEXEC) != 0)
		return;
	hv_text_printf(&text, "%s ", what);
	hv_text_add_utf8(&text, name, MESSAGE_MAX);
	hv_text_add(&text, "");
	p->end = ends[1];
	p->pid = fork();
	if (p->pid == 0)
		become(text.data, limit_ns, ends[0], self);
	close(ends[0]);
	if (p->pid > 0)
		return;
	p->pid = 0;
	close(p->end);
}

/* Writes a byte because end of file may not arrive: processes that were forked in between also have
 * the pipe open. */
void progress_end(struct progress *p)
{
	ssize_t n;

	if (!p->pid)
		return;
	n = write(p->end, "", 1);
	(void)n; /* it may have ended */
	close(p->end);
	while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
		;
	p->pid = 0;
}
