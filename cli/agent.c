/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/agent.h"

#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/text.h"

#define BEGIN "hvtrace-agent 1"
#define END   "end"
#define TASK  "task "

struct reader {
	const char *path;
	struct agent_round round;
	char line[AGENT_LINE_MAX];
	size_t len;
	bool is_long; /* the line is longer, and is ignored */
	bool has_begun, has_ended;
	size_t nr_bytes;
};

void agent_round_deinit(struct agent_round *r)
{
	for (size_t i = 0; i < r->nr; i++)
		free(r->tasks[i].cgroup);
	free(r->tasks);
	*r = (struct agent_round){0};
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* TEXT has %XX for some bytes. */
static char *unescaped(const char *text)
{
	HV_AUTO_TEXT struct hv_text raw = {0}, shown = {0};

	for (; *text && raw.len_bytes < AGENT_NAME_MAX; text++) {
		bool is_code = *text == '%' && hex(text[1]) >= 0 && hex(text[2]) >= 0;

		hv_text_add_char(&raw, is_code ? (char)(16 * hex(text[1]) + hex(text[2])) : *text);
		text += is_code ? 2 : 0;
	}
	hv_text_add_utf8(&shown, raw.len_bytes ? raw.data : "", raw.len_bytes);
	return hv_text_take(&shown);
}

static void add_task(struct agent_round *r, const char *words)
{
	char *end;
	unsigned long pid = strtoul(words, &end, 10);

	if (*words < '0' || *words > '9' || *end != ' ' || !end[1] || !pid || pid > INT32_MAX ||
	    r->nr == AGENT_TASKS_MAX)
		return;
	if (!(r->nr & (r->nr - 1)))
		r->tasks = hv_realloc_array(r->tasks, r->nr ? 2 * r->nr : 1, sizeof(*r->tasks));
	r->tasks[r->nr++] = (struct agent_task){(uint32_t)pid, unescaped(end + 1)};
}

/* A round may have been begun before we came, so what is before its first line is ignored. */
static void take_line(struct reader *r)
{
	r->line[r->len] = '\0';
	if (strcmp(r->line, BEGIN) == 0) {
		agent_round_deinit(&r->round);
		r->has_begun = true;
	} else if (r->has_begun && strcmp(r->line, END) == 0) {
		r->has_ended = true;
	} else if (r->has_begun && strncmp(r->line, TASK, strlen(TASK)) == 0) {
		add_task(&r->round, r->line + strlen(TASK));
	}
}

static void take_bytes(struct reader *r, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len && !r->has_ended; i++) {
		if (bytes[i] != '\n') {
			r->is_long |= r->len == AGENT_LINE_MAX - 1;
			if (!r->is_long)
				r->line[r->len++] = bytes[i];
			continue;
		}
		if (!r->is_long)
			take_line(r);
		r->len = 0;
		r->is_long = false;
	}
}

static struct hv_err *take_round(struct reader *r, int fd)
{
	uint64_t until_ns = hv_now_ns() + AGENT_PATIENCE_S * HV_NS_PER_S;
	char bytes[16384];

	while (!r->has_ended) {
		struct pollfd one = {.fd = fd, .events = POLLIN};
		int left_ms = hv_left_ms(until_ns);
		ssize_t n;

		if (!left_ms || (poll(&one, 1, left_ms) < 0 && errno != EINTR))
			return hv_err_new(ETIMEDOUT, "%s: no agent says anything within %d s",
					  r->path, AGENT_PATIENCE_S);
		n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n < 0)
			return hv_err_new(errno, "%s: %s", r->path, strerror(errno));
		r->nr_bytes += (size_t)n;
		if (!n || r->nr_bytes > AGENT_BYTES_MAX)
			return hv_err_new(EPROTO, "%s: what is said there is not of hvtrace-agent",
					  r->path);
		take_bytes(r, bytes, (size_t)n);
	}
	return NULL;
}

static int compare(const void *a, const void *b)
{
	const struct agent_task *one = a, *other = b;
	int by_name = strcmp(one->cgroup, other->cgroup);

	return by_name ? by_name : (one->pid > other->pid) - (one->pid < other->pid);
}

struct hv_err *agent_connect(const char *path, int *ret_fd)
{
	HV_AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(at.sun_path))
		return hv_err_new(ENAMETOOLONG, "%s: %s", path, strerror(ENAMETOOLONG));
	strcpy(at.sun_path, path);
	/* Who listens may never accept: then a connect that waits would have no end. */
	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) != 0)
		return hv_err_new(errno, "%s: %s", path,
				  errno == EAGAIN ? "others wait for it already" : strerror(errno));
	*ret_fd = hv_take_fd(&fd);
	return NULL;
}

struct hv_err *agent_read(int fd, const char *path, struct agent_round *ret)
{
	struct reader *r = hv_alloc(sizeof(*r));
	struct hv_err *err;

	r->path = path;
	err = take_round(r, fd);
	if (!err && r->round.nr)
		qsort(r->round.tasks, r->round.nr, sizeof(*r->round.tasks), compare);
	if (err)
		agent_round_deinit(&r->round);
	else
		*ret = r->round;
	free(r);
	return err;
}
