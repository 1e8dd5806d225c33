/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Open files of a mounted tree: blocking reads, writes, and publishing. */
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "cli/mount/fusefs_ask.h"
#include "cli/mount/fusefs_dir.h"
#include "cli/mount/fusefs_file.h"
#include "cli/mount/fusefs_inspector.h"

#define PUBLISH_NS 5000000000ull /* limit for the answer to a close */

static struct file *file_of(const struct fuse_file_info *fi)
{
	return (struct file *)(uintptr_t)fi->fh;
}

static struct ask *ask_file(struct file *f, fuse_req_t req,
			    void (*done)(struct ask *a, const struct wire_frame *answer))
{
	struct ask *a = ask_new(f->fs, req, done);

	a->file = f;
	f->nr_refs++;
	return a;
}

static bool is_stream(const char *path)
{
	static const char *const names[] = {"trace_pipe", "trace_pipe_raw"};
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < HV_ARRAY_LEN(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static bool file_reads(const struct file *f)
{
	return (f->flags & O_ACCMODE) != O_WRONLY;
}

static void file_used_by(struct file *f, pid_t pid)
{
	if (pid <= 0 || pid == f->pid)
		return;
	f->pid = pid;
	f->waited_for = false;
}

static void file_unlink(struct file *f)
{
	struct file **at = &f->fs->files;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
}

/* Open and release. */

static void send_close(struct file *f, enum wire_kind kind)
{
	link_send(f->fs->link, &(struct wire_frame){.kind = (uint16_t)kind, .handle = f->handle},
		  NULL, NULL);
}

static void release(struct file *f, enum wire_kind kind)
{
	f->is_released = true;
	send_close(f, kind);
	file_unlink(f);
	file_put(f);
}

static void opened(struct ask *a, const struct wire_frame *answer)
{
	struct fuse_file_info fi = {.flags = a->flags, .direct_io = 1};
	struct fusefs *fs = a->fs;
	struct file *f;

	if (ask_failed(a, answer))
		return;
	f = hv_alloc(sizeof(*f));
	*f = (struct file){
		.fs = fs,
		.next = fs->files,
		.nr_refs = 1,
		.path = hv_take(a->path),
		.flags = a->flags,
		.handle = answer->handle,
		.closed_by = CLOSER_UNKNOWN,
	};
	fs->files = f;
	f->is_stream = is_stream(f->path);
	fi.fh = (uintptr_t)f;
	fi.nonseekable = f->is_stream;
	/* Only closes of writers and of streams matter (fusefs_flush). */
	fi.noflush = !file_writes(f) && !f->is_stream;
	if (a->req)
		file_used_by(f, fuse_req_ctx(a->req)->pid);
	/* The kernel sends no release for an interrupted open. */
	if (!a->req || fuse_reply_open(a->req, &fi) != 0)
		release(f, WIRE_ABANDON);
	else if (f->is_stream && file_reads(f))
		direct_begin(f, f->pid);
	a->req = NULL;
}

void fusefs_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fusefs *fs = fuse_req_userdata(req);
	struct ask *a = ask_new(fs, req, opened);
	const char *path = node_of(fs, ino)->path;

	a->flags = fi->flags;
	a->path = hv_strdup(path);
	ask_send_settled(a, &(struct wire_frame){
				    .kind = WIRE_OPEN,
				    .arg = (uint32_t)fi->flags,
				    .data = {(const uint8_t *)path, strlen(path)},
			    });
}

/* Whether the last close publishes pending writes. A process that exits has written all it wanted;
 * a process that a signal kills may be in the middle. If the reason is unknown, pending writes
 * count as incomplete if nothing was written, or if the rest of a partial write is missing. */
static bool is_complete(const struct file *f)
{
	switch (f->closed_by) {
	case CLOSER_LIVES:
	case CLOSER_EXITS:
		return true;
	case CLOSER_KILLED:
		return false;
	case CLOSER_UNKNOWN:
		return f->wrote && !f->cut_short;
	}
	return false;
}

void fusefs_release(fuse_req_t req, fuse_ino_t ino hv_unused, struct fuse_file_info *fi)
{
	struct file *f = file_of(fi);

	release(f, file_writes(f) && !is_complete(f) ? WIRE_ABANDON : WIRE_CLOSE);
	fuse_reply_err(req, 0);
}

static void flushed(struct ask *a, const struct wire_frame *answer)
{
	if (!ask_failed(a, answer) && a->req)
		fuse_reply_err(a->req, 0);
	a->req = NULL;
}

/* A descriptor was closed, perhaps not the last one. tracefs publishes before the last close
 * returns, but FUSE sends the release only afterwards. So this publishes if the close seems to be
 * the last: by the thread that wrote, alive, in a process without another descriptor for the
 * file. */
static void flush_seen(struct ask *a, const struct inspector_view *view)
{
	struct file *f = a->file;

	a->look_id = 0;
	f->closed_by = view ? view->state : CLOSER_UNKNOWN;
	if (a->req && f->to_publish && !f->cut_short && view && view->state == CLOSER_LIVES &&
	    !view->has_open && fuse_req_ctx(a->req)->pid == f->writer) {
		f->to_publish = false;
		/* The closing process can be neither killed nor, if it is in exec, inspected until
		 * the answer. */
		a->until_ns = hv_now_ns() + PUBLISH_NS;
		ask_send(a, &(struct wire_frame){.kind = WIRE_PUBLISH, .handle = f->handle});
		return;
	}
	ask_fail(a, 0);
	ask_free(a);
}

void fusefs_flush(fuse_req_t req, fuse_ino_t ino hv_unused, struct fuse_file_info *fi)
{
	struct file *f = file_of(fi);
	pid_t pid = fuse_req_ctx(req)->pid;

	if ((!file_writes(f) && !f->direct_id) || close_is_of_inspector(f->fs, pid))
		fuse_reply_err(req, 0);
	else
		close_look(ask_file(f, req, flushed), pid, flush_seen);
}

/* Reads. */

/* Returns the data of an interrupted read. False: there is no such data. */
static bool give_late(struct file *f, fuse_req_t req, size_t want_bytes)
{
	size_t len = f->late.len_bytes < want_bytes ? f->late.len_bytes : want_bytes;

	if (!len)
		return false;
	fuse_reply_buf(req, f->late.data, len);
	memmove(f->late.data, f->late.data + len, f->late.len_bytes - len);
	f->late.len_bytes -= len;
	return true;
}

static void ask_read(struct file *f, fuse_req_t req, uint32_t want_bytes, int flags);

static void had_read(struct ask *a, const struct wire_frame *answer)
{
	struct file *f = a->file;
	fuse_req_t req = a->req;

	f->nr_reads--;
	if (f->orphan == a)
		f->orphan = NULL;
	if (answer->kind == WIRE_OK && f->is_stream) {
		/* Buffered first, so that the next read gets it if this caller is being
		 * interrupted. */
		if (answer->data.len_bytes)
			hv_text_add_bytes(&f->late, answer->data.data, answer->data.len_bytes);
		if (req && !give_late(f, req, a->want_bytes))
			fuse_reply_buf(req, NULL, 0);
		a->req = NULL;
		return;
	}
	if (a->interrupted_ns && req && f->is_stream) {
		/* The read was cancelled for one caller, and another caller took it over. */
		a->req = NULL;
		ask_read(f, req, a->want_bytes, a->flags);
		return;
	}
	if (ask_failed(a, answer))
		return;
	if (answer->data.len_bytes > a->want_bytes) {
		ask_fail(a, EIO); /* more than requested: the service is compromised */
		return;
	}
	f->pos += answer->data.len_bytes;
	if (req)
		fuse_reply_buf(req, (const char *)answer->data.data, answer->data.len_bytes);
	a->req = NULL;
}

static void ask_read(struct file *f, fuse_req_t req, uint32_t want_bytes, int flags)
{
	struct ask *a = ask_file(f, req, had_read);

	a->want_bytes = want_bytes;
	a->flags = flags;
	f->nr_reads++;
	ask_send(a, &(struct wire_frame){
			    .kind = WIRE_READ,
			    .handle = f->handle,
			    .arg = want_bytes,
			    .wait_ms = flags & O_NONBLOCK ? 0 : WIRE_WAIT_FOREVER,
		    });
}

void file_orphan_read(struct ask *a)
{
	ask_fail(a, EINTR);
	a->interrupted_ns = hv_now_ns();
	a->file->orphan = a;
	link_send(a->fs->link, &(struct wire_frame){.kind = WIRE_CANCEL, .arg = a->tag}, NULL,
		  NULL);
}

static void read_at(struct file *f, fuse_req_t req, uint32_t want_bytes, uint64_t off)
{
	struct ask *a = ask_file(f, req, had_read);

	a->want_bytes = want_bytes;
	/* While another read is pending, its end offset is unknown. */
	f->pos = off;
	f->nr_reads++;
	ask_send(a, &(struct wire_frame){
			    .kind = WIRE_READ,
			    .handle = f->handle,
			    .arg = want_bytes,
			    .data = {(const uint8_t *)&off, sizeof(off)},
		    });
}

void fusefs_read(fuse_req_t req, fuse_ino_t ino hv_unused, size_t size, off_t off,
		 struct fuse_file_info *fi)
{
	struct file *f = file_of(fi);
	uint32_t want = size < WIRE_DATA_MAX ? (uint32_t)size : WIRE_DATA_MAX;

	file_used_by(f, fuse_req_ctx(req)->pid);
	if (!f->is_stream) {
		read_at(f, req, want, (uint64_t)off);
	} else if (give_late(f, req, want)) {
		return;
	} else if (f->orphan && !f->orphan->req) {
		f->orphan->req = req;
		f->orphan->want_bytes = want;
		f->orphan->flags = fi->flags;
	} else {
		ask_read(f, req, want, fi->flags);
	}
}

/* Writes. */

static void had_written(struct ask *a, const struct wire_frame *answer)
{
	struct file *f = a->file;

	if (answer->kind == WIRE_OK) {
		f->wrote |= answer->arg > 0;
		f->to_publish = true;
		f->cut_short = answer->arg < a->want_bytes;
	} else {
		f->cut_short = false; /* the writer received the error */
	}
	if (ask_failed(a, answer))
		return;
	if (answer->arg > a->want_bytes) {
		ask_fail(a, EIO);
		return;
	}
	if (a->req)
		fuse_reply_write(a->req, answer->arg);
	a->req = NULL;
}

void fusefs_write(fuse_req_t req, fuse_ino_t ino hv_unused, const char *buf, size_t size,
		  off_t off hv_unused, struct fuse_file_info *fi)
{
	struct file *f = file_of(fi);
	struct ask *a = ask_file(f, req, had_written);
	size_t len = size < WIRE_DATA_MAX ? size : WIRE_DATA_MAX;

	file_used_by(f, fuse_req_ctx(req)->pid);
	f->writer = fuse_req_ctx(req)->pid;
	a->want_bytes = (uint32_t)size;
	ask_send_settled(a, &(struct wire_frame){
				    .kind = WIRE_WRITE,
				    .handle = f->handle,
				    .data = {(const uint8_t *)buf, len},
			    });
}

/* poll(2). */

#define READABLE (POLLIN | POLLRDNORM)
#define WRITABLE (POLLOUT | POLLWRNORM)

static void wake_pollers(struct file *f)
{
	if (!f->poll)
		return;
	fuse_lowlevel_notify_poll(f->poll);
	fuse_pollhandle_destroy(f->poll);
	f->poll = NULL;
}

static void became_ready(struct ask *a, const struct wire_frame *answer hv_unused)
{
	a->file->watches = false;
	wake_pollers(a->file);
}

static void looked(struct ask *a, const struct wire_frame *answer)
{
	struct file *f = a->file;
	bool is_ready = answer->kind == WIRE_OK || answer->arg != EAGAIN;

	if (a->req)
		fuse_reply_poll(a->req, is_ready ? READABLE : 0);
	a->req = NULL;
	if (is_ready || !f->poll || f->watches || f->is_released)
		return;
	f->watches = true;
	ask_send(ask_file(f, NULL, became_ready),
		 &(struct wire_frame){
			 .kind = WIRE_READY, .handle = f->handle, .wait_ms = WIRE_WAIT_FOREVER});
}

void fusefs_poll(fuse_req_t req, fuse_ino_t ino hv_unused, struct fuse_file_info *fi,
		 struct fuse_pollhandle *ph)
{
	struct file *f = file_of(fi);

	if (ph) {
		if (f->poll)
			fuse_pollhandle_destroy(f->poll);
		f->poll = ph;
	}
	if (!f->is_stream || !file_reads(f)) {
		fuse_reply_poll(req, READABLE | WRITABLE);
		return;
	}
	file_used_by(f, fuse_req_ctx(req)->pid);
	if (f->late.len_bytes) {
		fuse_reply_poll(req, READABLE);
		return;
	}
	ask_send(ask_file(f, req, looked),
		 &(struct wire_frame){.kind = WIRE_READY, .handle = f->handle});
}

/* ioctl(fd, 0) of trace_pipe_raw wakes waiting readers. */
void fusefs_ioctl(fuse_req_t req, fuse_ino_t ino hv_unused, unsigned cmd, void *arg hv_unused,
		  struct fuse_file_info *fi, unsigned flags hv_unused, const void *in_buf hv_unused,
		  size_t in_size hv_unused, size_t out_size hv_unused)
{
	struct file *f = file_of(fi);

	if (cmd != 0 || !f->is_stream) {
		fuse_reply_err(req, ENOTTY);
		return;
	}
	for (struct ask *a = f->fs->asks; a; a = a->next) {
		if (a->file != f || a->done != had_read || !a->req || f->orphan)
			continue;
		fuse_reply_buf(a->req, NULL, 0);
		a->req = NULL;
		file_orphan_read(a);
	}
	wake_pollers(f);
	fuse_reply_ioctl(req, 0, NULL, 0);
}
