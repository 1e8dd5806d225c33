/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/qemu/parser.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/capabilities.h"
#include "base/clock.h"
#include "vmm/guest.h"
#include "vmm/helper.h"
#include "vmm/qemu/parser_wire.h"

/* A VMM has 20 s per command (qmp.c), and some requests need several commands. */
#define QUESTION_NS (120 * HV_NS_PER_S)
#define RELAYS_MAX  32768

uint64_t hv_parser_silent_ns = 30 * HV_NS_PER_S;

struct hv_parser {
	struct hv_helper_kind kind;
	struct hv_helper process;
	struct hv_monitor *relay; /* NULL: the parser has the socket */
	int qmp_fd;		  /* connected, for the next process; -1: connect first */
	char *path;		  /* of the QMP socket */
	pid_t vmm;
};

/* A request, and the buffer for its answer. */
struct asked {
	enum parser_kind kind;
	uint64_t args[3]; /* afterwards the answer's numbers */
	const char *text; /* may be NULL */
	void *to;
	size_t room_bytes;
	size_t got_bytes;
	uint64_t deadline_ns;
};

static const struct hv_helper_kind parser_kind = {
	.noun = "parser",
	.comm = "hvtrace:parser",
	.socket_type = SOCK_STREAM,
	.needs = HV_CAP(SETUID) | HV_CAP(SETGID), /* to become another user */
};

static void run(void *ctx)
{
	const struct hv_parser *p = ctx;

	parser_run(p->relay ? NULL : p->path);
}

static struct hv_parser *parser_new(void)
{
	struct hv_parser *p = hv_alloc(sizeof(*p));

	p->kind = parser_kind;
	p->kind.run = run;
	p->process = HV_HELPER_NONE;
	p->qmp_fd = -1;
	return p;
}

pid_t hv_parser_pid(const struct hv_parser *p)
{
	return p->process.pid;
}

/* The parser has nothing to clean up, so it is killed. */
static void drop(struct hv_parser *p)
{
	if (p->process.pid > 0)
		kill(p->process.pid, SIGKILL);
	hv_helper_end(&p->process);
}

void hv_parser_free(struct hv_parser *p)
{
	if (!p)
		return;
	drop(p);
	hv_monitor_free(p->relay);
	hv_close_at(&p->qmp_fd);
	free(p->path);
	free(p);
}

bool hv_parser_is_paused_by_other(struct hv_parser *p)
{
	return p->relay && hv_monitor_is_paused_by_other(p->relay);
}

/* ---- one request ---- */

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

