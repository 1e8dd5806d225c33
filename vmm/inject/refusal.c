/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reasons not to stop the VMM's threads or make them execute calls. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/prefix.h"
#include "vmm/inject/inject.h"
#include "vmm/inject/state.h"

struct hv_err *hv_inject_not_possible(struct hv_err *why)
{
	return hv_err_mark(hv_err_in(why, "injection is not possible"), HV_ERR_NEEDS_MONITOR);
}

/* Since Linux 6.6 (2fab02b25ae7) the status has a line "x86_Thread_features:\tshstk wrss". Another
 * line lists the locked features. */
bool hv_status_line_has_shadow_stack(const char *line)
{
	static const char key[] = "x86_Thread_features:";
	static const char word[] = "shstk";
	static const char ends[] = " \t\n";

	if (!hv_starts_with(line, key))
		return false;
	for (line += strlen(key); *line; line += strcspn(line, ends)) {
		line += strspn(line, ends);
		if (strcspn(line, ends) == strlen(word) && hv_starts_with(line, word))
			return true;
	}
	return false;
}

/* A thread with a shadow stack would be killed: rt_sigreturn expects a token on it, and `ret` the
 * return address. */
static struct hv_err *check_shadow_stack(const struct hv_inject *j, pid_t tid)
{
	HV_AUTO_FREE char *line = NULL;
	bool has = false;
	size_t cap = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)j->vmm.process->pid, (int)tid);
	f = fopen(path, "re");
	while (f && !has && getline(&line, &cap, f) > 0)
		has = hv_status_line_has_shadow_stack(line);
	if (f)
		fclose(f);
	return has ? hv_err_new(ENOTSUP,
				"the VMM's threads have shadow stacks (thread %d), so an "
				"injected call would kill them",
				(int)tid)
		   : NULL;
}

static struct hv_err *check_debugger(const struct hv_inject *j, pid_t tid)
{
	pid_t tracer = (pid_t)hv_thread_status(j->vmm.process->pid, tid, "TracerPid:");

	if (tracer <= 0 || (j->keeper && tracer == hv_keeper_pid(j->keeper)))
		return NULL;
	return hv_err_new(EBUSY, "a debugger is attached to the VMM (process %d, thread %d)",
			  (int)tracer, (int)tid);
}

typedef struct hv_err *(*thread_check)(const struct hv_inject *j, pid_t tid);

struct checking {
	const struct hv_inject *j;
	thread_check check;
	struct hv_err *err;
};

static bool check_thread(void *ctx, pid_t tid)
{
	struct checking *c = ctx;

	c->err = c->check(c->j, tid);
	return !c->err;
}

static struct hv_err *check_threads(const struct hv_inject *j, thread_check check)
{
	struct checking c = {.j = j, .check = check};
	struct hv_err *err = hv_process_each_thread(j->vmm.process->pid, check_thread, &c);

	return err ? err : c.err;
}

/* Opening a process's memory needs the same permissions as attaching to it, including Yama's. */
struct hv_err *hv_inject_check_rights(const struct hv_inject *j)
{
	pid_t pid = j->vmm.process->pid;
	HV_AUTO_FD int fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return hv_err_new(errno,
				  "no permission to ptrace the VMM, process %d: %s "
				  "(CAP_SYS_PTRACE, kernel.yama.ptrace_scope)",
				  (int)pid, strerror(errno));
	return NULL;
}

struct hv_err *hv_inject_check_shadow_stacks(const struct hv_inject *j)
{
	return check_threads(j, check_shadow_stack);
}

struct hv_err *hv_inject_check_filters(struct hv_inject *j)
{
	unsigned nr = hv_process_nr_filters(j->vmm.process->pid);
	struct hv_err *err;

	if (!nr || (nr == 1 && j->vmm.has_own_filter))
		return NULL;
	err = hv_inject_check_debugger(j);
	if (!err)
		err = hv_inject_stop(j);
	return err ? err
		   : hv_inject_go_on(
			     j, hv_kvm_prove_region(&j->kvm, j->keeper, HV_INJECT_REGION_BYTES));
}

struct hv_err *hv_inject_check_debugger(const struct hv_inject *j)
{
	return check_threads(j, check_debugger);
}
