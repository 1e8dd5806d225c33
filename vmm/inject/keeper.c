/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keeper: both ends of its socket, the service's and the process's. */
#include "vmm/inject/keeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/capabilities.h"
#include "base/clock.h"
#include "vmm/helper.h"
#include "vmm/process/process.h"

/* -- the message ------------------------------------------------------------------------------- */

/* The message between service and keeper, which is both request and answer. Both ends are this
 * program. */

/* Enough for most holds, so that they need one request. */
#define KEEPER_WRITES_MAX 4096

enum keeper_op { KEEPER_HOLD, KEEPER_PROVE, KEEPER_CALLS, KEEPER_WRITE, KEEPER_RELEASE };

/* A message ends after the part that its request or answer uses (keeper_request_bytes(),
 * keeper_answer_bytes()). */
struct keeper_message {
	uint32_t op;
	int32_t code; /* answer: errno value; 0: success */
	uint32_t nr;  /* of threads, calls or writes */
	uint32_t len_bytes;
	uint32_t all_in_run; /* answer of hold */
	/* hold: its limit; answer of hold: the start of the limit; answer of release: the
	 * duration */
	uint64_t ns;
	char text[256];
	union {
		pid_t tids[HV_KEEPER_THREADS_MAX];
		struct hv_held_write writes[KEEPER_WRITES_MAX];
		struct {
			struct hv_call calls[HV_KEEPER_CALLS_MAX];
			uint8_t data[HV_CALL_DATA_MAX];
		};
	};
};

#define KEEPER_HEAD_BYTES offsetof(struct keeper_message, tids)

static inline size_t keeper_request_bytes(const struct keeper_message *m)
{
	switch (m->op) {
	case KEEPER_HOLD:
		return KEEPER_HEAD_BYTES + m->nr * sizeof(m->tids[0]);
	case KEEPER_PROVE:
		return KEEPER_HEAD_BYTES + m->nr * sizeof(m->calls[0]);
	case KEEPER_CALLS:
		return offsetof(struct keeper_message, data) + m->len_bytes;
	case KEEPER_WRITE:
		return KEEPER_HEAD_BYTES + m->nr * sizeof(m->writes[0]);
	default:
		return KEEPER_HEAD_BYTES;
	}
}

static inline size_t keeper_answer_bytes(const struct keeper_message *m)
{
	return m->op == KEEPER_CALLS ? keeper_request_bytes(m) : KEEPER_HEAD_BYTES;
}

/* -- the keeper's process ---------------------------------------------------------------------- */

/* The keeper's process: a loop that waits for requests from the service, for the service's end, and
 * for the end of the hold. */

#define STOP_NS	   HV_NS_PER_S /* enough for a thread to leave the guest */
#define TRIES	   200
/* Limits for other threads of the VMM that are tried when vCPU threads may not make a call. */
#define OTHERS_MAX 64
#define OTHER_NS   (HV_NS_PER_S / 4)

struct keeper {
	const struct hv_process *process;
	pid_t vmm; /* its id */
	const struct hv_call_code *code;
	struct hv_threads threads; /* of the vCPUs */
	struct hv_threads
		other; /* another thread of the VMM that makes calls in this hold, or none */
	struct hv_thread *proved; /* the thread of KEEPER_PROVE in this hold, or NULL */
	bool held;
	bool expired; /* the last hold timed out */
	bool is_lost; /* a thread is traced that did not stop */
	uint64_t since_ns;
	uint64_t deadline_ns;
	uint64_t held_ns;
};

