/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs root's clients against a service that a guest has taken over: complete verbs, which find the
 * session in a run directory and connect to its socket, and the parsers of other verbs. The input
 * is the data that the service sends, as frames and as raw bytes. The filter for displayed text
 * must remove everything that a terminal acts on. */
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "cli/metrics/profile.h"
#include "cli/mount/link.h"
#include "cli/service/frames.h"
#include "cli/session_stat.h"
#include "cli/verbs/record/file.h"
#include "cli/verbs/summary.h"
#include "cli/verbs/verb.h"
#include "tests/fuzz/input.h"
#include "vmm/unix_socket.h"

#define ID	 "session-id"
#define PATH_LEN 128

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char run_dir[] = "/tmp/hvtrace-fuzz-XXXXXX";
static int listen_fd = -1, lock_fd = -1;
static pthread_t service;
static struct hv_text sent; /* the data that the service sends to each client */

/* Sends the data, and waits until the client disconnects. */
static void serve(int fd)
{
	char buf[4096];

	for (size_t at = 0; at < sent.len_bytes;) {
		ssize_t n = send(fd, sent.data + at, sent.len_bytes - at, MSG_NOSIGNAL);

		if (n < 0)
			return;
		at += (size_t)n;
	}
	shutdown(fd, SHUT_WR);
	while (recv(fd, buf, sizeof(buf), 0) > 0)
		;
}

