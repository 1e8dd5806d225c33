/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser's process: drops its privileges, then answers one request at a time. It ends when the
 * other end of its socket is closed. */
#include <string.h>
#include <sys/socket.h>

#include "base/confine.h"
#include "base/text.h"
#include "vmm/guest.h"
#include "vmm/helper.h"
#include "vmm/qemu/parser_wire.h"
#include "vmm/qemu/pin.h"
#include "vmm/qemu/questions.h"
#include "vmm/qemu/ram_layout.h"

/* 32 MiB of JSON become several hundred MiB of objects. */
#define MEMORY_BYTES (1ull << 30)

/* ---- messages ---- */

/* Returns false if the peer is gone. */
static bool send_all(const void *bytes, size_t len)
{
	for (const char *at = bytes; len;) {
		ssize_t nr = send(HV_HELPER_CONTROL, at, len, MSG_NOSIGNAL);

		if (nr < 0 && errno != EINTR)
			return false;
		at += nr > 0 ? nr : 0;
		len -= nr > 0 ? (size_t)nr : 0;
	}
	return true;
}

static bool receive(void *bytes, size_t len)
{
	for (char *at = bytes; len;) {
		ssize_t nr = recv(HV_HELPER_CONTROL, at, len, 0);

		if (nr == 0 || (nr < 0 && errno != EINTR))
			return false;
		at += nr > 0 ? nr : 0;
		len -= nr > 0 ? (size_t)nr : 0;
	}
	return true;
}

static bool send_message(const struct parser_head *head, const void *bytes)
{
	return send_all(head, sizeof(*head)) && send_all(bytes, head->len_bytes);
}

/* The monitor of a libvirt domain. */
static struct hv_err *relay_transact(void *self hv_unused, const char *request, char **ret)
{
	struct parser_head head = {
		.kind = PARSER_RELAY,
		.len_bytes = (uint32_t)strlen(request),
	};
	HV_AUTO_FREE char *text = NULL;

	if (head.len_bytes > PARSER_COMMAND_MAX_BYTES)
		return hv_err_new(E2BIG, "a command of %u bytes is too long", head.len_bytes);
	if (!send_message(&head, request) || !receive(&head, sizeof(head)))
		_exit(0);
	text = hv_alloc((size_t)head.len_bytes + 1);
	if (!receive(text, head.len_bytes))
		_exit(0);
	text[head.len_bytes] = '\0';
	if (head.code)
		return hv_err_new(head.code, "%s", text);
	*ret = hv_take(text);
	return NULL;
}

static void free_nothing(void *self hv_unused)
{
}

static const struct hv_monitor_ops relay_ops = {.free = free_nothing, .transact = relay_transact};

/* ---- requests ---- */

typedef struct hv_err *(*answer_fn)(struct hv_monitor *m, const uint64_t asked[3], const char *text,
				    uint64_t args[3], struct hv_text *out);

#define ANSWER(name)                                                                               \
	static struct hv_err *name(struct hv_monitor *m hv_unused,                                 \
				   const uint64_t asked[3] hv_unused, const char *text hv_unused,  \
				   uint64_t args[3] hv_unused, struct hv_text *out hv_unused)

ANSWER(answer_hello)
{
	return NULL;
}

ANSWER(answer_kind)
{
	struct hv_vmm_kind kind = {0};
	struct hv_err *err = hv_ask_kind(m, &kind);

	hv_text_add_bytes(out, &kind, sizeof(kind));
	return err;
}

ANSWER(answer_status)
{
	struct hv_vmm_status status = {0};
	struct hv_err *err = hv_ask_status(m, &status);

	hv_text_add_bytes(out, &status, sizeof(status));
	return err;
}

ANSWER(answer_migration)
{
	struct hv_vmm_migration migration = {0};
	struct hv_err *err = hv_ask_migration(m, &migration);

	hv_text_add_bytes(out, &migration, sizeof(migration));
	return err;
}

ANSWER(answer_sev)
{
	uint32_t has_sev = 0;
	struct hv_err *err = hv_ask_sev(m, &has_sev);

	args[0] = has_sev;
	return err;
}

ANSWER(answer_threads)
{
	HV_AUTO_FREE pid_t *tids = NULL;
	unsigned nr = 0;
	struct hv_err *err = hv_ask_threads(m, &tids, &nr);

	if (!err)
		hv_text_add_bytes(out, tids, nr * sizeof(*tids));
	return err;
}

ANSWER(answer_registers)
{
	const struct hv_arch *arch = hv_arch_find(text);
	HV_AUTO_FREE struct hv_vcpu_regs *regs = NULL;
	struct hv_err *err = hv_vcpus_check(asked[0]);

	if (!err && !arch)
		err = hv_err_new(ENOTSUP, "the architecture %s is not supported", text);
	if (err)
		return err;
	regs = hv_alloc(asked[0] * sizeof(*regs));
	err = hv_ask_registers(m, arch, regs, asked[0]);
	if (!err)
		hv_text_add_bytes(out, regs, asked[0] * sizeof(*regs));
	return err;
}

ANSWER(answer_ram)
{
	struct hv_ram_layout layout = {0};
	struct hv_err *err = hv_ram_layout_load(m, &layout);

	if (!err && layout.nr)
		hv_text_add_bytes(out, layout.ranges, layout.nr * sizeof(*layout.ranges));
	args[0] = layout.can_go;
	hv_ram_layout_deinit(&layout);
	return err;
}

