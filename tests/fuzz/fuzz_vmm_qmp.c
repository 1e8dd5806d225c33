/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drives the QMP client of the parser's process with a hostile monitor (vmm/qemu/qmp.c): greeting,
 * lines, and ids. The input is the text that the monitor sends before each command. A command times
 * out if its answer has not arrived. Each returned answer must be complete and must have the id of its
 * command. Each command must be sent exactly once. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/fuzz/input.h"
#include "vmm/qemu/monitor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const words[] = {
	"",
	"{\"QMP\": {\"version\": {}, \"capabilities\": []}}\n",
	"{\"return\": {}, \"id\": ",
	"{\"error\": {\"class\": \"GenericError\", \"desc\": \"no\"}, \"id\": ",
	"{\"event\": \"STOP\", \"id\": ",
	"{\"return\": {\"status\": \"running\"}",
	"}\n",
	"\"id\": ",
	"1",
	"2",
	"3",
	"4",
	", ",
	"null",
	"18446744073709551618",
	"\n",
};

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void send_words(struct input *in, int fd)
{
	HV_AUTO_FREE char *text = next_words(in, words, HV_ARRAY_LEN(words));

	check(send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)strlen(text));
}

/* ANSWER must be for command NR. */
static void check_answer(const char *answer, uint64_t nr)
{
	HV_AUTO_JSON struct json_object *o = json_tokener_parse(answer);

	check(!strchr(answer, '\n'));
	check(json_object_is_type(o, json_type_object));
	check(json_object_object_get_ex(o, "return", NULL) ||
	      json_object_object_get_ex(o, "error", NULL));
	check(hv_json_int(o, "id", 0) == (int64_t)nr);
}

/* FD must have received exactly one complete command since the last call, with id NR. */
static void check_command(int fd, uint64_t nr)
{
	HV_AUTO_JSON struct json_object *o = NULL;
	char buf[4096];
	ssize_t len = recv(fd, buf, sizeof(buf) - 1, MSG_DONTWAIT);

	check(len > 1 && memchr(buf, '\n', (size_t)len) == buf + len - 1);
	buf[len - 1] = '\0';
	o = json_tokener_parse(buf);
	check(hv_json_int(o, "id", 0) == (int64_t)nr);
	check(json_object_object_get_ex(o, "execute", NULL));
}

static void transact(struct hv_monitor *m, struct input *in, int fd)
{
	uint64_t nr = 1; /* qmp_capabilities */
	bool is_open = true;

	check_command(fd, nr);
	while (is_open && in->at < in->end) {
		HV_AUTO_FREE char *answer = NULL;
		HV_AUTO_ERR struct hv_err *err = NULL;

		send_words(in, fd);
		err = hv_monitor_transact(m, "{\"execute\": \"query-status\"}", &answer);
		check_command(fd, ++nr);
		check(!err == !!answer);
		if (answer)
			check_answer(answer, nr);
		is_open = !err || err->code == ETIMEDOUT;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char greeting[] = "{\"QMP\": {}}\n{\"return\": {}, \"id\": 1}\n";
	struct input in = {data, data + size};
	HV_AUTO_MONITOR struct hv_monitor *m = NULL;
	HV_AUTO_ERR struct hv_err *err = NULL;
	bool is_good = next_byte(&in) & 1;
	int ends[2];

	check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
	hv_qmp_timeout_ns = 0;
	if (is_good)
		check(send(ends[1], greeting, sizeof(greeting) - 1, 0) > 0);
	else
		send_words(&in, ends[1]);
	if (!is_good) /* do not wait 3 s for a greeting */
		shutdown(ends[1], SHUT_WR);
	err = hv_qmp_open(ends[0], "here", &m);
	check(!is_good || !err);
	if (is_good)
		transact(m, &in, ends[1]);
	close(ends[1]);
	return 0;
}