static void *service_main(void *arg hv_unused)
{
	for (;;) {
		int fd = accept(listen_fd, NULL, NULL);

		if (fd < 0)
			abort();
		serve(fd);
		close(fd);
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

	lock_fd = open(path, O_RDWR);
	if (lock_fd < 0 || fcntl(lock_fd, F_OFD_SETLK, &lock) != 0)
		abort();
}

static void remove_all(void)
{
	HV_AUTO_FREE char *command = hv_format("rm -rf %s", run_dir);

	if (system(command) != 0)
		abort();
}

/* Redirects the verbs' output to /dev/null. libFuzzer has saved its standard error before. */
static void open_once(void)
{
	HV_AUTO_FREE char *dir = NULL, *sock = NULL, *info = NULL;
	struct sockaddr_un addr;

	if (listen_fd >= 0)
		return;
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		abort();
	if (!mkdtemp(run_dir))
		abort();
	atexit(remove_all);
	dir = hv_format("%s/" ID, run_dir);
	sock = hv_format("%s/sock", dir);
	if (mkdir(dir, 0700) != 0)
		abort();
	info = hv_format("{\"id\":\"" ID
			 "\",\"name\":\"web1\",\"spec\":\"web1\",\"service_pid\":%d}",
			 (int)getpid());
	put_file("info", info);
	put_file("lock", "");
	take_lock();
	if (hv_unix_socket(sock, 0, &addr, &listen_fd) ||
	    bind(listen_fd, (struct sockaddr *)&addr, sizeof(addr)) != 0 ||
	    listen(listen_fd, 16) != 0 || pthread_create(&service, NULL, service_main, NULL) != 0)
		abort();
	stdout = fopen("/dev/null", "w");
	stderr = fopen("/dev/null", "w");
	if (!stdout || !stderr || !freopen("/dev/null", "r", stdin))
		abort();
	dup2(fileno(stdout), STDOUT_FILENO);
}

/* Makes frames with correct lengths, and raw bytes. The frames answer the requests of a client in
 * their order. */
static void make_answers(struct input *in)
{
	uint32_t tag = 1;

	hv_text_clear(&sent);
	hv_text_add(&sent, "");
	while (in->at < in->end) {
		static const uint16_t kinds[] = {WIRE_OK, WIRE_OK, WIRE_OK, WIRE_ERROR, WIRE_NOTE};
		unsigned how = next_byte(in), len = next_byte(in) << (how & 0x80 ? 6 : 0);
		size_t left;
		struct wire_frame frame = {.kind = kinds[how % HV_ARRAY_LEN(kinds)]};

		frame.arg = how & 0x10 ? next_byte(in) << 24 | next_byte(in) : next_byte(in);
		frame.handle = next_byte(in);
		frame.tag = how & 0x40 ? next_byte(in) : tag;
		left = (size_t)(in->end - in->at);
		frame.data = (struct hv_span){in->at, len < left ? len : left};
		if (how & 0x20)
			hv_text_add_bytes(&sent, frame.data.data, frame.data.len_bytes);
		else
			wire_encode(&sent, &frame);
		tag += frame.kind != WIRE_NOTE && !(how & 0x60);
		in->at += frame.data.len_bytes;
	}
}

static void run_verb(const char *const *words)
{
	const struct cli cli = {.run_dir = run_dir, .audit_target = AUDIT_LOG_ONLY};
	char *argv[6] = {(char *)"hvtrace"};
	int argc = 1;

	while (*words)
		argv[argc++] = (char *)*words++;
	optind = 0;
	program_run(&cli, argc, argv);
}

static void count(void *ctx hv_unused, const char *name hv_unused, uint64_t hits hv_unused,
		  double time_us hv_unused)
{
}

/* Runs only the parsers of record, top and exporter. */
static void run_parts(unsigned which)
{
	HV_AUTO_ERR struct hv_err *err = NULL;
	AUTO_CLIENT struct client c = CLIENT_NONE;
	struct record_head head = {0};
	struct summary s = {0};

	err = client_connect(run_dir, "web1", NULL, &c);
	if (err)
		abort();
	if (which == 0) {
		err = record_head_read(&head, &c, "instances/x");
		record_head_deinit(&head);
	} else if (which == 1) {
		err = profile_read(&c, "", 4, 0, count, NULL);
	} else {
		err = summary_count(&s, &c, "instances/x");
		if (!err)
			free(summary_line(&s, ""));
		summary_deinit(&s);
	}
}

static void done(void *arg hv_unused, const struct wire_frame *answer)
{
	if (answer->kind != WIRE_OK && answer->kind != WIRE_ERROR)
		abort();
}

/* Runs a mount's connection to the service. */
static void run_link(void)
{
	struct link *l;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		abort();
	/* Send only as much as fits into the socket, because no thread reads it. */
	if (send(ends[1], sent.data, sent.len_bytes, MSG_DONTWAIT) < 0 && sent.len_bytes)
		abort();
	shutdown(ends[1], SHUT_WR);
	l = link_new(ends[0]);
	link_send(l, &(struct wire_frame){.kind = WIRE_LOOK}, done, NULL);
	link_send(l, &(struct wire_frame){.kind = WIRE_LIST}, done, NULL);
	while (link_step(l))
		;
	link_free(l);
	close(ends[1]);
}

static void check_filter(const uint8_t *data, size_t size)
{
	HV_AUTO_TEXT struct hv_text shown = {0};
	size_t len = 0;

	terminal_add_text(&shown, (const char *)data, size);
	for (size_t i = 0; i < shown.len_bytes; i++) {
		unsigned char c = (unsigned char)shown.data[i];

		if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
			abort();
		if (c == 0xc2 && (unsigned char)shown.data[i + 1] < 0xa0)
			abort();
	}
	/* must be valid UTF-8 */
	if (mbstowcs(NULL, shown.data, 0) == (size_t)-1 && !memchr(shown.data, 0, shown.len_bytes))
		abort();
	while (len < size && data[len] >= ' ' && data[len] <= '~')
		len++;
	if (shown.len_bytes < len || memcmp(shown.data, data, len) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const verbs[][5] = {
		{"stat", "web1"},
		{"stat", "--json", "web1"},
		{"ls", "web1"},
		{"cat", "web1", "trace"},
		{"detach", "web1"},
		{"detach", "--json", "web1"},
		{"echo", "web1", "f", "x"},
		{"reset", "web1"},
		{"umount", "web1"},
		{"mkdir", "web1", "a", "b"},
	};
	struct input in = {data, data + size};
	unsigned which = next_byte(&in);

	open_once();
	check_filter(data, size);
	make_answers(&in);
	which %= HV_ARRAY_LEN(verbs) + 4;
	if (which < HV_ARRAY_LEN(verbs))
		run_verb(verbs[which]);
	else if (which < HV_ARRAY_LEN(verbs) + 3)
		run_parts(which - (unsigned)HV_ARRAY_LEN(verbs));
	else
		run_link();
	return 0;
}
