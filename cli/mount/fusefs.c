/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/mount/fusefs.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/confine.h"
#include "cli/mount/fusefs_ops.h"

#define HOLD_LOOK_MS	2
#define GIVE_UP_LOOK_MS 100

/* More than the answers that the users of a mount wait for, so only a hostile service exceeds it. */
#define MEMORY_BYTES_MAX (1ull << 30)

/* Ends the waits of interrupted callers: immediately for reads of streams and deferred requests,
 * which may take long; for requests that change something, only after a timeout, when the service
 * seems to hang. Late answers are discarded. */
static void see_to_interrupted(struct fusefs *fs)
{
	uint64_t now = hv_now_ns();
	struct ask *next;

	for (struct ask *a = fs->asks; a; a = next) {
		next = a->next;
		if (!a->interrupted_ns || !a->req)
			continue;
		if (a->look_id) {
			continue;
		} else if (ask_is_deferred(a)) {
			ask_fail(a, EINTR);
			ask_free(a);
		} else if (a->frame.kind == WIRE_READ && a->file->is_stream) {
			if (!a->file->orphan)
				file_orphan_read(a);
		} else if (now - a->interrupted_ns >= ASK_GIVE_UP_NS) {
			ask_fail(a, EINTR);
		}
	}
}

static bool somebody_is_interrupted(const struct fusefs *fs)
{
	for (const struct ask *a = fs->asks; a; a = a->next)
		if (a->req && (a->interrupted_ns || a->until_ns))
			return true;
	return false;
}

/* Continues without answers whose deadline has passed. */
static void see_to_late(struct fusefs *fs)
{
	uint64_t now = hv_now_ns();
	struct ask *next;

	for (struct ask *a = fs->asks; a; a = next) {
		next = a->next;
		if (!a->req || !a->until_ns || now < a->until_ns)
			continue;
		if (a->look_id)
			inspector_is_late(a);
		else
			ask_fail(a, 0);
	}
}

/* The main loop. */

struct hv_err *fusefs_available(void)
{
	return NULL;
}

static void be_quiet(enum fuse_log_level level hv_unused, const char *fmt hv_unused,
		     va_list args hv_unused)
{
}

static struct fuse_session *session_new(struct fusefs *fs)
{
	char *argv[] = {(char *)"hvtrace", NULL};
	struct fuse_args args = FUSE_ARGS_INIT(1, argv);
	char name[32];
	struct fuse_session *session;

	fuse_set_log_func(be_quiet);
	session = fuse_session_new(&args, &fusefs_operations, sizeof(fusefs_operations), fs);
	fuse_opt_free_args(&args);
	snprintf(name, sizeof(name), "/dev/fd/%d", fs->fuse_fd);
	if (session && fuse_session_mount(session, name) != 0) {
		fuse_session_destroy(session);
		return NULL;
	}
	return session;
}

static int timeout_ms(const struct fusefs *fs)
{
	int direct_ms = direct_timeout_ms(fs);
	int ask_ms = asks_any_deferred(fs)	   ? HOLD_LOOK_MS
		     : somebody_is_interrupted(fs) ? GIVE_UP_LOOK_MS
						   : -1;

	/* As an unsigned number, -1 (no timeout) is the largest. */
	return (unsigned)direct_ms < (unsigned)ask_ms ? direct_ms : ask_ms;
}

static void serve_kernel(struct fusefs *fs, struct fuse_buf *buf)
{
	int n = fuse_session_receive_buf(fs->session, buf);

	if (n > 0)
		fuse_session_process_buf(fs->session, buf);
	else if (n != -EINTR && n != -EAGAIN)
		fuse_session_exit(fs->session);
}

static void serve(struct fusefs *fs, int stop_fd)
{
	struct fuse_buf buf = {0};

	while (!fuse_session_exited(fs->session)) {
		struct pollfd fds[] = {
			{fs->fuse_fd, POLLIN, 0},    {link_fd(fs->link), link_events(fs->link), 0},
			{stop_fd, POLLIN, 0},	     {fs->inspector.fd, POLLIN, 0},
			{fs->lost.pidfd, POLLIN, 0},
		};

		if (poll(fds, HV_ARRAY_LEN(fds), timeout_ms(fs)) < 0 && errno != EINTR)
			break;
		if (fds[2].revents)
			break;
		if (fds[0].revents)
			serve_kernel(fs, &buf);
		see_to_inspector(fs);
		if (fds[3].revents & (POLLHUP | POLLERR))
			inspector_died(fs);
		see_to_late(fs);
		see_to_interrupted(fs);
		asks_send_deferred(fs);
		if (!link_step(fs->link))
			break;
	}
	free(buf.mem);
}

static void fusefs_deinit(struct fusefs *fs)
{
	/* The kernel fails the remaining requests when its device is closed. */
	while (fs->asks) {
		if (fs->asks->req)
			fuse_reply_err(fs->asks->req, ENOTCONN);
		ask_free(fs->asks);
	}
	while (fs->files) {
		struct file *f = fs->files;

		fs->files = f->next;
		f->nr_refs = 1;
		file_put(f);
	}
	fuse_session_destroy(fs->session);
	nodes_deinit(fs);
}

/* The parts that need rights come first. Errors end the server, and its clients get ENOTCONN. Without
 * a helper, processes are not inspected, and the service unmounts the tree. */
static bool start(struct fusefs *fs, const struct mounted *m)
{
	struct hv_confinement c = HV_CONFINEMENT_NONE;
	HV_AUTO_ERR struct hv_err *err = NULL;

	hv_err_free(mount_errands_begin(&fs->helper, m));
	fs->inspector = mount_errand_inspect(&fs->helper);
	fcntl(fs->fuse_fd, F_SETFL, fcntl(fs->fuse_fd, F_GETFL) | O_NONBLOCK);
	fs->session = session_new(fs);
	if (!fs->session) {
		close(fs->fuse_fd);
		return false;
	}
	c.may = HV_MAY_PROBE; /* thread_is_gone() */
	c.memory_bytes = MEMORY_BYTES_MAX;
	err = hv_confine(&c);
	return !err;
}

void fusefs_serve(int fuse_fd, struct link *l, int stop_fd, const struct mounted *m)
{
	char top[] = "";
	struct fusefs fs = {
		.link = l,
		.top = {.path = top},
		.started = time(NULL),
		.fuse_fd = fuse_fd,
		.helper = ERRAND_NONE,
		.inspector = INSPECTOR_NONE,
		.lost = INSPECTOR_NONE,
	};

	if (start(&fs, m))
		serve(&fs, stop_fd);
	inspector_close(&fs.inspector);
	inspector_close(&fs.lost);
	if (fs.session)
		fusefs_deinit(&fs);
	/* The service may clean up its mounts as soon as its connection ends. */
	mount_errand_unmount(&fs.helper);
}
