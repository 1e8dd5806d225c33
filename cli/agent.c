/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/agent.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* After sys/socket.h, which it needs. */
#include <linux/vm_sockets.h>

#include "base/clock.h"
#include "base/prefix.h"
#include "base/text.h"

/* -- reading a report -------------------------------------------------------------------------- */

#define VSOCK "vsock:"

static uint64_t time_of_day_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * HV_NS_PER_S + (uint64_t)ts.tv_nsec;
}

static struct hv_err *system_error(const char *where, int error)
{
	return hv_err_new(error, "%s: %s", where, strerror(error));
}

/* The agent's side may never accept, and a blocking connect would then wait forever. */
static struct hv_err *connect_unix(const char *path, int *ret_fd)
{
	HV_AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(at.sun_path))
		return system_error(path, ENAMETOOLONG);
	strcpy(at.sun_path, path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) != 0)
		return errno == EAGAIN ? hv_err_new(EAGAIN,
						    "%s: too many clients are waiting for the "
						    "agent; try again",
						    path)
				       : system_error(path, errno);
	*ret_fd = hv_take_fd(&fd);
	return NULL;
}

static bool parse_vsock(const char *where, struct sockaddr_vm *ret)
{
	unsigned long long numbers[2];
	const char *at = where + strlen(VSOCK);

	for (unsigned i = 0; i < HV_ARRAY_LEN(numbers); i++) {
		char *end;

		errno = 0;
		if (*at < '0' || *at > '9')
			return false;
		numbers[i] = strtoull(at, &end, 10);
		if (errno || numbers[i] >= UINT32_MAX || *end != (i ? '\0' : ':'))
			return false;
		at = end + 1;
	}
	*ret = (struct sockaddr_vm){.svm_family = AF_VSOCK,
				    .svm_cid = (unsigned)numbers[0],
				    .svm_port = (unsigned)numbers[1]};
	return true;
}

static int wait_connected(int fd)
{
	uint64_t until_ns = hv_now_ns() + AGENT_PATIENCE_S * HV_NS_PER_S;
	struct pollfd one = {.fd = fd, .events = POLLOUT};
	socklen_t len = sizeof(int);
	int error = 0, left_ms;

	while ((left_ms = hv_left_ms(until_ns)) && poll(&one, 1, left_ms) <= 0)
		if (errno != EINTR)
			break;
	if (!one.revents)
		return ETIMEDOUT;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 ? error : errno;
}

static struct hv_err *connect_vsock(const char *where, int *ret_fd)
{
	HV_AUTO_FD int fd = -1;
	struct sockaddr_vm at;
	int error = 0;

	if (!parse_vsock(where, &at))
		return hv_err_new(EINVAL, "'%s' is not vsock:CID:PORT", where);
	fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return system_error(where, errno);
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) != 0)
		error = errno == EINPROGRESS ? wait_connected(fd) : errno;
	if (error)
		return system_error(where, error);
	*ret_fd = hv_take_fd(&fd);
	return NULL;
}

struct hv_err *agent_connect(const char *where, int *ret_fd)
{
	bool is_vsock = hv_starts_with(where, VSOCK);

	return is_vsock ? connect_vsock(where, ret_fd) : connect_unix(where, ret_fd);
}

static struct hv_err *no_round(const char *where)
{
	return hv_err_new(EPROTO, "%s: the peer does not speak the protocol of hvtrace-agent",
			  where);
}

static struct hv_err *hear(struct agent_hearing *h, int fd, const char *where)
{
	uint64_t until_ns = hv_now_ns() + AGENT_PATIENCE_S * HV_NS_PER_S;
	char bytes[16384];
	size_t nr_bytes = 0;

	while (h->heard == AGENT_GOES_ON) {
		struct pollfd one = {.fd = fd, .events = POLLIN};
		int left_ms = hv_left_ms(until_ns);
		ssize_t n;

		if (!left_ms)
			return hv_err_new(ETIMEDOUT, "%s: no agent answered within %d s", where,
					  AGENT_PATIENCE_S);
		if (poll(&one, 1, left_ms) < 0 && errno != EINTR)
			return system_error(where, errno);
		n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n < 0)
			return system_error(where, errno);
		nr_bytes += (size_t)n;
		if (!n || nr_bytes > AGENT_BYTES_MAX)
			return no_round(where);
		agent_hearing_take(h, bytes, (size_t)n, time_of_day_ns());
	}
	if (h->heard == AGENT_OTHER_VERSION)
		return hv_err_new(EPROTO, "%s: the agent speaks another version of the protocol",
				  where);
	return NULL;
}

