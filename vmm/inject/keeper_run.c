/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keeper's process: a loop that waits for requests from the service, for the service's end, and
 * for the end of the hold. */
#include "vmm/inject/keeper_run.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "vmm/helper.h"

#define STOP_NS HV_NS_PER_S /* enough for a thread to leave the guest */
#define TRIES	200

struct keeper {
	pid_t vmm;
	const struct hv_call_code *code;
	struct hv_threads threads;
	bool held;
	bool expired; /* the last hold timed out */
	uint64_t since_ns;
	uint64_t deadline_ns;
	uint64_t held_ns;
};

static void let_go(struct keeper *k)
{
	if (!k->held)
		return;
	hv_threads_release(&k->threads);
	hv_threads_deinit(&k->threads);
	k->held_ns = hv_now_ns() - k->since_ns;
	k->held = false;
}

static struct hv_thread *usable(struct keeper *k)
{
	for (size_t i = 0; i < k->threads.nr; i++)
		if (hv_call_can(&k->threads.list[i]))
			return &k->threads.list[i];
	return NULL;
}

/* Resumes and stops threads until one of them can make calls. Nearly always one can at the first
 * try, because threads are in KVM_RUN most of the time. */
static struct hv_err *find_usable(struct keeper *k)
{
	for (unsigned tries = 0; !usable(k); tries++) {
		struct hv_err *err;

		if (tries == TRIES || hv_now_ns() > k->since_ns + STOP_NS)
			return hv_err_new(EBUSY,
					  "no vCPU thread is at the end of a system call; retry");
		err = hv_thread_again(&k->threads.list[tries % k->threads.nr],
				      k->since_ns + 2 * STOP_NS);
		if (err)
			return err;
	}
	return NULL;
}

static bool all_in_run(const struct keeper *k)
{
	for (size_t i = 0; i < k->threads.nr; i++)
		if (!hv_call_in_kvm_run(&k->threads.list[i]))
			return false;
	return true;
}

static struct hv_err *hold(struct keeper *k, struct keeper_message *m)
{
	struct hv_err *err;
	uint64_t from_ns;

	if (k->held || !m->nr)
		return hv_err_new(EBUSY,
				  "hold: the threads are already held, or no thread is given");
	hv_threads_init(&k->threads, m->tids, m->nr);
	k->threads.pid = k->vmm;
	k->threads.pidfd = HV_HELPER_OTHER;
	k->expired = false;
	err = hv_threads_seize(&k->threads);
	k->since_ns = hv_now_ns();
	k->deadline_ns = k->since_ns + STOP_NS;
	if (!err)
		err = hv_threads_stop(&k->threads, k->since_ns + STOP_NS);
	m->all_in_run = !err && all_in_run(k);
	if (!err && !m->all_in_run)
		err = find_usable(k);
	if (err) {
		hv_threads_release(&k->threads);
		hv_threads_deinit(&k->threads);
		return hv_err_in(err, "hold");
	}
	from_ns = hv_now_ns();
	k->deadline_ns = from_ns + m->ns;
	m->ns = from_ns;
	k->held = true;
	return NULL;
}

static struct hv_err *not_held(const struct keeper *k)
{
	return k->expired ? hv_err_new(ETIMEDOUT, "hold: it had ended by itself")
			  : hv_err_new(EINVAL, "hold: the threads are not held");
}

static struct hv_err *calls(struct keeper *k, struct keeper_message *m)
{
	struct hv_thread *thread = k->held ? usable(k) : NULL;

	if (!k->held)
		return not_held(k);
	if (!thread)
		return hv_err_new(EBUSY, "no vCPU thread is at the end of a system call; retry");
	return hv_call_run(k->vmm, thread, k->code, m->calls, m->nr, m->data, m->len_bytes,
			   k->deadline_ns);
}

/* No write is late: only this process resumes the threads, after this function has returned. */
static struct hv_err *write_memory(struct keeper *k, struct keeper_message *m)
{
	return k->held ? hv_held_writes_make(k->vmm, m->writes, m->nr, k->deadline_ns)
		       : not_held(k);
}

static struct hv_err *release(struct keeper *k, struct keeper_message *m)
{
	struct hv_err *err = k->held ? NULL : not_held(k);

	let_go(k);
	k->expired = false;
	m->ns = k->held_ns;
	return err;
}

static struct hv_err *do_one(struct keeper *k, struct keeper_message *m)
{
	switch (m->op) {
	case KEEPER_HOLD:
		return hold(k, m);
	case KEEPER_CALLS:
		return calls(k, m);
	case KEEPER_WRITE:
		return write_memory(k, m);
	default:
		return release(k, m);
	}
}

/* Returns false if a thread is traced but not known to be stopped. Only the end of this process
 * releases it. */
static bool all_known(const struct keeper *k)
{
	for (size_t i = 0; i < k->threads.nr; i++)
		if (!k->threads.list[i].stopped)
			return false;
	return true;
}

static void answer(struct keeper *k, struct keeper_message *m)
{
	HV_AUTO_ERR struct hv_err *err = do_one(k, m);
	bool lost = (k->held && !all_known(k)) || (err && m->op == KEEPER_HOLD);

	m->code = err ? err->code : 0;
	snprintf(m->text, sizeof(m->text), "%s", err ? err->message : "");
	if (send(HV_HELPER_CONTROL, m, keeper_answer_bytes(m), MSG_NOSIGNAL) < 0 || lost)
		_exit(1);
}

static uint32_t nr_max(uint32_t op)
{
	switch (op) {
	case KEEPER_CALLS:
		return HV_KEEPER_CALLS_MAX;
	case KEEPER_WRITE:
		return KEEPER_WRITES_MAX;
	default:
		return HV_KEEPER_THREADS_MAX;
	}
}

/* Returns false if the service has closed the connection or the message is malformed. */
static bool receive(struct keeper_message *m)
{
	ssize_t len = recv(HV_HELPER_CONTROL, m, sizeof(*m), 0);

	return len >= (ssize_t)KEEPER_HEAD_BYTES && m->nr <= nr_max(m->op) &&
	       m->len_bytes <= HV_CALL_DATA_MAX && (size_t)len == keeper_request_bytes(m);
}

_Noreturn void keeper_run(pid_t vmm, const struct hv_call_code *code)
{
	static struct keeper_message m;
	struct keeper k = {.vmm = vmm, .code = code};

	for (;;) {
		struct hv_helper_wake wake =
			hv_helper_wait(-1, k.held ? k.deadline_ns : UINT64_MAX);

		if (k.held && hv_now_ns() >= k.deadline_ns) {
			let_go(&k);
			k.expired = true;
			continue;
		}
		if (wake.is_alone || (wake.is_asked && !receive(&m)))
			break;
		if (wake.is_asked)
			answer(&k, &m);
	}
	let_go(&k);
	_exit(0);
}
