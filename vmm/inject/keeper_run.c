/* The keeper process's side: one loop over the service, its life, and the end of the hold. */
#include "vmm/inject/keeper_run.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "vmm/helper.h"

#define STOP_NS HV_NS_PER_S /* for a thread to leave the guest */
#define TRIES	200

struct keeper {
	pid_t vmm;
	const struct hv_call_code *code;
	struct hv_threads threads;
	bool held;
	bool expired; /* the last hold ended by itself */
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

/* One that can make calls is needed; a vCPU thread is in KVM_RUN nearly always. */
static struct hv_err *find_usable(struct keeper *k)
{
	for (unsigned tries = 0; !usable(k); tries++) {
		struct hv_err *err;

		if (tries == TRIES || hv_now_ns() > k->since_ns + STOP_NS)
			return hv_err_new(EBUSY, "no vCPU thread is at the end of a system call");
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

	if (k->held || !m->nr)
		return hv_err_new(EBUSY, "hold: one is under way, or no threads");
	hv_threads_init(&k->threads, m->tids, m->nr);
	k->since_ns = hv_now_ns();
	k->deadline_ns = k->since_ns + STOP_NS;
	k->expired = false;
	err = hv_threads_stop(&k->threads, k->since_ns + STOP_NS);
	m->all_in_run = !err && all_in_run(k);
	if (!err && !m->all_in_run)
		err = find_usable(k);
	if (err) {
		hv_threads_release(&k->threads);
		hv_threads_deinit(&k->threads);
		return hv_err_in(err, "hold");
	}
	/* Not before what the service takes for the hold's begin (hv_hold_check). */
	k->deadline_ns = hv_now_ns() + m->ns;
	k->held = true;
	return NULL;
}

static struct hv_err *not_held(const struct keeper *k)
{
	return k->expired ? hv_err_new(ETIMEDOUT, "hold: it had ended by itself")
			  : hv_err_new(EINVAL, "hold: none");
}

static struct hv_err *calls(struct keeper *k, struct keeper_message *m)
{
	struct hv_thread *thread = k->held ? usable(k) : NULL;

	if (!k->held)
		return not_held(k);
	if (!thread)
		return hv_err_new(EBUSY, "no vCPU thread is at the end of a system call");
	return hv_call_run(k->vmm, thread, k->code, m->calls, m->nr, m->data, m->len_bytes,
			   k->deadline_ns);
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
	default:
		return release(k, m);
	}
}

/* Threads that may be seized and running belong to nobody we can ask: our end frees them. */
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
	if (send(HV_HELPER_CONTROL, m, sizeof(*m), MSG_NOSIGNAL) < 0 || lost)
		_exit(1);
}

/* False: the service has hung up, or this is no message of it. */
static bool receive(struct keeper_message *m)
{
	if (recv(HV_HELPER_CONTROL, m, sizeof(*m), 0) != (ssize_t)sizeof(*m))
		return false;
	return m->nr <= (m->op == KEEPER_CALLS ? HV_KEEPER_CALLS_MAX : HV_KEEPER_THREADS_MAX) &&
	       m->len_bytes <= HV_CALL_DATA_MAX;
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
