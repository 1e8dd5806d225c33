/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/run/trace.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/terminal.h"

#define TURN_MS	 100 /* interval of checks for the machine's end */
#define DRAIN_MS 300 /* longer than a reader waits for records that are being written */

struct run_trace {
	struct hv_minivm *vm;
	struct run_trace_config config;
	struct client client;
	int output_fd;
	ssize_t (*put)(int fd, const void *bytes, size_t len_bytes); /* writes to output_fd */
	pthread_t thread;
	unsigned has_thread;
	struct hv_err *error;
};

static unsigned has_ended(const struct run_trace *t, int wait_ms)
{
	struct pollfd fd = {hv_minivm_end_fd(t->vm), POLLIN, 0};

	return poll(&fd, 1, wait_ms) > 0;
}

static struct hv_err *set(struct run_trace *t, const char *file, const char *text)
{
	return hv_err_in(client_echo(&t->client, file, text), "domain '%s'", t->config.name);
}

static struct hv_err *set_tracer(struct run_trace *t)
{
	struct hv_err *err;

	if (!t->config.tracer)
		return NULL;
	err = set(t, "tracing_on", "0");
	if (!err && t->config.filter)
		err = set(t, "set_ftrace_filter", t->config.filter);
	if (!err && t->config.notrace)
		err = set(t, "set_ftrace_notrace", t->config.notrace);
	if (!err)
		err = set(t, "current_tracer", t->config.tracer);
	return err;
}

static struct hv_err *write_out(struct run_trace *t, struct hv_span data)
{
	for (size_t done = 0; done < data.len_bytes;) {
		ssize_t n = t->put(t->output_fd, data.data + done, data.len_bytes - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return hv_err_new(errno, "%s: %s", t->config.output_path, strerror(errno));
		done += (size_t)n;
	}
	return NULL;
}

/* Sets *RET_MORE to 0 if no data arrived within WAIT_MS. */
static struct hv_err *write_some(struct run_trace *t, uint32_t handle, uint32_t wait_ms,
				 unsigned *ret_more)
{
	struct hv_span data = {0};
	struct hv_err *err = client_read(&t->client, handle, wait_ms, &data);

	*ret_more = 0;
	if (err && err->code == EAGAIN) {
		hv_err_free(err);
		return NULL;
	}
	if (err)
		return err;
	*ret_more = data.len_bytes != 0;
	return write_out(t, data);
}

/* Writes until the machine has ended and all of its events are written. */
static struct hv_err *write_trace(struct run_trace *t, uint32_t handle)
{
	struct hv_err *err = NULL;
	unsigned more = 1;

	while (!err && !has_ended(t, 0))
		err = write_some(t, handle, TURN_MS, &more);
	if (!err)
		err = set(t, "tracing_on", "0");
	for (more = 1; !err && more;)
		err = write_some(t, handle, DRAIN_MS, &more);
	return err;
}

static void let_run(struct run_trace *t)
{
	if (t->config.is_stopped)
		hv_minivm_go(t->vm);
	t->config.is_stopped = 0;
}

static struct hv_err *trace(struct run_trace *t)
{
	uint32_t handle = 0;
	struct hv_err *err = set_tracer(t);

	if (!err && t->config.output_path)
		err = client_open(&t->client, "trace_pipe", O_RDONLY, &handle);
	if (!err && t->config.tracer)
		err = set(t, "tracing_on", "1");
	let_run(t);
	if (!err && t->config.output_path)
		err = write_trace(t, handle);
	/* `hvtrace detach` ended the session. The earlier events are written. */
	if (err && err->code == ECONNRESET && !has_ended(t, 0)) {
		hv_err_free(err);
		err = NULL;
	}
	return err;
}

static void *trace_main(void *arg)
{
	struct run_trace *t = arg;

	t->error = trace(t);
	if (t->error)
		hv_minivm_stop(t->vm);
	has_ended(t, -1);
	hv_minivm_let_go(t->vm);
	return NULL;
}

struct hv_err *run_trace_new(struct hv_minivm *o, const struct run_trace_config *config,
			     struct run_trace **ret)
{
	struct run_trace *t = hv_alloc(sizeof(*t));

	t->vm = o;
	t->config = *config;
	t->client = (struct client)CLIENT_NONE;
	t->output_fd = -1;
	if (config->output_path)
		t->output_fd = open(config->output_path,
				    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0600);
	if (config->output_path && t->output_fd < 0) {
		free(t);
		return hv_err_new(errno, "%s: %s", config->output_path, strerror(errno));
	}
	t->put = t->output_fd >= 0 && isatty(t->output_fd) ? terminal_write : write;
	/* O_NONBLOCK was only for open(), which fails for a FIFO without a reader. Writes wait for
	 * a slow reader. */
	if (t->output_fd >= 0)
		fcntl(t->output_fd, F_SETFL, fcntl(t->output_fd, F_GETFL) & ~O_NONBLOCK);
	*ret = t;
	return NULL;
}

struct hv_err *run_trace_start(struct run_trace *t, int client_fd)
{
	int code;

	t->client.fd = client_fd;
	t->client.spec = hv_strdup(t->config.name);
	code = pthread_create(&t->thread, NULL, trace_main, t);

	t->has_thread = !code;
	return code ? hv_err_new(code, "cannot start the thread that reads the trace: %s",
				 strerror(code))
		    : NULL;
}

struct hv_err *run_trace_free(struct run_trace *t)
{
	struct hv_err *err;

	if (!t)
		return NULL;
	if (t->has_thread)
		pthread_join(t->thread, NULL);
	err = t->error;
	client_close(&t->client);
	if (t->output_fd >= 0 && close(t->output_fd) != 0)
		hv_err_keep_first(
			&err, hv_err_new(errno, "%s: %s", t->config.output_path, strerror(errno)));
	free(t);
	return err;
}
