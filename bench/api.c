/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures libhvtrace against a process that plays a service with full buffers: `api [PAGES]`.
 * Prints a row of the table in bench/results/host.md for each way to receive events, and for
 * reading trace_pipe_raw page by page, without the library's callbacks. Needs neither root nor a
 * guest. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/text.h"
#include "bench/clock.h"
#include "lib/frames.h"
#include "lib/hvtrace/hvtrace.h"
#include "tests/lib/event_formats.h"

#define ID	    "session-id"
#define PAGE_BYTES  4096
#define HEAD_BYTES  16
#define CPUS	    2
#define HANDLES_MAX 64
#define CLIENTS_MAX 4

static const struct {
	const char *path, *text;
} files[] = {
	{"header_page", "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n"},
	{"function/format",
	 "ID: 1\n" FORMAT_COMMON "\tfield:unsigned long ip;\toffset:8;\tsize:8;\n"
	 "\tfield:unsigned long parent_ip;\toffset:16;\tsize:8;\n"},
	{"funcgraph_entry/format", "ID: 11\n" FORMAT_GRAPH},
	{"funcgraph_exit/format",
	 "ID: 10\n" FORMAT_GRAPH "\tfield:unsigned long long calltime;\toffset:24;\tsize:8;\n"
	 "\tfield:unsigned long long rettime;\toffset:32;\tsize:8;\n"},
	{"set_event", "sched:sched_waking\n"},
	{"sched_waking/format",
	 "ID: 300\n" FORMAT_COMMON "\tfield:char comm[16];\toffset:8;\tsize:16;\n"
	 "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	 "\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	 "\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n"},
};

/* -- the service ------------------------------------------------------------------------------ */

enum page_kind { PAGE_CALLS, PAGE_GRAPH, PAGE_EVENTS, PAGE_KINDS };

static uint8_t pages[PAGE_KINDS][PAGE_BYTES];
static unsigned nr_events[PAGE_KINDS]; /* of a page */

/* Adds an event of LEN bytes, 100 ns after the one before. Returns false if the page is full. */
static bool add_event(uint8_t *page, uint16_t id, size_t len)
{
	uint64_t used;
	uint32_t head = (uint32_t)(len / 4) | 100u << 5, pid = 61;

	memcpy(&used, page + 8, sizeof(used));
	if (HEAD_BYTES + used + 4 + len > PAGE_BYTES)
		return false;
	memcpy(page + HEAD_BYTES + used, &head, 4);
	memcpy(page + HEAD_BYTES + used + 4, &id, 2);
	memcpy(page + HEAD_BYTES + used + 8, &pid, 4);
	memcpy(page + HEAD_BYTES + used + 12, "task", 4);
	used += 4 + len;
	memcpy(page + 8, &used, sizeof(used));
	return true;
}

static void make_pages(void)
{
	while (add_event(pages[PAGE_CALLS], 1, 24))
		nr_events[PAGE_CALLS]++;
	while (add_event(pages[PAGE_GRAPH], nr_events[PAGE_GRAPH] % 2 ? 10 : 11,
			 nr_events[PAGE_GRAPH] % 2 ? 40 : 20))
		nr_events[PAGE_GRAPH]++;
	while (add_event(pages[PAGE_EVENTS], 300, 36))
		nr_events[PAGE_EVENTS]++;
}

struct client {
	int fd;
	const char *texts[HANDLES_MAX]; /* rest of each open file; NULL: none */
	bool is_raw[HANDLES_MAX];
	unsigned nr_handles;
	unsigned nr_left; /* pages of all vCPUs */
	uint64_t time_ns;
	bool is_on; /* tracing_on is 1 */
	bool writes_on;
	enum page_kind kind;
	size_t len;
	uint8_t in[WIRE_HEAD_LEN + WIRE_DATA_MAX];
};