/* Limits the time, because a parser that was taken over may not read. */
static struct hv_err *send_all(struct hv_parser *p, const void *bytes, size_t len,
			       uint64_t deadline_ns)
{
	uint64_t silent_ns = earlier(hv_now_ns() + hv_parser_silent_ns, deadline_ns);
	const char *at = bytes;

	while (len) {
		struct pollfd poll_for = {.fd = p->process.control, .events = POLLOUT};
		ssize_t nr = send(p->process.control, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (nr < 0 && errno != EAGAIN && errno != EINTR)
			return hv_err_new(EPIPE, "parser: it has ended");
		at += nr > 0 ? nr : 0;
		len -= nr > 0 ? (size_t)nr : 0;
		if (nr < 0 && poll(&poll_for, 1, hv_left_ms(silent_ns)) == 0)
			return hv_err_new(ETIME, "parser: it does not read");
	}
	return NULL;
}

static struct hv_err *send_message(struct hv_parser *p, const struct parser_head *head,
				   const void *bytes, uint64_t deadline_ns)
{
	struct hv_err *err = send_all(p, head, sizeof(*head), deadline_ns);

	return err ? err : send_all(p, bytes, head->len_bytes, deadline_ns);
}

static struct hv_err *receive(struct hv_parser *p, void *bytes, size_t len, uint64_t deadline_ns)
{
	return hv_helper_receive(&p->process, bytes, len,
				 earlier(hv_now_ns() + hv_parser_silent_ns, deadline_ns));
}

static struct hv_err *out_of_form(const char *what)
{
	return hv_err_new(EPROTO, "parser: %s", what);
}

/* Kills the parser after an impossible answer. */
static struct hv_err *dropped(struct hv_parser *p, const char *what)
{
	drop(p);
	return out_of_form(what);
}

/* Passes a command to libvirt and its answer to the parser, without parsing either. */
static struct hv_err *relay(struct hv_parser *p, const struct parser_head *asked,
			    uint64_t deadline_ns)
{
	char command[PARSER_COMMAND_MAX_BYTES + 1];
	struct parser_head head = {.kind = PARSER_RELAYED};
	HV_AUTO_ERR struct hv_err *failed = NULL;
	HV_AUTO_FREE char *text = NULL;
	struct hv_err *err;

	if (!p->relay || asked->len_bytes > PARSER_COMMAND_MAX_BYTES)
		return out_of_form("a command that cannot be relayed");
	err = receive(p, command, asked->len_bytes, deadline_ns);
	if (err)
		return err;
	command[asked->len_bytes] = '\0';
	failed = hv_monitor_transact(p->relay, command, &text);
	if (!failed && strlen(text) > PARSER_TEXT_MAX_BYTES)
		failed = hv_err_new(EMSGSIZE, "an answer is longer than %u bytes",
				    PARSER_TEXT_MAX_BYTES);
	head.code = failed ? failed->code : 0;
	head.len_bytes = (uint32_t)strlen(failed ? failed->message : text);
	return send_message(p, &head, failed ? failed->message : text, deadline_ns);
}

/* Receives an error from the parser, with its number and length checked: the parser may lie. */
static struct hv_err *answered_error(struct hv_parser *p, const struct parser_head *head,
				     struct hv_err **ret, uint64_t deadline_ns)
{
	char message[PARSER_MESSAGE_MAX_BYTES + 1];
	struct hv_err *err;

	if (head->code < 0 || head->code > 4095 || head->len_bytes > PARSER_MESSAGE_MAX_BYTES)
		return out_of_form("a malformed error");
	err = receive(p, message, head->len_bytes, deadline_ns);
	if (err)
		return err;
	message[head->len_bytes] = '\0';
	*ret = hv_err_new(head->code, "%s", message);
	return NULL;
}

/* *RET_FAILED is the error in the answer. */
static struct hv_err *take_answer(struct hv_parser *p, struct asked *a, struct hv_err **ret_failed)
{
	struct parser_head head = {0};
	struct hv_err *err = NULL;

	for (unsigned nr = 0; !err && nr < RELAYS_MAX; nr++) {
		err = receive(p, &head, sizeof(head), a->deadline_ns);
		if (err || head.kind != PARSER_RELAY)
			break;
		err = relay(p, &head, a->deadline_ns);
	}
	if (err)
		return err;
	if (head.kind != PARSER_ANSWER)
		return out_of_form("an unexpected message");
	if (head.code)
		return answered_error(p, &head, ret_failed, a->deadline_ns);
	if (head.len_bytes > a->room_bytes)
		return out_of_form("an answer that is too long");
	memcpy(a->args, head.args, sizeof(a->args));
	a->got_bytes = head.len_bytes;
	return receive(p, a->to, head.len_bytes, a->deadline_ns);
}

static struct hv_err *ask_once(struct hv_parser *p, struct asked *a, struct hv_err **ret_failed)
{
	struct parser_head head = {
		.kind = a->kind,
		.len_bytes = a->text ? (uint32_t)strlen(a->text) : 0,
	};
	struct hv_err *err;

	if (head.len_bytes > PARSER_ASKED_MAX_BYTES)
		return hv_err_new(ENAMETOOLONG, "'%s' is too long", a->text);
	a->deadline_ns = hv_now_ns() + QUESTION_NS;
	memcpy(head.args, a->args, sizeof(head.args));
	err = send_message(p, &head, a->text, a->deadline_ns);
	if (!err)
		err = take_answer(p, a, ret_failed);
	if (err)
		drop(p);
	return err;
}

/* ---- the parser's process ---- */

static struct hv_err *connect_qmp(struct hv_parser *p)
{
	struct hv_unix_peer peer = HV_UNIX_PEER_NONE;
	struct hv_err *err = hv_qmp_connect(p->path, p->vmm, &p->qmp_fd, &peer);

	hv_close_at(&peer.pidfd);
	return err;
}

static struct hv_err *start(struct hv_parser *p)
{
	struct asked hello = {.kind = PARSER_HELLO};
	struct hv_err *failed = NULL;
	struct hv_err *err = NULL;

	if (!p->relay && p->qmp_fd < 0)
		err = connect_qmp(p);
	if (err)
		return err;
	p->kind.other_fd = p->relay ? 0 : p->qmp_fd;
	err = hv_helper_start(&p->kind, p, &p->process);
	hv_close_at(&p->qmp_fd);
	p->qmp_fd = -1;
	if (!err)
		err = ask_once(p, &hello, &failed);
	if (err || !failed)
		return err;
	drop(p);
	return failed;
}

/* Drops the parser after errors, so that it cannot answer late. */
static struct hv_err *ask(struct hv_parser *p, struct asked *a)
{
	struct hv_err *failed = NULL;
	struct hv_err *err = NULL;

	if (p->process.pid > 0 && !hv_helper_is_alive(&p->process))
		drop(p);
	if (p->process.pid <= 0)
		err = start(p);
	if (!err)
		err = ask_once(p, a, &failed);
	return err ? hv_err_in(err, "cannot tell how the VMM answered") : failed;
}

/* Requests an answer of exactly SIZE bytes. Does not change TO on error. */
static struct hv_err *ask_for(struct hv_parser *p, enum parser_kind kind, void *to, size_t size)
{
	HV_AUTO_FREE char *got = hv_alloc(size);
	struct asked a = {.kind = kind, .to = got, .room_bytes = size};
	struct hv_err *err = ask(p, &a);

	if (!err && a.got_bytes != size)
		err = dropped(p, "an answer that is too short");
	if (!err)
		memcpy(to, got, size);
	return err;
}

static struct hv_err *ask_yes(struct hv_parser *p, enum parser_kind kind, bool *ret)
{
	struct asked a = {.kind = kind};
	struct hv_err *err = ask(p, &a);

	if (!err)
		*ret = a.args[0] != 0;
	return err;
}

struct hv_parser *hv_parser_relay(struct hv_monitor *monitor)
{
	struct hv_parser *p = parser_new();

	p->relay = monitor;
	return p;
}

struct hv_err *hv_parser_qmp(const char *path, pid_t expected, struct hv_parser **ret,
			     struct hv_unix_peer *ret_peer)
{
	struct hv_parser *p = parser_new();
	struct hv_unix_peer peer = HV_UNIX_PEER_NONE;
	struct hv_err *err;

	p->path = hv_strdup(path);
	err = hv_qmp_connect(path, expected, &p->qmp_fd, &peer);
	if (!err)
		p->vmm = peer.pid;
	if (!err)
		err = start(p);
	if (err) {
		hv_close_at(&peer.pidfd);
		hv_parser_free(p);
		return err;
	}
	*ret_peer = peer;
	*ret = p;
	return NULL;
}

/* ---- requests ---- */

#define END(text) ((text)[sizeof(text) - 1] = '\0')

struct hv_err *hv_parser_kind(struct hv_parser *p, struct hv_vmm_kind *ret)
{
	struct hv_err *err = ask_for(p, PARSER_KIND, ret, sizeof(*ret));

	if (!err)
		END(ret->arch);
	return err;
}

struct hv_err *hv_parser_status(struct hv_parser *p, struct hv_vmm_status *ret)
{
	struct hv_err *err = ask_for(p, PARSER_STATUS, ret, sizeof(*ret));

	if (!err)
		END(ret->word);
	return err;
}

struct hv_err *hv_parser_migration(struct hv_parser *p, struct hv_vmm_migration *ret)
{
	struct hv_err *err = ask_for(p, PARSER_MIGRATION, ret, sizeof(*ret));

	if (!err)
		END(ret->word);
	return err;
}

struct hv_err *hv_parser_has_sev(struct hv_parser *p, bool *ret)
{
	return ask_yes(p, PARSER_SEV, ret);
}

struct hv_err *hv_parser_threads(struct hv_parser *p, pid_t *ret, size_t max, unsigned *ret_nr)
{
	HV_AUTO_FREE pid_t *all = hv_alloc(HV_VCPUS_MAX * sizeof(*all));
	struct asked a = {
		.kind = PARSER_THREADS,
		.to = all,
		.room_bytes = HV_VCPUS_MAX * sizeof(*all),
	};
	struct hv_err *err = ask(p, &a);
	size_t nr = a.got_bytes / sizeof(*all);

	if (!err && (!nr || a.got_bytes % sizeof(*all)))
		err = dropped(p, "no list of threads");
	if (err)
		return err;
	if (max)
		memcpy(ret, all, (nr < max ? nr : max) * sizeof(*all));
	*ret_nr = (unsigned)nr;
	return NULL;
}

struct hv_err *hv_parser_registers(struct hv_parser *p, const struct hv_arch *arch,
				   struct hv_vcpu_regs *ret, size_t nr)
{
	HV_AUTO_FREE struct hv_vcpu_regs *got = hv_alloc((nr + 1) * sizeof(*got));
	struct asked a = {
		.kind = PARSER_REGISTERS,
		.args = {nr},
		.text = arch->name,
		.to = got,
		.room_bytes = nr * sizeof(*got),
	};
	struct hv_err *err = ask(p, &a);

	if (!err && a.got_bytes != a.room_bytes)
		err = dropped(p, "registers of too few vCPUs");
	if (!err && !hv_vcpu_regs_are_sane(got, nr))
		err = dropped(p, "registers that no vCPUs have");
	if (!err)
		memcpy(ret, got, a.room_bytes);
	return err;
}

static bool is_in_order(const struct hv_vmm_range *r, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		uint64_t len = r[i].len_bytes;

		if (!len || len > UINT64_MAX - r[i].start.v || len > UINT64_MAX - r[i].hva)
			return false;
		if (i && r[i].start.v < r[i - 1].start.v + r[i - 1].len_bytes)
			return false;
	}
	return true;
}

