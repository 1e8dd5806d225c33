/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drives the broker's answers to host requests (cli/service/host_client.h) with the requests of a
 * service that a guest has taken over, in any order. In between, root removes the session's
 * directory or changes the rules. An answer contains only files of this session, no path begins
 * with "(null)", and the broker keeps no file open.
 *
 * An input is a list of records: a kind, two numbers of 8 bytes, the length of the data in 2 bytes,
 * and the data. */
#include "tests/lib/lone_broker.h"

#include "base/prefix.h"
#include "tests/fuzz/input.h"

#define RECORDS_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NR_REQUESTS = HOST_REQUEST_END - HOST_REQUEST_FIRST };
enum act { REMOVE_DIR = NR_REQUESTS, REMOVE_FILE, CHANGE_RULES, NR_ACTS };

static struct lone_broker lone;
static int home; /* the first working directory: libFuzzer's paths are relative to it */

static void remove_all(void)
{
	lone_broker_remove(&lone);
}

static void make_once(void)
{
	if (lone.work[0])
		return;
	home = open(".", O_PATH | O_CLOEXEC);
	lone_broker_make(&lone);
	atexit(remove_all);
}

/* The lowest free descriptor, which is higher after a file was left open. */
static int free_fd(void)
{
	int fd = dup(STDERR_FILENO);

	close(fd);
	return fd;
}

static uint64_t next_number(struct input *in, unsigned len)
{
	uint64_t number = 0;

	for (unsigned i = 0; i < len; i++)
		number |= (uint64_t)next_byte(in) << 8 * i;
	return number;
}

/* The data is followed by a zero, as in hv_channel_receive(). */
static void take_data(struct input *in, struct hv_message *ret)
{
	size_t left, len = next_number(in, 2);

	left = (size_t)(in->end - in->at);
	ret->len_bytes = len < left ? len : left;
	ret->bytes = hv_alloc(ret->len_bytes + 1);
	memcpy(ret->bytes, in->at, ret->len_bytes);
	in->at += ret->len_bytes;
}

static void check_file(int fd)
{
	HV_AUTO_FREE char *link = hv_format("/proc/self/fd/%d", fd);
	char path[256];
	ssize_t n = readlink(link, path, sizeof(path) - 1);

	lone_require(n > 0);
	path[n] = '\0';
	lone_require(hv_starts_with(path, lone.run_dir) || hv_starts_with(path, "socket:") ||
		     hv_starts_with(path, "/memfd:"));
}

static void check_answer(unsigned kind, const struct hv_err *err, const struct hv_message *answer)
{
	HV_AUTO_FREE char *dir = hv_format("%s/" LONE_ID, lone.run_dir);

	if (err)
		return;
	for (size_t i = 0; i < answer->nr_fds; i++)
		check_file(answer->fds[i]);
	if (kind == HOST_OPEN_RUNDIR)
		lone_require(!strcmp((const char *)answer->bytes, dir));
	lone_require(kind == HOST_OPEN_RUNDIR || lone.broker.has_opened || kind == HOST_ACTOR ||
		     kind == HOST_PROCESSES || kind == HOST_BTF);
}

static void ask(struct input *in, unsigned kind)
{
	HV_AUTO_MESSAGE struct hv_message question = {.kind = kind};
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	struct hv_err *err;

	question.args[0] = next_number(in, 8);
	question.args[1] = next_number(in, 8);
	take_data(in, &question);
	err = run_host_request(&lone.broker, &question, &answer);
	check_answer(kind, err, &answer);
	hv_err_free(err);
}

static void remove_dir(unsigned file)
{
	HV_AUTO_FREE char *dir = hv_format("%s/" LONE_ID, lone.run_dir);

	for (size_t i = 0; i < 3; i++) {
		static const char *const names[] = {"lock", "info", "sock"};
		HV_AUTO_FREE char *path = rundir_path(dir, names[i]);

		if (file == 3 || file == i)
			unlink(path);
	}
	rmdir(dir);
}

static void change_rules(unsigned which)
{
	static const char *const rules[] = {"", "allow user 2 control * *\n", "alow\n", "\xff\n"};

	lone_put(lone.conf, rules[which % HV_ARRAY_LEN(rules)]);
}

static void act(struct input *in)
{
	unsigned kind = next_byte(in) % NR_ACTS;

	switch (kind) {
	case REMOVE_DIR:
		remove_dir(3);
		break;
	case REMOVE_FILE:
		remove_dir(next_byte(in) % 3);
		break;
	case CHANGE_RULES:
		change_rules(next_byte(in));
		break;
	default:
		ask(in, HOST_REQUEST_FIRST + kind);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, data + size};
	int before;

	make_once();
	lone_require(chdir(lone.work) == 0);
	before = free_fd();
	lone_broker_begin(&lone);
	for (unsigned i = 0; i < RECORDS_MAX && in.at < in.end && !lone.broker.is_over; i++)
		act(&in);
	lone_broker_end(&lone);
	lone_require(free_fd() == before);
	lone_require(rmdir(LONE_NULL) == 0 && mkdir(LONE_NULL, 0700) == 0);
	lone_require(fchdir(home) == 0);
	return 0;
}
