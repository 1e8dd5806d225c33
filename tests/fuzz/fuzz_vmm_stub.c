/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drives the guardian's client of the gdb stub with a hostile stub (vmm/qemu/gdb/gdb_stub.c,
 * stub_vcpus.c). The input is either one answer for each packet, which this file frames, or raw
 * bytes that arrive between the steps of the client. Each step must fail, or return a number of
 * vCPUs that the privileged side accepts. The client must not use an answer for two packets, and
 * must not copy bytes that end a packet into one. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/fuzz/input.h"
#include "vmm/guest.h"
#include "vmm/qemu/gdb/stub_vcpus.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const arches[] = {"x86_64", "aarch64", "riscv64"};

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* ---- answers ---- */

#define PACKETS_MAX 20000

static size_t nr_packets; /* sent for this input */

static void check_packets(const struct hv_packets *packets)
{
	const char *at = packets->bytes.data;

	for (size_t i = 0; i < packets->nr; i++, at += strlen(at) + 1)
		check(!strpbrk(at, "#$}"));
	check(at == packets->bytes.data + packets->bytes.len_bytes);
}

/* A NUL ends an answer. A byte above 0x7f expands to groups of hexadecimal digits, so that short
 * inputs contain registers. */
static void next_answer(struct input *in, struct hv_text *ret)
{
	while (in->at < in->end) {
		unsigned byte = next_byte(in);

		if (!byte)
			break;
		if (byte < 0x80)
			hv_text_add_char(ret, (char)byte);
		for (unsigned i = 0x80; i < byte; i++)
			hv_text_add(ret, "01234560");
	}
	hv_text_add(ret, "");
}

static struct hv_err *exchange(void *ctx, const struct hv_packets *packets,
			       struct hv_packets *answers)
{
	struct hv_rsp_reader reader = {0};

	check_packets(packets);
	nr_packets += packets->nr;
	for (size_t i = 0; i < packets->nr; i++) {
		HV_AUTO_TEXT struct hv_text answer = {0};
		HV_AUTO_TEXT struct hv_text framed = {0};

		next_answer(ctx, &answer);
		hv_rsp_frame(&framed, answer.data, answer.len_bytes);
		hv_rsp_feed(&reader, framed.data, framed.len_bytes);
		if (hv_rsp_next(&reader) == HV_RSP_PACKET)
			hv_packets_add(answers, reader.packet.data);
	}
	hv_rsp_reader_deinit(&reader);
	if (nr_packets > PACKETS_MAX)
		return hv_err_new(ETIMEDOUT, "the hold is over");
	return NULL;
}

static struct hv_err *look(struct hv_stub_vcpus *v, unsigned expected)
{
	HV_AUTO_FREE struct hv_vcpu_regs *regs = NULL;
	unsigned nr = 0;
	struct hv_err *err = hv_stub_vcpus_look(v, expected, &regs, &nr);

	check(err || (regs && !hv_vcpus_check(nr) && hv_vcpu_regs_are_sane(regs, nr)));
	return err;
}

static void fuzz_answers(struct input *in)
{
	const struct hv_arch *arch = hv_arch_find(arches[next_byte(in) % 3]);
	struct hv_stub_vcpus v = {.exchange = exchange, .ctx = in};
	struct hv_err *err = hv_stub_vcpus_describe(&v, arch);

	nr_packets = 0;
	while (!err && in->at < in->end) {
		unsigned byte = next_byte(in);

		err = byte & 1 && v.nr ? hv_stub_vcpus_flush(&v) : look(&v, byte / 2 % 8);
		/* A failed look ends its hold. The next hold uses the same state. */
		hv_err_free(hv_take(err));
	}
	hv_err_free(err);
	hv_stub_vcpus_deinit(&v);
}

/* ---- bytes ---- */

static uint64_t nr_limits;

/* An expired limit: the client takes the bytes that have arrived, and does not wait. */
static struct hv_gdb_limit at_once(void)
{
	return (struct hv_gdb_limit){++nr_limits, -1};
}

static struct hv_err *exchange_some(struct hv_gdb_stub *s, unsigned nr)
{
	HV_AUTO_PACKETS struct hv_packets packets = {0};
	HV_AUTO_PACKETS struct hv_packets answers = {0};
	size_t expected = s->nr_unanswered + nr; /* an exchange that timed out continues here */
	struct hv_err *err;

	for (unsigned i = 0; i < nr; i++)
		hv_packets_add(&packets, "g");
	err = hv_gdb_stub_exchange(s, &packets, at_once(), &answers);
	check(answers.nr <= expected && (err || answers.nr == expected));
	return err;
}

static struct hv_err *step(struct hv_gdb_stub *s, unsigned what)
{
	switch (what % 6) {
	case 0:
		return exchange_some(s, what / 6);
	case 1:
		return hv_gdb_stub_interrupt(s, at_once());
	case 2:
		return hv_gdb_stub_await_stop(s, at_once());
	case 3:
		return hv_gdb_stub_continue(s, at_once());
	case 4:
		return hv_gdb_stub_await_taken(s, at_once());
	default:
		return hv_gdb_stub_drain(s);
	}
}

static void send_some(struct input *in, int fd)
{
	size_t len = next_byte(in);

	if (len > (size_t)(in->end - in->at))
		len = (size_t)(in->end - in->at);
	if (len)
		check(send(fd, in->at, len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len);
	in->at += len;
}

static void read_all(int fd)
{
	char buf[4096];

	while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
}

static void fuzz_bytes(struct input *in)
{
	struct hv_gdb_stub s;
	struct hv_err *err;
	int ends[2];

	check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
	nr_limits = 0;
	send_some(in, ends[1]);
	err = hv_gdb_stub_open(ends[0], at_once(), &s);
	if (!err) {
		while (!err && in->at < in->end) {
			send_some(in, ends[1]);
			err = step(&s, next_byte(in));
			if (err && err->code == ECANCELED)
				hv_err_free(hv_take(err));
			read_all(ends[1]);
		}
		hv_gdb_stub_close(&s);
	}
	hv_err_free(err);
	close(ends[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, data + size};

	if (next_byte(&in) & 1)
		fuzz_bytes(&in);
	else
		fuzz_answers(&in);
	return 0;
}
