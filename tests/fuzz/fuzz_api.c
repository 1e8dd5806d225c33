/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a program that uses libhvtrace against a service that a guest has taken over. The input
 * decides how the service replies to each request: with a plausible text of the file, with the
 * input's bytes, with an error, or not in frames. When the input is used up, the service closes all
 * connections. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "lib/hvtrace/hvtrace.h"
#include "lib/frames.h"
#include "tests/fuzz/input.h"
#include "tests/lib/event_formats.h"

#define ID	    "session-id"
#define CLIENTS_MAX 4
#define PATH_LEN    128

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define KINDS                                                                                      \
	FORMAT_COMMON "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"                   \
		      "\tfield:__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:0;\n"          \
		      "\tfield:__rel_loc u16[] list;\toffset:28;\tsize:4;\tsigned:0;\n"            \
		      "\tfield:s64 array[3];\toffset:32;\tsize:24;\tsigned:1;\n"                   \
		      "\tfield:u8 rest[];\toffset:56;\tsize:0;\tsigned:0;\n"

static const char *const texts[] = {
	"cpu0/\ncpu1/\n",
	"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n",
	"ID: 1\n" FORMAT_COMMON "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long parent_ip;\toffset:16;\tsize:8;\tsigned:0;\n",
	"ID: 11\n" FORMAT_GRAPH,
	"ID: 10\n" FORMAT_GRAPH
	"\tfield:unsigned long long calltime;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long long rettime;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long retval;\toffset:40;\tsize:8;\tsigned:0;\n",
	"test:kinds\n",
	"ID: 1\n" KINDS,
	"struct\t64\twhole\ttask\n0\t0\t0\t4\ti\t-\tint\t-\tpid\n"
	"0\t35\t3\t4\tu\t-\tint\t-\tflag\n0\t64\t0\t8\tn\t-\tunion\t-\t\n"
	"1\t64\t0\t8\tp\t-\tstruct task *\ttask\tparent\n1\t64\t0\t8\ts\t-\tstruct a\ta\ta\n"
	"2\t64\t0\t1\tc\t8\tchar[8]\t-\tcomm\n0\t512\t0\t8\to\t0\tdouble[0]\t-\trest\n",
	"ID: 4\n" FORMAT_COMMON "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n",
};

static char run_dir[] = "/tmp/hvtrace-fuzz-XXXXXX";
static struct input in; /* used by the service only while a program uses the library */

struct client {
	int fd;
	bool is_last; /* closed after all others; sends nothing */
	size_t len_bytes, nr_reads;
	const char *text; /* of the file that was opened last */
	uint8_t buf[WIRE_HEAD_LEN + WIRE_DATA_MAX];
};

static const char *text_of(const struct wire_frame *request)
{
	HV_AUTO_FREE char *path =
		hv_format("%.*s", (int)request->data.len_bytes, (const char *)request->data.data);

	if (strstr(path, "per_cpu"))
		return texts[0];
	if (strstr(path, "header_page"))
		return texts[1];
	if (strstr(path, "set_event"))
		return texts[5];
	if (strstr(path, "kernel_stack"))
		return texts[8];
	if (strstr(path, "types/"))
		return texts[7];
	if (strstr(path, "kinds"))
		return texts[6];
	if (strstr(path, "funcgraph"))
		return strstr(path, "entry") ? texts[3] : texts[4];
	return strstr(path, "format") ? texts[2] : "";
}

static void send_frame(int fd, const struct wire_frame *frame)
{
	uint8_t head[WIRE_HEAD_LEN];

	wire_head(frame, head);
	if (send(fd, head, sizeof(head), MSG_NOSIGNAL) > 0 && frame->data.len_bytes)
		(void)!send(fd, frame->data.data, frame->data.len_bytes, MSG_NOSIGNAL);
}

static void reply_honestly(struct client *c, const struct wire_frame *request)
{
	struct wire_frame reply = {.kind = WIRE_OK, .tag = request->tag};
	const char *text = "";

	if (request->kind == WIRE_OPEN || request->kind == WIRE_OPEN_PROC)
		c->text = text_of(request), c->nr_reads = 0;
	else if (request->kind == WIRE_LIST)
		text = text_of(request);
	else if (request->kind == WIRE_WRITE)
		reply.arg = (uint32_t)request->data.len_bytes;
	else if (request->kind == WIRE_READ && !c->nr_reads++ && c->text)
		text = c->text;
	reply.data = (struct hv_span){(const uint8_t *)text, strlen(text)};
	send_frame(c->fd, &reply);
}

