/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/inject/proof.h"

#include <inttypes.h>
#include <limits.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "base/guard.h"
#include "vmm/process/process.h"

#define FILTERS_MAX 256
#define INSNS_MAX   32768 /* of all filters of a thread (MAX_INSNS_PER_PATH) */
#ifndef PTRACE_SECCOMP_GET_FILTER
#define PTRACE_SECCOMP_GET_FILTER 0x420c /* linux/ptrace.h */
#endif

struct hv_filters {
	unsigned nr;
	size_t nr_insns;
	size_t ends[FILTERS_MAX]; /* indexes in INSNS */
	struct sock_filter insns[INSNS_MAX];
};

static struct hv_err *unreadable(pid_t tid, enum hv_unread_filters unread, int code)
{
	/* Kernels before 5.9 do not report the number of filters. */
	long nr = hv_thread_status(tid, tid, "Seccomp_filters:");

	if (unread == HV_UNREAD_ALLOW_ONE && (nr == 0 || nr == 1))
		return NULL;
	return hv_err_new(EPERM,
			  "thread %d has seccomp filters that cannot be read (%s), so an injected "
			  "call may kill the VMM",
			  (int)tid, strerror(code));
}

/* Reads the next filter. *RET_DONE: there is none. The errno of ptrace(2) is *RET_CODE. */
static struct hv_err *read_next(pid_t tid, struct hv_filters *f, bool *ret_done, int *ret_code)
{
	void *at = (void *)(uintptr_t)f->nr;
	long len = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, at, NULL);

	*ret_code = errno;
	*ret_done = len < 0;
	if (len < 0)
		return NULL;
	if (f->nr == FILTERS_MAX || len > HV_FILTER_INSNS_MAX ||
	    f->nr_insns + (size_t)len > INSNS_MAX)
		return unreadable(tid, HV_UNREAD_REFUSE, E2BIG);
	/* The thread is stopped, so the filter is the one whose length was read. */
	if (ptrace(PTRACE_SECCOMP_GET_FILTER, tid, at, f->insns + f->nr_insns) != len)
		return unreadable(tid, HV_UNREAD_REFUSE, EAGAIN);
	f->nr_insns += (size_t)len;
	f->ends[f->nr++] = f->nr_insns;
	return NULL;
}

struct hv_err *hv_filters_read(pid_t tid, enum hv_unread_filters unread, struct hv_filters **ret)
{
	HV_AUTO_FREE struct hv_filters *f = NULL;
	struct hv_err *err = NULL;
	bool is_done = false;
	int code = 0;

	*ret = NULL;
	if (ptrace(PTRACE_SECCOMP_GET_FILTER, tid, NULL, NULL) < 0) {
		code = errno;
		/* EINVAL: the thread has no filter, or this kernel cannot show it */
		return hv_thread_status(tid, tid, "Seccomp:") ? unreadable(tid, unread, code)
							      : NULL;
	}
	f = hv_alloc(sizeof(*f));
	while (!err && !is_done)
		err = read_next(tid, f, &is_done, &code);
	if (!err && code != ENOENT)
		err = unreadable(tid, HV_UNREAD_REFUSE, code);
	if (err)
		return err;
	*ret = hv_take(f);
	return NULL;
}

/* Returns the name of CALL for messages, with the request of an ioctl. The caller frees it. */
static char *name_of(const struct seccomp_data *call)
{
	char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, call->nr);
	char text[64];

	if (call->nr == SYS_ioctl)
		snprintf(text, sizeof(text), "ioctl 0x%" PRIx64, (uint64_t)call->args[1]);
	else
		snprintf(text, sizeof(text), "%s", name ? name : "a system call");
	free(name);
	return hv_strdup(text);
}

static struct hv_err *check_one(const struct hv_filters *f, pid_t tid, unsigned at,
				const struct hv_filter_call *call)
{
	size_t start = at ? f->ends[at - 1] : 0;
	struct hv_filter filter = {f->insns + start, f->ends[at] - start};
	HV_AUTO_FREE char *name = NULL;
	uint32_t action = 0;
	bool is_definite = hv_filter_decide(&filter, call, &action);

	if (is_definite && hv_filter_action_allows(action))
		return NULL;
	name = name_of(&call->data);
	if (!is_definite)
		return hv_err_new(
			EPERM,
			"seccomp filter %u of %u of thread %d: cannot predict its answer to %s",
			at + 1, f->nr, (int)tid, name);
	return hv_err_new(EPERM, "seccomp filter %u of %u of thread %d answers %s with %s", at + 1,
			  f->nr, (int)tid, name, hv_filter_action_name(action));
}

struct hv_err *hv_filters_check(const struct hv_filters *filters, pid_t tid,
				const struct hv_filter_call *calls, size_t nr)
{
	struct hv_err *err = NULL;

	for (size_t i = 0; filters && !err && i < nr; i++)
		for (unsigned at = 0; !err && at < filters->nr; at++)
			err = check_one(filters, tid, at, &calls[i]);
	return err;
}

static unsigned nr_filters(pid_t pid, pid_t tid)
{
	long nr = hv_thread_status(pid, tid, "Seccomp_filters:");

	if (hv_thread_status(pid, tid, "Seccomp:") <= 0)
		return 0;
	return nr > 1 ? (unsigned)nr : 1;
}

struct most_filters {
	pid_t pid;
	unsigned nr;
};

static bool count_filters(void *ctx, pid_t tid)
{
	struct most_filters *most = ctx;
	unsigned nr = nr_filters(most->pid, tid);

	most->nr = nr > most->nr ? nr : most->nr;
	return true;
}

unsigned hv_process_nr_filters(pid_t pid)
{
	struct most_filters most = {.pid = pid};
	HV_AUTO_ERR struct hv_err *err = hv_process_each_thread(pid, count_filters, &most);

	/* Threads that were not read may have filters. A process that has ended has none. */
	return err && err->code != ENOENT ? UINT_MAX : most.nr;
}