struct hv_err *agent_read(int fd, const char *where, struct agent_round *ret)
{
	struct agent_hearing *h = hv_alloc(sizeof(*h));
	struct hv_err *err = hear(h, fd, where);

	if (!err)
		agent_hearing_finish(h, ret);
	agent_hearing_deinit(h);
	free(h);
	return err;
}

/* -- parsing a report -------------------------------------------------------------------------- */

#define NAME  "hvtrace-agent "
#define BEGIN NAME "1"

void agent_round_deinit(struct agent_round *r)
{
	for (size_t i = 0; i < r->nr; i++)
		free(r->tasks[i].cgroup);
	for (size_t i = 0; i < r->nr_files; i++)
		free(r->files[i].path);
	free(r->tasks);
	free(r->files);
	free(r->maps);
	*r = (struct agent_round){0};
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Parses a number of at most MAX at *AT, and the following blank or the end of the line. */
static bool take_number(const char **at, unsigned base, uint64_t max, uint64_t *ret)
{
	const char *c = *at;
	uint64_t value = 0;

	for (; hex(*c) >= 0 && (unsigned)hex(*c) < base; c++) {
		unsigned digit = (unsigned)hex(*c);

		if (digit > max || value > (max - digit) / base)
			return false;
		value = value * base + digit;
	}
	if (c == *at || (*c && *c != ' '))
		return false;
	*at = c + (*c == ' ');
	*ret = value;
	return true;
}

/* Returns the value of an upper-case hex digit, or -1. */
static int code(char c)
{
	return c >= 'a' ? -1 : hex(c);
}

/* Decodes %XX escapes. */
static char *unescaped(const char *text)
{
	HV_AUTO_TEXT struct hv_text raw = {0}, shown = {0};

	for (; *text && raw.len_bytes < AGENT_NAME_MAX; text++) {
		bool is_code = *text == '%' && code(text[1]) >= 0 && code(text[2]) >= 0;

		hv_text_add_char(&raw,
				 is_code ? (char)(16 * code(text[1]) + code(text[2])) : *text);
		text += is_code ? 2 : 0;
	}
	hv_text_add_utf8(&shown, raw.len_bytes ? raw.data : "", raw.len_bytes);
	return hv_text_take(&shown);
}

/* "-" means no build ID. */
static bool take_build_id(const char **at, struct agent_file *f)
{
	const char *c = *at;

	for (; hex(c[0]) >= 0 && hex(c[1]) >= 0; c += 2) {
		if (f->build_id_len == AGENT_BUILD_ID_MAX)
			return false;
		f->build_id[f->build_id_len++] = (uint8_t)(16 * hex(c[0]) + hex(c[1]));
	}
	c += c == *at && *c == '-';
	if (c == *at || *c != ' ')
		return false;
	*at = c + 1;
	return true;
}

/* Parsers for the kinds of lines. Invalid lines are ignored. */

/* Makes room for one more element after the NR elements of LIST. */
#define GROW(list, nr)                                                                             \
	((nr) & ((nr)-1) ? (list) : hv_realloc_array((list), (nr) ? 2 * (nr) : 1, sizeof(*(list))))

static void add_task(struct agent_round *r, const char *words)
{
	uint64_t pid;

	if (!take_number(&words, 10, INT32_MAX, &pid) || !pid || !*words ||
	    r->nr == AGENT_TASKS_MAX)
		return;
	r->tasks = GROW(r->tasks, r->nr);
	r->tasks[r->nr++] = (struct agent_task){(uint32_t)pid, unescaped(words)};
}

/* The agent numbers files 1, 2, ... in the order of their lines. */
static void add_file(struct agent_round *r, const char *words)
{
	struct agent_file f = {0};
	uint64_t number;

	if (!take_number(&words, 10, AGENT_FILES_MAX, &number) || number != r->nr_files + 1 ||
	    !take_build_id(&words, &f) || !*words)
		return;
	f.path = unescaped(words);
	r->files = GROW(r->files, r->nr_files);
	r->files[r->nr_files++] = f;
}

static void add_map(struct agent_round *r, const char *words)
{
	struct agent_map m = {0};
	uint64_t pid, number;

	if (!take_number(&words, 10, INT32_MAX, &pid) || !pid ||
	    !take_number(&words, 16, UINT64_MAX, &m.start) ||
	    !take_number(&words, 16, UINT64_MAX, &m.end) ||
	    !take_number(&words, 16, UINT64_MAX, &m.offset) ||
	    !take_number(&words, 10, r->nr_files, &number) || !number || *words ||
	    m.start >= m.end || r->nr_maps == AGENT_MAPS_MAX)
		return;
	m.pid = (uint32_t)pid;
	m.file = (uint32_t)number - 1;
	r->maps = GROW(r->maps, r->nr_maps);
	r->maps[r->nr_maps++] = m;
}

static void set_clock(struct agent_round *r, const char *words, uint64_t now_ns)
{
	struct agent_clock c = {.heard_ns = now_ns};
	size_t len = 0;

	if (!take_number(&words, 10, INT64_MAX, &c.realtime_ns) ||
	    !take_number(&words, 10, INT64_MAX, &c.monotonic_ns))
		return;
	for (; (*words >= 'a' && *words <= 'z') || (*words >= '0' && *words <= '9'); words++) {
		if (len == AGENT_COUNTER_MAX - 1)
			return;
		c.counter[len++] = *words;
	}
	if (!len || *words++ != ' ' || !take_number(&words, 10, INT64_MAX, &c.counter_value) ||
	    *words)
		return;
	r->clock = c;
	r->has_clock = true;
}

static void take_words(struct agent_round *r, const char *line, uint64_t now_ns)
{
	const char *words;

	if ((words = hv_after_prefix(line, "task ")))
		add_task(r, words);
	else if ((words = hv_after_prefix(line, "file ")))
		add_file(r, words);
	else if ((words = hv_after_prefix(line, "map ")))
		add_map(r, words);
	else if ((words = hv_after_prefix(line, "clock ")))
		set_clock(r, words, now_ns);
	else if (strcmp(line, "cut") == 0)
		r->is_cut = true;
}

/* The connection may start in the middle of a round, so lines before the first line of a round are
 * ignored. */
static void take_line(struct agent_hearing *h, uint64_t now_ns)
{
	h->line[h->len] = '\0';
	if (strcmp(h->line, BEGIN) == 0) {
		agent_round_deinit(&h->round);
		h->has_begun = true;
	} else if (hv_starts_with(h->line, NAME)) {
		h->heard = AGENT_OTHER_VERSION;
	} else if (h->has_begun && strcmp(h->line, "end") == 0) {
		h->heard = AGENT_ENDED;
	} else if (h->has_begun) {
		take_words(&h->round, h->line, now_ns);
	}
}

enum agent_heard agent_hearing_take(struct agent_hearing *h, const char *bytes, size_t len,
				    uint64_t now_ns)
{
	for (size_t i = 0; i < len && h->heard == AGENT_GOES_ON; i++) {
		if (bytes[i] != '\n') {
			h->is_long |= h->len == AGENT_LINE_MAX - 1;
			if (!h->is_long)
				h->line[h->len++] = bytes[i];
			continue;
		}
		if (!h->is_long)
			take_line(h, now_ns);
		h->len = 0;
		h->is_long = false;
	}
	return h->heard;
}

void agent_hearing_deinit(struct agent_hearing *h)
{
	agent_round_deinit(&h->round);
}

static int compare_tasks(const void *a, const void *b)
{
	const struct agent_task *one = a, *other = b;
	int by_name = strcmp(one->cgroup, other->cgroup);

	return by_name ? by_name : (one->pid > other->pid) - (one->pid < other->pid);
}

static int compare_maps(const void *a, const void *b)
{
	const struct agent_map *one = a, *other = b;

	if (one->pid != other->pid)
		return one->pid > other->pid ? 1 : -1;
	return (one->start > other->start) - (one->start < other->start);
}

void agent_hearing_finish(struct agent_hearing *h, struct agent_round *ret)
{
	struct agent_round *r = &h->round;

	if (r->nr)
		qsort(r->tasks, r->nr, sizeof(*r->tasks), compare_tasks);
	if (r->nr_maps)
		qsort(r->maps, r->nr_maps, sizeof(*r->maps), compare_maps);
	*ret = *r;
	*r = (struct agent_round){0};
}