static void reply(struct client *c, const struct wire_frame *request)
{
	static const uint16_t kinds[] = {WIRE_OK, WIRE_ERROR, WIRE_NOTE, WIRE_OK};
	unsigned how = next_byte(&in), len = next_byte(&in) << (how & 0x80 ? 5 : 0);
	struct wire_frame frame = {.kind = kinds[how & 3], .tag = request->tag};
	size_t left;

	if (how & 4) {
		reply_honestly(c, request);
		return;
	}
	frame.arg = how & 0x10 ? EAGAIN : next_byte(&in);
	left = (size_t)(in.end - in.at);
	frame.data = (struct hv_span){in.at, len < left ? len : left};
	in.at += frame.data.len_bytes;
	if (how & 0x40)
		frame.tag -= next_byte(&in);
	if (how & 0x20)
		(void)!send(c->fd, frame.data.data, frame.data.len_bytes, MSG_NOSIGNAL);
	else
		send_frame(c->fd, &frame);
}

/* Returns false when the connection ends. */
static bool serve(struct client *c)
{
	ssize_t n = recv(c->fd, c->buf + c->len_bytes, sizeof(c->buf) - c->len_bytes, 0);
	struct wire_frame request;
	size_t used;

	if (n <= 0)
		return false;
	c->len_bytes += (size_t)n;
	while (wire_decode((struct hv_span){c->buf, c->len_bytes}, &request, &used) == WIRE_FRAME) {
		if (in.at == in.end)
			return false;
		reply(c, &request);
		c->len_bytes -= used;
		memmove(c->buf, c->buf + used, c->len_bytes);
	}
	return true;
}

/* await_service() binds its socket to a name, and the library does not. */
static int accept_one(int listen_fd, bool *ret_last)
{
	struct sockaddr_un name;
	socklen_t len = sizeof(name);
	int fd = accept(listen_fd, (struct sockaddr *)&name, &len);

	if (fd < 0)
		abort();
	*ret_last = len > sizeof(name.sun_family);
	return fd;
}

static void *service_main(void *arg)
{
	static struct client clients[CLIENTS_MAX];
	struct pollfd fds[CLIENTS_MAX + 1] = {{*(int *)arg, POLLIN, 0}};
	unsigned nr = 0;

	for (;;) {
		if (poll(fds, nr + 1, -1) < 0)
			abort();
		for (unsigned i = nr; i-- > 0;) {
			if (!fds[i + 1].revents || serve(&clients[i]))
				continue;
			close(clients[i].fd);
			clients[i] = clients[--nr];
			fds[i + 1] = fds[nr + 1];
		}
		if (fds[0].revents && nr < CLIENTS_MAX) {
			clients[nr].fd = accept_one(fds[0].fd, &clients[nr].is_last);
			clients[nr].len_bytes = 0;
			clients[nr].text = NULL;
			fds[nr + 1] = (struct pollfd){clients[nr].fd, POLLIN, 0};
			nr++;
		}
		if (nr == 1 && clients[0].is_last)
			close(clients[--nr].fd);
	}
	return NULL;
}

static void put_file(const char *name, const char *text)
{
	HV_AUTO_FREE char *path = hv_format("%s/" ID "/%s", run_dir, name);
	FILE *f = fopen(path, "w");

	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		abort();
}

static void take_lock(void)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	HV_AUTO_FREE char *path = hv_format("%s/" ID "/lock", run_dir);
	int fd = open(path, O_RDWR);

	if (fd < 0 || fcntl(fd, F_OFD_SETLK, &lock) != 0)
		abort();
}

static void remove_all(void)
{
	HV_AUTO_FREE char *command = hv_format("rm -rf %s", run_dir);

	if (system(command) != 0)
		abort();
}

static struct sockaddr_un address = {.sun_family = AF_UNIX};