static void let_go(struct keeper *k)
{
	if (!k->held)
		return;
	k->proved = NULL;
	hv_threads_release(&k->other);
	hv_threads_deinit(&k->other);
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

static struct hv_err *none_usable(void)
{
	return hv_err_new(EBUSY, "no vCPU thread is at the end of a system call; retry");
}

/* Resumes and stops threads until one of them can make calls. Nearly always one can at the first
 * try, because threads are in KVM_RUN most of the time. */
static struct hv_err *find_usable(struct keeper *k)
{
	for (unsigned tries = 0; !usable(k); tries++) {
		struct hv_err *err;

		if (tries == TRIES || hv_now_ns() > k->since_ns + STOP_NS)
			return none_usable();
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

static void end_wait(struct hv_thread *t, const void *code)
{
	hv_call_end_wait(t, code);
}

static void init_threads(const struct keeper *k, struct hv_threads *t, const pid_t *tids, size_t nr)
{
	hv_threads_init(t, tids, nr);
	t->pid = k->vmm;
	t->pidfd = HV_HELPER_OTHER;
	for (size_t i = 0; i < nr; i++) {
		t->list[i].has_stopped = end_wait;
		t->list[i].ctx = k->code;
	}
}

static struct hv_err *hold(struct keeper *k, struct keeper_message *m)
{
	struct hv_err *err;
	uint64_t from_ns;

	if (k->held || !m->nr)
		return hv_err_new(EBUSY,
				  "hold: the threads are already held, or no thread is given");
	init_threads(k, &k->threads, m->tids, m->nr);
	k->expired = false;
	err = hv_threads_seize(&k->threads);
	k->since_ns = hv_now_ns();
	k->deadline_ns = k->since_ns + STOP_NS;
	if (!err)
		err = hv_threads_stop(&k->threads, k->since_ns + STOP_NS);
	/* An execve(2) is complete or has not begun, because its thread has stopped. */
	if (!err)
		err = hv_process_check_rights(k->process);
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
	return k->expired ? hv_err_new(ETIMEDOUT, "hold: timed out, so the guest is running again")
			  : hv_err_new(EINVAL, "hold: the threads are not held");
}

static bool is_vcpu(const struct keeper *k, pid_t tid)
{
	for (size_t i = 0; i < k->threads.nr; i++)
		if (k->threads.list[i].tid == tid)
			return true;
	return false;
}

struct others {
	const struct keeper *k;
	pid_t *list; /* room for OTHERS_MAX */
	size_t nr;
};

static bool add_other(void *ctx, pid_t tid)
{
	struct others *o = ctx;

	if (tid != o->k->vmm && !is_vcpu(o->k, tid) && !hv_stays_in_kernel(tid))
		o->list[o->nr++] = tid;
	return o->nr < OTHERS_MAX;
}

/* Lists threads of the VMM without a vCPU, the main thread first. Threads that the kernel runs for
 * the VMM make no calls, and a stop could end a request of io_uring with EINTR (io_uring/rw.c). */
static size_t list_others(const struct keeper *k, pid_t ret[OTHERS_MAX])
{
	struct others o = {.k = k, .list = ret};

	if (!is_vcpu(k, k->vmm))
		ret[o.nr++] = k->vmm;
	hv_err_free(hv_process_each_thread(k->vmm, add_other, &o));
	return o.nr;
}

/* Stops k->other where it can make CALLS, if its filters allow them. */
static struct hv_err *stop_other(struct keeper *k, const struct hv_call *calls, size_t nr)
{
	struct hv_thread *t = &k->other.list[0];
	uint64_t end_ns = hv_now_ns() + OTHER_NS;
	struct hv_err *err = hv_threads_stop(&k->other, end_ns);

	end_ns = end_ns < k->deadline_ns ? end_ns : k->deadline_ns;
	if (!err)
		err = hv_call_check(t, k->code, calls, nr);
	while (!err && !hv_call_can(t)) {
		if (hv_now_ns() >= end_ns)
			return hv_err_new(EBUSY, "thread %d is not at the end of a system call",
					  (int)t->tid);
		err = hv_thread_again(t, end_ns + OTHER_NS);
		if (!err)
			err = hv_call_check(t, k->code, calls, nr);
	}
	return err;
}

/* Stops thread TID as k->other, if it may make CALLS. On error k->other has no thread; one that did
 * not stop stays traced until this process ends. */
static struct hv_err *try_other(struct keeper *k, pid_t tid, const struct hv_call *calls, size_t nr)
{
	struct hv_err *err;

	init_threads(k, &k->other, &tid, 1);
	err = stop_other(k, calls, nr);
	if (!err)
		return NULL;
	hv_threads_release(&k->other);
	k->is_lost |= k->other.list[0].seized;
	hv_threads_deinit(&k->other);
	return err;
}

/* Chooses a thread of the VMM that runs no vCPU. Stops the search when the hold times out. Takes
 * WHY, the error of the vCPU threads. If no thread may make CALLS, returns the error of the main
 * thread, or WHY if the main thread was not tried. */
static struct hv_err *choose_other(struct keeper *k, const struct hv_call *calls, size_t nr,
				   struct hv_err *why, struct hv_thread **ret)
{
	pid_t tids[OTHERS_MAX];
	size_t nr_tids = list_others(k, tids);
	struct hv_err *err = why;

	if (k->other.nr) {
		hv_err_free(why);
		*ret = &k->other.list[0];
		return hv_call_check(*ret, k->code, calls, nr);
	}
	for (size_t i = 0; i < nr_tids && !k->is_lost && hv_now_ns() < k->deadline_ns; i++) {
		struct hv_err *refused = try_other(k, tids[i], calls, nr);

		if (!refused) {
			hv_err_free(err);
			*ret = &k->other.list[0];
			return NULL;
		}
		if (tids[i] == k->vmm) {
			hv_err_free(err);
			err = refused;
			continue;
		}
		hv_err_free(refused);
	}
	return hv_err_in(err, "no thread of the VMM may make the calls");
}

/* Chooses a thread that may make CALLS, if no thread is proved. */
static struct hv_err *choose(struct keeper *k, const struct hv_call *calls, size_t nr,
			     struct hv_thread **ret)
{
	struct hv_thread *vcpu = usable(k);
	struct hv_err *err;

	if (!k->held)
		return not_held(k);
	if (k->proved) {
		*ret = k->proved;
		return NULL;
	}
	*ret = vcpu;
	err = vcpu ? hv_call_check(vcpu, k->code, calls, nr) : none_usable();
	return err && err->code == EPERM ? choose_other(k, calls, nr, err, ret) : err;
}

static struct hv_err *prove(struct keeper *k, struct keeper_message *m)
{
	struct hv_thread *thread = NULL;
	struct hv_err *err;

	k->proved = NULL;
	err = choose(k, m->calls, m->nr, &thread);
	if (!err)
		k->proved = thread;
	return err;
}

static struct hv_err *calls(struct keeper *k, struct keeper_message *m)
{
	struct hv_thread *thread = NULL;
	struct hv_err *err = choose(k, m->calls, m->nr, &thread);

	return err ? err
		   : hv_call_run(k->vmm, thread, k->code, m->calls, m->nr, m->data, m->len_bytes,
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
	case KEEPER_PROVE:
		return prove(k, m);
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
	return !k->is_lost && (!k->other.nr || k->other.list[0].stopped);
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
	case KEEPER_PROVE:
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

static _Noreturn void keeper_run(const struct hv_process *vmm, const struct hv_call_code *code)
{
	static struct keeper_message m;
	struct keeper k = {.process = vmm, .vmm = vmm->pid, .code = code};

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

/* -- the service's end ------------------------------------------------------------------------- */

struct hv_keeper {
	struct hv_helper process;
	/* The current request or reply. It is not allocated for each request, because it is large
	 * and the guest is stopped during most of them. */
	struct keeper_message message;
};

struct task {
	const struct hv_process *vmm;
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

struct hv_err *hv_keeper_start(const struct hv_process *vmm, int pidfd,
			       const struct hv_call_code *code, struct hv_keeper **ret)
{
	static struct hv_helper_kind kind;
	struct task task = {vmm, code};
	struct hv_helper process;
	struct hv_err *err;

	kind = keeper_kind;
	kind.other_fd = pidfd;
	if (hv_process_nr_filters(vmm->pid))
		kind.needs |= HV_CAP(SYS_ADMIN); /* to read the filters */
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

struct hv_err *hv_keeper_prove(struct hv_keeper *k, const struct hv_call *calls, size_t nr)
{
	struct keeper_message *m;

	if (nr > HV_KEEPER_CALLS_MAX)
		return hv_err_new(E2BIG,
				  "keeper: %zu calls with %zu bytes are too many for a request", nr,
				  (size_t)0);
	m = begin(k, KEEPER_PROVE, nr);
	memcpy(m->calls, calls, nr * sizeof(*calls));
	return ask(k);
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
