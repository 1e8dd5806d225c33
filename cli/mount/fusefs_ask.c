/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/mount/fusefs_ask.h"

#include <fcntl.h>
#include <string.h>

#include "base/clock.h"

#define DEFER_NS (100 * HV_NS_PER_MS) /* how long to wait for dead processes */

bool file_writes(const struct file *f)
{
	return (f->flags & O_ACCMODE) != O_RDONLY;
}

/* Whether its user has died and its release has not arrived. */
static bool file_is_closing(const struct file *f)
{
	return !f->is_released && !f->waited_for && thread_is_gone(f->pid);
}

void file_put(struct file *f)
{
	if (--f->nr_refs)
		return;
	if (f->poll)
		fuse_pollhandle_destroy(f->poll);
	hv_text_deinit(&f->late);
	free(f->path);
	free(f);
}

struct ask *ask_new(struct fusefs *fs, fuse_req_t req,
		    void (*done)(struct ask *a, const struct wire_frame *answer))
{
	struct ask *a = hv_alloc(sizeof(*a));

	*a = (struct ask){.fs = fs, .next = fs->asks, .req = req, .done = done};
	fs->asks = a;
	return a;
}

void ask_free(struct ask *a)
{
	struct ask **at = &a->fs->asks;

	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	if (a->file)
		file_put(a->file);
	hv_text_deinit(&a->data);
	free(a->path);
	free(a);
}

void ask_fail(struct ask *a, int code)
{
	if (a->req)
		fuse_reply_err(a->req, code);
	a->req = NULL;
}

bool ask_failed(struct ask *a, const struct wire_frame *answer)
{
	if (answer->kind == WIRE_OK)
		return false;
	ask_fail(a, hv_err_code(answer->arg));
	return true;
}

static void answered(void *arg, const struct wire_frame *answer)
{
	struct ask *a = arg;

	a->done(a, answer);
	ask_free(a);
}

static void was_interrupted(fuse_req_t req hv_unused, void *arg)
{
	struct ask *a = arg;

	a->interrupted_ns = hv_now_ns();
}

static void watch_interrupts(struct ask *a)
{
	if (a->req)
		fuse_req_interrupt_func(a->req, was_interrupted, a);
}

void ask_send(struct ask *a, const struct wire_frame *frame)
{
	watch_interrupts(a);
	a->frame.kind = frame->kind;
	a->tag = link_send(a->fs->link, frame, answered, a);
}

void ask_send_path(struct ask *a, enum wire_kind kind, const char *path, uint32_t arg)
{
	ask_send(a, &(struct wire_frame){.kind = (uint16_t)kind,
					 .arg = arg,
					 .data = {(const uint8_t *)path, strlen(path)}});
}

static bool somebody_closes(const struct fusefs *fs)
{
	for (const struct file *f = fs->files; f; f = f->next)
		if (file_is_closing(f))
			return true;
	return false;
}

/* Whether a pending flush belongs to such a file: its release follows when the flush is
 * answered. */
static bool somebody_waits_to_close(const struct fusefs *fs)
{
	for (const struct ask *a = fs->asks; a; a = a->next)
		if (a->look_id && file_is_closing(a->file))
			return true;
	return false;
}

bool ask_is_deferred(const struct ask *a)
{
	return a->deferred_ns && !a->tag;
}

bool asks_any_deferred(const struct fusefs *fs)
{
	for (const struct ask *a = fs->asks; a; a = a->next)
		if (ask_is_deferred(a))
			return true;
	return false;
}

void ask_send_settled(struct ask *a, const struct wire_frame *frame)
{
	if (!asks_any_deferred(a->fs) && !somebody_closes(a->fs)) {
		ask_send(a, frame);
		return;
	}
	watch_interrupts(a);
	a->deferred_ns = hv_now_ns();
	a->deferred_until_ns = a->deferred_ns + DEFER_NS;
	a->frame = *frame;
	if (frame->data.len_bytes)
		hv_text_add_bytes(&a->data, frame->data.data, frame->data.len_bytes);
}

/* Returns the oldest deferred ask; `asks` is a stack. */
static struct ask *first_deferred(const struct fusefs *fs)
{
	struct ask *first = NULL;

	for (struct ask *a = fs->asks; a; a = a->next)
		if (ask_is_deferred(a))
			first = a;
	return first;
}

void asks_send_deferred(struct fusefs *fs)
{
	struct ask *a = first_deferred(fs);

	if (!a)
		return;
	if (somebody_closes(fs)) {
		uint64_t now = hv_now_ns();

		if (now - a->deferred_ns < ASK_GIVE_UP_NS && somebody_waits_to_close(fs))
			a->deferred_until_ns = now + DEFER_NS;
		if (now < a->deferred_until_ns)
			return;
		for (struct file *f = fs->files; f; f = f->next)
			f->waited_for |= file_is_closing(f);
	}
	while ((a = first_deferred(fs))) {
		a->frame.data = (struct hv_span){(const uint8_t *)a->data.data, a->data.len_bytes};
		ask_send(a, &a->frame);
	}
}