struct hv_err *hv_parser_ram(struct hv_parser *p, struct hv_vmm_range *ret, size_t *ret_nr,
			     bool *ret_can_go)
{
	HV_AUTO_FREE struct hv_vmm_range *got = hv_alloc(HV_VMM_RANGES_MAX * sizeof(*got));
	struct asked a = {
		.kind = PARSER_RAM,
		.to = got,
		.room_bytes = HV_VMM_RANGES_MAX * sizeof(*got),
	};
	struct hv_err *err = ask(p, &a);
	size_t nr = a.got_bytes / sizeof(*got);

	if (!err && (a.got_bytes % sizeof(*got) || !is_in_order(got, nr)))
		err = dropped(p, "RAM that is not in order");
	if (err)
		return err;
	memcpy(ret, got, a.got_bytes);
	*ret_nr = nr;
	*ret_can_go = a.args[0] != 0;
	return NULL;
}

struct hv_err *hv_parser_hva(struct hv_parser *p, struct hv_gpa gpa, uint64_t *ret)
{
	struct asked a = {.kind = PARSER_HVA, .args = {gpa.v}};
	struct hv_err *err = ask(p, &a);

	if (!err)
		*ret = a.args[0];
	return err;
}

struct hv_err *hv_parser_ivshmem(struct hv_parser *p, struct hv_vmm_ivshmem *ret)
{
	struct hv_err *err = ask_for(p, PARSER_IVSHMEM, ret, sizeof(*ret));

