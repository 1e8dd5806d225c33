/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/mount/mount_errands.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>

#include "cli/mountpoint.h"

enum { INSPECT = ERRAND_OWN, INSPECTOR_RUNS, UNMOUNT };

/* -- in the helper ---------------------------------------------------------------------------- */

struct helper {
	struct mounted mounted;
	pid_t pid;  /* of the last inspector; 0: none */
	int pidfd;  /* of the last inspector; -1: none */
	int before; /* pidfd of the one before, until it has ended; -1: none */
};

static bool has_ended(int pidfd)
{
	return poll(&(struct pollfd){pidfd, POLLIN, 0}, 1, 0) != 0;
}

static void end_inspector(struct helper *h)
{
	if (h->pidfd >= 0)
		pidfd_send_signal(h->pidfd, SIGKILL, NULL, 0);
	h->before = h->pidfd;
	h->pidfd = -1;
	h->pid = 0;
}

static struct hv_err *inspect(struct helper *h, struct hv_message *ret)
{
	HV_AUTO_FD int fd = -1;
	pid_t pid;

	if (h->before >= 0 && !has_ended(h->before))
		return hv_err_new(EBUSY, "%s", strerror(EBUSY));
	hv_close_at(&h->before);
	end_inspector(h);
	signal(SIGCHLD, SIG_IGN); /* the kernel reaps inspectors */
	pid = inspector_fork(h->mounted.device, &fd);
	if (pid < 0)
		return hv_err_new(EAGAIN, "%s", strerror(EAGAIN));
	h->pid = pid;
	h->pidfd = pidfd_open(pid, 0);
	ret->args[0] = (uint64_t)pid;
	hv_message_add_fd(ret, fd);
	hv_message_add_fd(ret, h->pidfd);
	return NULL;
}

static void unmount(struct helper *h)
{
	const struct mounted *m = &h->mounted;
	dev_t now;

	if (!m->dir)
		return;
	if (mountpoint_device(m->dir, &now) && now == m->device)
		hv_err_free(mountpoint_umount(m->dir, MOUNTPOINT_LAZY));
	mountpoint_remove(m->run_dir, m->dir);
}

static struct hv_err *run(void *ctx, const struct hv_message *what, struct hv_message *ret)
{
	struct helper *h = ctx;

	switch (what->kind) {
	case INSPECT:
		return inspect(h, ret);
	case INSPECTOR_RUNS:
		ret->args[0] = inspector_runs(h->pid);
		return NULL;
	case UNMOUNT:
		unmount(h);
		return NULL;
	default:
		return hv_err_new(EPROTO, "%s", strerror(EPROTO));
	}
}

/* -- in the server ---------------------------------------------------------------------------- */

struct hv_err *mount_errands_begin(struct errand *e, const struct mounted *m)
{
	struct helper helper = {.mounted = *m, .pidfd = -1, .before = -1};
	struct errand_config config = ERRAND_CONFIG_NONE;

	config.needs = MOUNT_HELPER_NEEDS;
	config.run = run;
	config.ctx = &helper; /* the helper uses its copy */
	return errand_begin(e, &config);
}

/* Returns false if the helper has ended or refuses. */
static bool ask(struct errand *e, uint32_t kind, struct hv_message *ret)
{
	const struct hv_message what = {.kind = kind};
	HV_AUTO_ERR struct hv_err *err = errand_ask(e, &what, ret);

	return !err;
}

struct inspector mount_errand_inspect(struct errand *e)
{
	HV_AUTO_MESSAGE struct hv_message answer = {0};

	if (!ask(e, INSPECT, &answer) || answer.nr_fds != 2)
		return INSPECTOR_NONE;
	return (struct inspector){
		.fd = hv_take_fd(&answer.fds[0]),
		.pidfd = hv_take_fd(&answer.fds[1]),
		.pid = (pid_t)answer.args[0],
	};
}

bool mount_errand_inspector_runs(struct errand *e)
{
	HV_AUTO_MESSAGE struct hv_message answer = {0};

	return ask(e, INSPECTOR_RUNS, &answer) && answer.args[0];
}

void mount_errand_unmount(struct errand *e)
{
	HV_AUTO_MESSAGE struct hv_message answer = {0};

	ask(e, UNMOUNT, &answer);
}