static void open_once(void)
{
	static int listen_fd = -1;
	HV_AUTO_FREE char *dir = NULL, *info = NULL;
	pthread_t service;

	if (listen_fd >= 0)
		return;
	if (!mkdtemp(run_dir))
		abort();
	atexit(remove_all);
	dir = hv_format("%s/" ID, run_dir);
	if (mkdir(dir, 0700) != 0)
		abort();
	info = hv_format("{\"id\":\"" ID
			 "\",\"name\":\"web1\",\"spec\":\"web1\",\"service_pid\":%d}",
			 (int)getpid());
	put_file("info", info);
	put_file("lock", "");
	take_lock();
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/sock", dir);
	listen_fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(listen_fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	    listen(listen_fd, 16) != 0 ||
	    pthread_create(&service, NULL, service_main, &listen_fd) != 0)
		abort();
}

/* Waits until the service has closed the library's connections and no longer reads the input. */
static void await_service(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char byte;
	ssize_t n;

	/* without a path: the kernel chooses a name */
	if (bind(fd, (struct sockaddr *)&address, sizeof(address.sun_family)) != 0 ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		abort();
	do
		n = recv(fd, &byte, 1, 0);
	while (n < 0 && errno == EINTR);
	if (n != 0)
		abort();
	close(fd);
}

static void take_call(const struct hvt_call *call, void *data)
{
	struct hvt_symbols *symbols = data;
	uint64_t offset = 0;
	const char *module = NULL;
	const char *name = hvt_symbols_name(symbols, call->ip, &offset, &module);

	if (name && strlen(name) + (module ? strlen(module) : 0) + offset == 1)
		abort();
}

static void take_graph(const struct hvt_graph *graph, void *data)
{
	if (data || (!(graph->what & HVT_GRAPH_RETURN) && graph->duration_ns))
		abort();
}

static void take_stack(const struct hvt_stack *stack, void *data)
{
	uint64_t sum = 0;

	(void)data;
	for (size_t i = 0; i < stack->nr_callers; i++)
		sum += stack->callers[i];
	if (stack->nr_callers > HVT_CALLERS_MAX || (!stack->nr_callers && sum))
		abort();
}

static void take_page(const struct hvt_page *page, void *data)
{
	struct hvt_page_entry entry = {0};
	uint64_t sum = 0;

	(void)data;
	while (hvt_page_next(page, &entry))
		for (size_t i = 0; i < entry.len_bytes; i++)
			sum += ((const uint8_t *)entry.bytes)[i];
	if (entry.at > page->len_bytes || sum == UINT64_MAX)
		abort();
}

static void take_event(const struct hvt_event *event, void *data)
{
	const struct hvt_field *field;
	uint64_t number, sum = 0;
	char text[8];
	size_t len;

	if (data || !hvt_event_type_system(event->type) || !hvt_event_type_name(event->type))
		abort();
	for (size_t i = 0; (field = hvt_event_type_field(event->type, i)); i++) {
		const uint8_t *bytes = hvt_event_bytes(event, field, &len);

		if (!hvt_field_name(field) || !hvt_field_type(field))
			abort();
		for (size_t at = 0; bytes && at < len; at++)
			sum += bytes[at];
		for (size_t at = 0; hvt_event_element(event, field, at, &number); at++)
			sum += number;
		if (hvt_event_string(event, field, text, sizeof(text)) >= 0 && strlen(text) > 7)
			abort();
		if (hvt_event_number(event, field, &number))
			sum += number;
	}
	if (hvt_event_type_find(event->type, "name") && sum == 1)
		abort();
}

static void check(struct hvt_error *error)
{
	for (const char *c = hvt_error_message(error); *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			abort();
	if (error && hvt_error_errno(error) <= 0)
		abort();
	hvt_error_free(error);
}

static void take_note(const char *text, void *data)
{
	for (; *text; text++)
		if (data || (unsigned char)*text < 0x20 || *text == 0x7f)
			abort();
}

static void use_file(struct hvt_session *session, unsigned which)
{
	struct hvt_file *file = NULL;
	const void *data = NULL;
	size_t len_bytes = 0;
	unsigned sum = 0;

	check(hvt_session_set_notes(session, take_note, NULL));
	check(hvt_file_open(session, "trace_pipe", O_RDWR, &file));
	for (unsigned i = 0; file && i < 4; i++) {
		struct hvt_error *error = hvt_file_read_part(file, i, &data, &len_bytes);

		for (size_t at = 0; !error && at < len_bytes; at++)
			sum += ((const uint8_t *)data)[at];
		check(error);
	}
	if (len_bytes > HVT_PART_MAX_BYTES || sum == UINT32_MAX)
		abort();
	if (file)
		check(hvt_file_write_part(file, "vfs_read ", 9));
	check(which & 1 ? hvt_file_close(file) : hvt_file_abandon(file));
	check(hvt_dir_make(session, "instances/x"));
	check(hvt_dir_remove(session, "instances/x"));
}

/* Every member lies within the type, is found by its path, and its numbers are within a copy. */
static void take_member(const struct hvt_type *type, const struct hvt_member *m,
			const uint8_t *object, size_t object_bytes)
{
	uint64_t number, len = m->bits ? (m->first_bit + m->bits + 7) / 8
				       : m->element_bytes * m->nr_elements;

	if (m->offset + len > hvt_type_bytes(type) || !m->type || !m->name ||
	    strlen(m->name) + strlen(m->type) + (m->target ? strlen(m->target) : 0) == 0)
		abort();
	if (*m->name && !m->depth && !strchr(m->name, '.') && !hvt_type_member(type, m->name))
		abort();
	if (m->offset + len > object_bytes)
		return;
	for (size_t i = 0; hvt_member_number(m, i, object, &number); i++)
		if (i == m->nr_elements)
			abort();
}

static void use_memory(struct hvt_session *session, unsigned which)
{
	const struct hvt_member *member;
	struct hvt_type *type = NULL;
	uint8_t object[200] = {0};
	size_t nr = sizeof(object) + 1;
	uint64_t of_cpu;

	check(hvt_type_find(session, "task", &type));
	check(hvt_memory_read(session, UINT64_MAX - which, object,
			      which % 2 ? sizeof(object) : which / 2, &nr));
	if (nr > sizeof(object))
		abort();
	check(hvt_memory_of_cpu(session, 0, which, &of_cpu));
	for (size_t i = 0; type && (member = hvt_type_member_at(type, i)); i++)
		take_member(type, member, object, sizeof(object));
	if (type && (!hvt_type_name(type) || hvt_type_is_whole(type) > 1))
		abort();
	hvt_type_member(type, "a.comm");
	hvt_type_free(type);
}

/* WHICH: the kind of ops, with stacks or pages. */
static void use(struct hvt_session *session, unsigned which)
{
	struct hvt_symbols *symbols = NULL;
	struct hvt_probe *probe = NULL;
	struct hvt_ops *ops = NULL;
	char *text = NULL, name[16];

	check(hvt_symbols_read(session, &symbols));
	if (which & 0x10)
		use_memory(session, which);
	if (which % 3 == 1)
		check(hvt_ops_new_graph(take_graph, take_graph, NULL, NULL, &ops));
	else if (which % 3 == 2)
		check(hvt_ops_new_events("test:kinds", take_event, NULL, NULL, &ops));
	else
		check(hvt_ops_new(take_call, NULL, symbols, &ops));
	if (which & 0x20 && which % 3 != 1)
		check(hvt_ops_set_stacks(ops, take_stack));
	if (which & 0x40)
		check(hvt_ops_set_pages(ops, take_page));
	check(hvt_ops_set_file(ops, "options/funcgraph-retval", "1"));
	check(hvt_ops_register(ops, session));
	for (unsigned i = 0; i < 8; i++)
		check(hvt_session_dispatch(session, i, NULL));
	check(hvt_session_task_name(session, 7, name));
	check(hvt_file_list(session, "", &text));
	use_file(session, which);
	check(hvt_probe_new(session, which & 0x80 ? "p vfs_read" : "r:a/b vfs_read", &probe));
	if (probe && !strchr(hvt_probe_event(probe), ':'))
		abort();
	check(hvt_probe_remove(probe));
	hvt_probe_free(probe);
	hvt_ops_free(ops);
	hvt_symbols_free(symbols);
	hvt_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hvt_config config = {sizeof(config), run_dir, NULL};
	struct hvt_machine *machine = NULL;
	struct hvt_session *session = NULL;

	open_once();
	in = (struct input){data, data + size};
	if (hvt_machine_find(&config, "web1", &machine) || hvt_session_join(machine, &session) ||
	    hvt_session_set_timeout(session, 20))
		abort();
	use(session, size ? data[size - 1] : 0);
	hvt_session_close(session);
	hvt_machine_free(machine);
	await_service();
	return 0;
}