static void answer(struct client *c, const struct wire_frame *request, struct wire_frame reply)
{
	uint8_t out[WIRE_HEAD_LEN + PAGE_BYTES];

	reply.tag = request->tag;
	wire_head(&reply, out);
	if (reply.data.len_bytes)
		memcpy(out + WIRE_HEAD_LEN, reply.data.data, reply.data.len_bytes);
	if (send(c->fd, out, WIRE_HEAD_LEN + reply.data.len_bytes, MSG_NOSIGNAL) < 0)
		c->len = 0;
}

static void open_file(struct client *c, const struct wire_frame *request)
{
	HV_AUTO_FREE char *path =
		hv_format("%.*s", (int)request->data.len_bytes, (const char *)request->data.data);
	unsigned handle = c->nr_handles++ % HANDLES_MAX;

	c->is_raw[handle] = strstr(path, "trace_pipe_raw") != NULL;
	c->writes_on = strstr(path, "tracing_on") != NULL;
	c->texts[handle] = NULL;
	for (size_t i = 0; i < HV_ARRAY_LEN(files); i++)
		if (strstr(path, files[i].path))
			c->texts[handle] = files[i].text;
	if (strstr(path, "funcgraph_entry"))
		c->kind = PAGE_GRAPH;
	else if (strstr(path, "sched_waking"))
		c->kind = PAGE_EVENTS;
	answer(c, request, (struct wire_frame){.kind = WIRE_OK, .handle = handle});
}

static void read_file(struct client *c, const struct wire_frame *request)
{
	struct wire_frame reply = {.kind = WIRE_OK};
	const char *text = c->texts[request->handle];

	c->texts[request->handle] = NULL;
	if (text) {
		reply.data = (struct hv_span){(const uint8_t *)text, strlen(text)};
	} else if (c->is_raw[request->handle] && c->is_on && c->nr_left) {
		memcpy(pages[c->kind], &c->time_ns, sizeof(c->time_ns));
		c->time_ns += 10000;
		c->nr_left--;
		reply.data = (struct hv_span){pages[c->kind], PAGE_BYTES};
	} else if (c->is_raw[request->handle]) {
		reply = (struct wire_frame){.kind = WIRE_ERROR, .arg = EAGAIN};
	}
	answer(c, request, reply);
}

static void handle(struct client *c, const struct wire_frame *request)
{
	static const char names[] = "cpu0/\ncpu1/\n";

	switch (request->kind) {
	case WIRE_OPEN:
		open_file(c, request);
		return;
	case WIRE_READ:
		read_file(c, request);
		return;
	case WIRE_READY:
		answer(c, request,
		       c->nr_left ? (struct wire_frame){.kind = WIRE_OK}
				  : (struct wire_frame){.kind = WIRE_ERROR, .arg = EAGAIN});
		return;
	case WIRE_LIST:
		answer(c, request,
		       (struct wire_frame){.kind = WIRE_OK,
					   .data = {(const uint8_t *)names, sizeof(names) - 1}});
		return;
	case WIRE_WRITE:
		c->is_on |= c->writes_on && request->data.data[0] == '1';
		answer(c, request,
		       (struct wire_frame){.kind = WIRE_OK,
					   .arg = (uint32_t)request->data.len_bytes});
		return;
	default:
		answer(c, request, (struct wire_frame){.kind = WIRE_OK});
	}
}

static bool serve_client(struct client *c)
{
	ssize_t n = recv(c->fd, c->in + c->len, sizeof(c->in) - c->len, 0);
	struct wire_frame request;
	size_t used, at = 0;

	if (n <= 0)
		return false;
	c->len += (size_t)n;
	while (wire_decode((struct hv_span){c->in + at, c->len - at}, &request, &used) ==
	       WIRE_FRAME) {
		handle(c, &request);
		at += used;
	}
	c->len -= at;
	memmove(c->in, c->in + at, c->len);
	return true;
}