	if (err)
		return err;
	END(ret->where);
	ret->is_on = ret->is_on && ret->len_bytes <= UINT64_MAX - ret->start.v;
	return NULL;
}

struct hv_err *hv_parser_stub(struct hv_parser *p, struct hv_vmm_stub *ret)
{
	struct hv_err *err = ask_for(p, PARSER_STUB, ret, sizeof(*ret));

	if (err)
		return err;
	END(ret->where);
	if (ret->state >= HV_NR_STUB_STATES)
		ret->state = HV_STUB_ANOTHER;
	return NULL;
}

struct hv_err *hv_parser_gdbserver(struct hv_parser *p, const char *path,
				   char ret[HV_VMM_TEXT_BYTES])
{
	struct asked a = {
		.kind = PARSER_GDBSERVER,
		.text = path,
		.to = ret,
		.room_bytes = HV_VMM_TEXT_BYTES - 1,
	};
	struct hv_err *err = ask(p, &a);

	ret[err ? 0 : a.got_bytes] = '\0';
	return err;
}

struct hv_err *hv_parser_cont(struct hv_parser *p)
{
	return ask(p, &(struct asked){.kind = PARSER_CONT});
}

struct hv_err *hv_parser_pin_is_set(struct hv_parser *p, bool *ret)
{
	return ask_yes(p, PARSER_PIN_IS_SET, ret);
}

struct hv_err *hv_parser_pin_set(struct hv_parser *p, const char *path)
{
	return ask(p, &(struct asked){.kind = PARSER_PIN_SET, .text = path});
}

struct hv_err *hv_parser_pin_clear(struct hv_parser *p)
{
	return ask(p, &(struct asked){.kind = PARSER_PIN_CLEAR});
}

struct hv_err *hv_parser_devices(struct hv_parser *p, enum hv_vmm_device *ret)
{
	struct asked a = {.kind = PARSER_DEVICES};
	struct hv_err *err = ask(p, &a);

	if (!err && a.args[0] >= HV_NR_VMM_DEVICES)
		err = dropped(p, "an unknown device");
	if (!err)
		*ret = (enum hv_vmm_device)a.args[0];
	return err;
}

struct hv_err *hv_parser_free_gpa(struct hv_parser *p, unsigned phys_bits, uint64_t floor,
				  uint64_t len_bytes, struct hv_gpa *ret)
{
	struct asked a = {.kind = PARSER_FREE_GPA, .args = {phys_bits, floor, len_bytes}};
	struct hv_err *err = ask(p, &a);

	if (!err)
		*ret = hv_gpa(a.args[0]);
	return err;
}
