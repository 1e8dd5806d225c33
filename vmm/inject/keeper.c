/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/inject/keeper.h"

#include <string.h>
#include <sys/socket.h>

#include "base/capabilities.h"
#include "vmm/helper.h"
#include "vmm/inject/keeper_run.h"

struct hv_keeper {
	struct hv_helper process;
	/* The current request or reply. It is not allocated for each request, because it is large
	 * and the guest is stopped during most of them. */
	struct keeper_message message;
};

struct task {
	pid_t vmm;
	const struct hv_call_code *code;
};

static void run(void *ctx)
{
	const struct task *task = ctx;

	keeper_run(task->vmm, task->code);
}

static const struct hv_helper_kind keeper_kind = {
	.noun = "keeper",
	.comm = "hvtrace-keep",
	.socket_type = SOCK_SEQPACKET,
	.needs = HV_CAP(SYS_PTRACE),
	.run = run,
};

struct hv_err *hv_keeper_start(pid_t pid, int pidfd, const struct hv_call_code *code,
			       struct hv_keeper **ret)
{
	static struct hv_helper_kind kind;
	struct task task = {pid, code};
	struct hv_helper process;
	struct hv_err *err;

	kind = keeper_kind;
	kind.other_fd = pidfd;
	err = hv_helper_start(&kind, &task, &process);
	if (err)
		return err;
	*ret = hv_alloc(sizeof(**ret));
	(*ret)->process = process;
	return NULL;
}

void hv_keeper_free(struct hv_keeper *k)
{
	if (k)
		hv_helper_end(&k->process);
	free(k);
}

bool hv_keeper_is_alive(const struct hv_keeper *k)
{
	return hv_helper_is_alive(&k->process);
}

pid_t hv_keeper_pid(const struct hv_keeper *k)
{
	return k->process.pid;
}

/* Returns the message for a request with NR threads, calls or writes. */
static struct keeper_message *begin(struct hv_keeper *k, enum keeper_op op, size_t nr)
{
	struct keeper_message *m = &k->message;

	memset(m, 0, KEEPER_HEAD_BYTES);
	m->op = op;
	m->nr = (uint32_t)nr;
	return m;
}

static struct hv_err *ask(struct hv_keeper *k)
{
	struct keeper_message *m = &k->message;
	struct hv_err *err = hv_helper_send(&k->process, m, keeper_request_bytes(m));

	if (!err)
		err = hv_helper_receive(&k->process, m, keeper_answer_bytes(m),
					hv_now_ns() + hv_helper_answer_ns);
	if (err)
		return err;
	return m->code ? hv_err_received(&(struct hv_err_sent){.code = (uint64_t)m->code,
							       .text = m->text,
							       .len_bytes = sizeof(m->text)})
		       : NULL;
}

struct hv_err *hv_keeper_hold(struct hv_keeper *k, const pid_t *tids, size_t nr, uint64_t max_ns,
			      uint64_t *ret_from_ns, bool *ret_all_in_run)
{
	struct keeper_message *m;
	struct hv_err *err;

	if (nr > HV_KEEPER_THREADS_MAX)
		return hv_err_new(E2BIG, "keeper: %zu threads are too many", nr);
	m = begin(k, KEEPER_HOLD, nr);
	m->ns = max_ns;
	memcpy(m->tids, tids, nr * sizeof(*tids));
	err = ask(k);
	*ret_from_ns = m->ns;
	*ret_all_in_run = !err && m->all_in_run;
	return err;
}

struct hv_err *hv_keeper_calls(struct hv_keeper *k, struct hv_call *calls, size_t nr, void *data,
			       size_t len_bytes)
{
	struct keeper_message *m;
	struct hv_err *err;

	if (nr > HV_KEEPER_CALLS_MAX || len_bytes > HV_CALL_DATA_MAX)
		return hv_err_new(E2BIG,
				  "keeper: %zu calls with %zu bytes are too many for a request", nr,
				  len_bytes);
	m = begin(k, KEEPER_CALLS, nr);
	m->len_bytes = (uint32_t)len_bytes;
	memcpy(m->calls, calls, nr * sizeof(*calls));
	if (len_bytes)
		memcpy(m->data, data, len_bytes);
	err = ask(k);
	if (err)
		return err;
	memcpy(calls, m->calls, nr * sizeof(*calls));
	if (len_bytes)
		memcpy(data, m->data, len_bytes);
	return NULL;
}

static struct hv_err *write_some(struct hv_keeper *k, const struct hv_held_write *writes, size_t nr)
{
	struct keeper_message *m = begin(k, KEEPER_WRITE, nr);

	memcpy(m->writes, writes, nr * sizeof(*writes));
	return ask(k);
}

struct hv_err *hv_keeper_write(struct hv_keeper *k, const struct hv_held_writes *writes)
{
	struct hv_err *err = NULL;

	for (size_t done = 0; !err && done < writes->nr; done += KEEPER_WRITES_MAX) {
		size_t left = writes->nr - done;

		err = write_some(k, writes->list + done,
				 left < KEEPER_WRITES_MAX ? left : KEEPER_WRITES_MAX);
	}
	return err;
}

struct hv_err *hv_keeper_release(struct hv_keeper *k, uint64_t *ret_ns)
{
	struct keeper_message *m = begin(k, KEEPER_RELEASE, 0);
	struct hv_err *err = ask(k);

	if (ret_ns && (!err || err->code == ETIMEDOUT))
		*ret_ns = m->ns;
	return err;
}