static void serve(int listen_fd, unsigned nr_pages)
{
	static struct client clients[CLIENTS_MAX];
	struct pollfd fds[CLIENTS_MAX + 1] = {{listen_fd, POLLIN, 0}};
	unsigned nr = 0;

	while (poll(fds, nr + 1, -1) > 0) {
		for (unsigned i = nr; i-- > 0;) {
			if (!fds[i + 1].revents || serve_client(&clients[i]))
				continue;
			close(clients[i].fd);
			clients[i] = clients[--nr];
			fds[i + 1] = fds[nr + 1];
		}
		if (!fds[0].revents || nr == CLIENTS_MAX)
			continue;
		memset(&clients[nr], 0, sizeof(clients[nr]));
		clients[nr].fd = accept(listen_fd, NULL, NULL);
		clients[nr].nr_left = nr_pages;
		clients[nr].time_ns = 1000;
		fds[nr + 1] = (struct pollfd){clients[nr].fd, POLLIN, 0};
		nr++;
	}
}

/* -- the run directory ------------------------------------------------------------------------ */

static char run_dir[] = "/tmp/hvtrace-bench-XXXXXX";

static void put_file(const char *name, const char *text)
{
	HV_AUTO_FREE char *path = hv_format("%s/" ID "/%s", run_dir, name);
	FILE *f = fopen(path, "w");

	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		abort();
}

/* Makes the run directory, and starts and returns the process that plays the service. */
static pid_t start_service(unsigned nr_pages)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	HV_AUTO_FREE char *dir = NULL, *info = NULL, *lock_path = NULL;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), lock_fd;
	pid_t pid;

	if (!mkdtemp(run_dir))
		abort();
	dir = hv_format("%s/" ID, run_dir);
	if (mkdir(dir, 0700) != 0)
		abort();
	info = hv_format("{\"id\":\"" ID "\",\"name\":\"web1\",\"spec\":\"web1\","
			 "\"service_pid\":%d}",
			 (int)getpid());
	put_file("info", info);
	put_file("lock", "");
	lock_path = hv_format("%s/lock", dir);
	lock_fd = open(lock_path, O_RDWR);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/sock", dir);
	if (lock_fd < 0 || fcntl(lock_fd, F_OFD_SETLK, &lock) != 0 ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, 4) != 0)
		abort();
	pid = fork();
	if (pid == 0) {
		serve(fd, nr_pages);
		_exit(1);
	}
	close(fd);
	return pid;
}

static void remove_all(pid_t service)
{
	HV_AUTO_FREE char *command = hv_format("rm -rf %s", run_dir);

	kill(service, SIGKILL);
	waitpid(service, NULL, 0);
	if (system(command) != 0)
		abort();
}

/* -- the program ------------------------------------------------------------------------------ */

static uint64_t nr_seen, sum;

static void see_call(const struct hvt_call *call, void *data)
{
	(void)data;
	nr_seen++;
	sum += call->ip;
}

static void see_graph(const struct hvt_graph *graph, void *data)
{
	(void)data;
	nr_seen++;
	sum += graph->duration_ns;
}

static void see_event(const struct hvt_event *event, void *data)
{
	static const struct hvt_event_type *known;
	static const struct hvt_field *comm, *pid;
	char text[16];
	uint64_t number = 0;

	(void)data;
	if (known != event->type) {
		known = event->type;
		comm = hvt_event_type_find(known, "comm");
		pid = hvt_event_type_find(known, "pid");
	}
	hvt_event_string(event, comm, text, sizeof(text));
	hvt_event_number(event, pid, &number);
	nr_seen++;
	sum += number + (unsigned char)text[0];
}

static void see_page(const struct hvt_page *page, void *data)
{
	(void)page, (void)data;
	nr_seen += nr_events[PAGE_CALLS];
}

static void see_entries(const struct hvt_page *page, void *data)
{
	struct hvt_page_entry entry = {0};

	(void)data;
	while (hvt_page_next(page, &entry)) {
		nr_seen++;
		sum += entry.time_ns;
	}
}

static void check(struct hvt_error *error)
{
	if (!error)
		return;
	fprintf(stderr, "%s\n", hvt_error_message(error));
	exit(1);
}

/* Wall clock and processor time of this process. */
struct moment {
	uint64_t ns, cpu_ns;
};