ANSWER(answer_hva)
{
	return hv_gpa2hva(m, hv_gpa(asked[0]), &args[0]);
}

ANSWER(answer_ivshmem)
{
	struct hv_vmm_ivshmem ivshmem = {0};
	struct hv_err *err = hv_ask_ivshmem(m, &ivshmem);

	hv_text_add_bytes(out, &ivshmem, sizeof(ivshmem));
	return err;
}

ANSWER(answer_stub)
{
	struct hv_vmm_stub stub = {0};
	struct hv_err *err = hv_ask_stub(m, &stub);

	hv_text_add_bytes(out, &stub, sizeof(stub));
	return err;
}

ANSWER(answer_gdbserver)
{
	char said[HV_VMM_TEXT_BYTES] = "";
	struct hv_err *err = hv_ask_gdbserver(m, text, said);

	hv_text_add(out, said);
	return err;
}

ANSWER(answer_cont)
{
	return hv_ask_cont(m);
}

ANSWER(answer_pin_is_set)
{
	bool is_set = false;
	struct hv_err *err = hv_pin_is_set(m, &is_set);

	args[0] = is_set;
	return err;
}

ANSWER(answer_pin_set)
{
	return hv_pin_set(m, text);
}

ANSWER(answer_pin_clear)
{
	return hv_pin_clear(m);
}

ANSWER(answer_devices)
{
	enum hv_vmm_device device = HV_VMM_NO_DEVICE;
	struct hv_err *err = hv_ask_devices(m, &device);

	args[0] = device;
	return err;
}

ANSWER(answer_place)
{
	struct hv_gpa gpa = {0};
	struct hv_err *err = hv_ask_place(m, (unsigned)asked[0], asked[1], asked[2], &gpa);

	args[0] = gpa.v;
	return err;
}

static const answer_fn answers[PARSER_NR_KINDS] = {
	[PARSER_HELLO] = answer_hello,
	[PARSER_KIND] = answer_kind,
	[PARSER_STATUS] = answer_status,
	[PARSER_MIGRATION] = answer_migration,
	[PARSER_SEV] = answer_sev,
	[PARSER_THREADS] = answer_threads,
	[PARSER_REGISTERS] = answer_registers,
	[PARSER_RAM] = answer_ram,
	[PARSER_HVA] = answer_hva,
	[PARSER_IVSHMEM] = answer_ivshmem,
	[PARSER_STUB] = answer_stub,
	[PARSER_GDBSERVER] = answer_gdbserver,
	[PARSER_CONT] = answer_cont,
	[PARSER_PIN_IS_SET] = answer_pin_is_set,
	[PARSER_PIN_SET] = answer_pin_set,
	[PARSER_PIN_CLEAR] = answer_pin_clear,
	[PARSER_DEVICES] = answer_devices,
	[PARSER_PLACE] = answer_place,
};

struct hv_err *parser_answer(struct hv_monitor *m, const struct parser_head *question,
			     const char *bytes, uint64_t args[3], struct hv_text *out)
{
	if (question->kind >= PARSER_NR_KINDS || !answers[question->kind])
		return hv_err_new(EPROTO, "question %u is not known", question->kind);
	return answers[question->kind](m, question->args, bytes, args, out);
}

/* ---- the process ---- */

static bool answer(struct hv_monitor *m, const struct parser_head *question, const char *bytes)
{
	HV_AUTO_TEXT struct hv_text out = {0};
	struct parser_head head = {.kind = PARSER_ANSWER};
	HV_AUTO_ERR struct hv_err *err = parser_answer(m, question, bytes, head.args, &out);

	if (!err) {
		head.len_bytes = (uint32_t)out.len_bytes;
		return send_message(&head, out.data);
	}
	head.code = err->code;
	head.len_bytes = (uint32_t)strnlen(err->message, PARSER_MESSAGE_MAX_BYTES);
	return send_message(&head, err->message);
}

/* Opens the monitor, and reads the greeting of a QMP socket. The first request receives the error.
 */
static struct hv_err *open_monitor(const char *path, struct hv_monitor **ret)
{
	if (path)
		return hv_qmp_open(HV_HELPER_OTHER, path, ret);
	*ret = hv_monitor_new(&relay_ops, NULL);
	return NULL;
}

static void confine(void)
{
	struct hv_confinement confinement = HV_CONFINEMENT_NONE;
	HV_AUTO_ERR struct hv_err *err = NULL;

	confinement.memory_bytes = MEMORY_BYTES;
	err = hv_confine(&confinement);
	if (err)
		_exit(1);
}

_Noreturn void parser_run(const char *path)
{
	HV_AUTO_MONITOR struct hv_monitor *m = NULL;
	struct parser_head question;
	struct hv_err *lack;

	confine();
	lack = open_monitor(path, &m);
	while (receive(&question, sizeof(question)) &&
	       question.len_bytes <= PARSER_ASKED_MAX_BYTES) {
		char bytes[PARSER_ASKED_MAX_BYTES + 1];

		if (!receive(bytes, question.len_bytes))
			break;
		bytes[question.len_bytes] = '\0';
		if (lack) {
			struct parser_head head = {
				.kind = PARSER_ANSWER,
				.code = lack->code,
				.len_bytes =
					(uint32_t)strnlen(lack->message, PARSER_MESSAGE_MAX_BYTES),
			};

			send_message(&head, lack->message);
			break;
		}
		if (!answer(m, &question, bytes))
			break;
	}
	_exit(0);
}
