/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drives the privileged side with a parser that was taken over (vmm/qemu/parser.c). The input is
 * the data that the parser sends after a request. This file replaces parser_run(), which runs in
 * its own process like the real one, but keeps its privileges. Every request must end, with the
 * guarantees of parser.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/text.h"
#include "vmm/guest.h"
#include "vmm/helper.h"
#include "vmm/qemu/parser.h"
#include "vmm/qemu/parser_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *input;
static size_t input_bytes;

_Noreturn void parser_run(const char *path hv_unused)
{
	struct parser_head head;
	const struct parser_head hello = {.kind = PARSER_ANSWER};

	if (recv(HV_HELPER_CONTROL, &head, sizeof(head), MSG_WAITALL) == sizeof(head))
		send(HV_HELPER_CONTROL, &hello, sizeof(hello), MSG_NOSIGNAL);
	if (recv(HV_HELPER_CONTROL, &head, sizeof(head), MSG_WAITALL) == sizeof(head))
		send(HV_HELPER_CONTROL, input, input_bytes, MSG_NOSIGNAL);
	_exit(0);
}

static struct hv_err *transact(void *self hv_unused, const char *request hv_unused, char **ret)
{
	*ret = hv_strdup("{}");
	return NULL;
}

static void free_nothing(void *self hv_unused)
{
}

static const struct hv_monitor_ops ops = {.free = free_nothing, .transact = transact};

static void ends(const char *text, size_t room)
{
	if (!memchr(text, 0, room))
		abort();
}

static struct hv_err *ask_ram(struct hv_parser *p)
{
	static struct hv_vmm_range r[HV_VMM_RANGES_MAX];
	size_t nr = 0;
	bool can_go;
	struct hv_err *err = hv_parser_ram(p, r, &nr, &can_go);

	if (nr > HV_VMM_RANGES_MAX)
		abort();
	for (size_t i = 0; !err && i < nr; i++)
		if (r[i].start.v + r[i].len_bytes <= r[i].start.v ||
		    r[i].hva + r[i].len_bytes < r[i].hva ||
		    (i && r[i].start.v < r[i - 1].start.v + r[i - 1].len_bytes))
			abort();
	return err;
}

static struct hv_err *ask(struct hv_parser *p, unsigned which)
{
	struct hv_vmm_ivshmem ivshmem = {0};
	struct hv_vmm_status status = {0};
	struct hv_vmm_stub stub = {0};
	struct hv_vmm_kind kind = {0};
	enum hv_vmm_device device = HV_VMM_NO_DEVICE;
	char text[HV_VMM_TEXT_BYTES];
	struct hv_vcpu_regs regs[2];
	unsigned nr = 1;
	pid_t tids[2];
	struct hv_err *err;

	switch (which % 8) {
	case 0:
		err = hv_parser_status(p, &status);
		ends(status.word, sizeof(status.word));
		return err;
	case 1:
		err = hv_parser_kind(p, &kind);
		ends(kind.arch, sizeof(kind.arch));
		return err;
	case 2:
		err = hv_parser_stub(p, &stub);
		ends(stub.where, sizeof(stub.where));
		if (stub.state >= HV_NR_STUB_STATES)
			abort();
		return err;
	case 3:
		err = hv_parser_ivshmem(p, &ivshmem);
		ends(ivshmem.where, sizeof(ivshmem.where));
		return err;
	case 4:
		err = hv_parser_threads(p, tids, 2, &nr);
		if (!nr || nr > HV_VCPUS_MAX)
			abort();
		return err;
	case 5:
		return hv_parser_registers(p, hv_arch_find("x86_64"), regs, 2);
	case 6:
		err = hv_parser_gdbserver(p, "", text);
		ends(text, sizeof(text));
		if (!err)
			err = hv_parser_devices(p, &device);
		if (device >= HV_NR_VMM_DEVICES)
			abort();
		return err;
	default:
		return ask_ram(p);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	HV_AUTO_PARSER struct hv_parser *p = NULL;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (size < 1)
		return 0;
	input = data + 1;
	input_bytes = size - 1;
	hv_parser_silent_ns = 20 * HV_NS_PER_S;
	p = hv_parser_relay(hv_monitor_new(&ops, NULL));
	err = ask(p, data[0]);
	if (err && (err->code <= 0 || strchr(err->message, '\n')))
		abort();
	return 0;
}