static struct moment now(void)
{
	return (struct moment){clock_read(CLOCK_MONOTONIC), clock_read(CLOCK_PROCESS_CPUTIME_ID)};
}

static void print_row(const char *name, struct moment begin)
{
	struct moment end = now();

	printf("| %s | %.1f | %.1f |\n", name, (double)nr_seen / (double)(end.ns - begin.ns) * 1e3,
	       (double)(end.cpu_ns - begin.cpu_ns) / (double)nr_seen);
	nr_seen = 0;
}

/* Dispatches until NR_WANTED events were seen, and prints the row NAME. Frees OPS. */
static void measure(struct hvt_session *session, const char *name, struct hvt_ops *ops,
		    uint64_t nr_wanted)
{
	struct moment begin;

	check(hvt_ops_register(ops, session));
	begin = now();
	while (nr_seen < nr_wanted) {
		struct pollfd fd = {hvt_session_fd(session), POLLIN, 0};

		poll(&fd, 1, 1000);
		check(hvt_session_dispatch(session, 0, NULL));
	}
	print_row(name, begin);
	hvt_ops_free(ops);
}

/* Reads pages like a program without the library's callbacks, such as `hvtrace record -o`. */
static void measure_raw(const struct hvt_machine *machine, unsigned nr_pages)
{
	struct hvt_session *session = NULL;
	struct hvt_file *file = NULL;
	struct moment begin;
	const void *data;
	size_t len_bytes;

	check(hvt_session_join(machine, &session));
	check(hvt_file_write(session, "tracing_on", HVT_WRITE_REPLACE, "1"));
	check(hvt_file_open(session, "per_cpu/cpu0/trace_pipe_raw", O_RDONLY, &file));
	begin = now();
	for (unsigned i = 0; i < nr_pages; i++) {
		check(hvt_file_read_part(file, 0, &data, &len_bytes));
		nr_seen += nr_events[PAGE_CALLS];
	}
	print_row("trace_pipe_raw, page by page", begin);
	check(hvt_file_close(file));
	hvt_session_close(session);
}

int main(int argc, char **argv)
{
	unsigned nr_pages = argc > 1 ? (unsigned)atoi(argv[1]) : 50000;
	struct hvt_config config = {sizeof(config), run_dir, NULL};
	struct hvt_session *session = NULL;
	struct hvt_machine *machine = NULL;
	struct hvt_ops *ops;
	pid_t service;

	make_pages();
	service = start_service(nr_pages);
	check(hvt_machine_find(&config, "web1", &machine));
	check(hvt_session_join(machine, &session));
	printf("| received as | million events/s | CPU ns/event |\n|---|---:|---:|\n");
	measure_raw(machine, nr_pages);
	check(hvt_ops_new(see_call, NULL, NULL, &ops));
	check(hvt_ops_set_pages(ops, see_page));
	measure(session, "pages", ops, (uint64_t)nr_pages * nr_events[PAGE_CALLS]);
	check(hvt_ops_new(see_call, NULL, NULL, &ops));
	check(hvt_ops_set_pages(ops, see_entries));
	measure(session, "pages, and each event in them", ops,
		(uint64_t)nr_pages * nr_events[PAGE_CALLS]);
	check(hvt_ops_new(see_call, NULL, NULL, &ops));
	measure(session, "calls", ops, (uint64_t)nr_pages * nr_events[PAGE_CALLS]);
	check(hvt_ops_new_graph(see_graph, see_graph, NULL, NULL, &ops));
	measure(session, "calls and returns", ops, (uint64_t)nr_pages * nr_events[PAGE_GRAPH]);
	check(hvt_ops_new_events("sched:sched_waking", see_event, NULL, NULL, &ops));
	measure(session, "events, with a string and a number", ops,
		(uint64_t)nr_pages * nr_events[PAGE_EVENTS]);
	hvt_session_close(session);
	hvt_machine_free(machine);
	remove_all(service);
	return sum == 1;
}
