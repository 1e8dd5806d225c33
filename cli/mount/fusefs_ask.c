/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/mount/fusefs_ask.h"

#include <fcntl.h>
#include <string.h>

#include "base/clock.h"

/* -- requests to the service ------------------------------------------------------------------ */

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

/* -- requests to the inspector ---------------------------------------------------------------- */

/* While the inspector sets O_DIRECT for a file, it has the file open itself. A close during that
 * time is answered after the inspector has closed the file; otherwise the closing client would find
 * it busy. An inspector that takes too long is killed and replaced. If it only lacks CPU time, it
 * gets more time. */

#define LOOK_NS	       100000000ull /* timeout for an inspector that makes no progress */
#define END_NS	       5000000000ull
#define FIRST_WAIT_NS  1000000ull
#define DIRECT_WAIT_NS 2000000000ull

static char *tail_of(const char *path)
{
	HV_AUTO_TEXT struct hv_text t = {0};

	hv_text_printf(&t, "/%s", path);
	return hv_text_take(&t);
}

static bool ask_about(struct file *f, enum inspector_job job, pid_t pid, uint64_t *ret_id)
{
	HV_AUTO_FREE char *tail = tail_of(f->path);
	uint64_t id = ++f->fs->next_look_id;

	if (!inspector_ask(&f->fs->inspector, job, id, pid, tail))
		return false;
	*ret_id = id;
	return true;
}

/* O_DIRECT. The descriptor appears shortly after the open is answered, so the request is repeated
 * with growing intervals. */

static void direct_later(struct file *f)
{
	f->direct_id = 0;
	f->direct_at_ns = f->direct_wait_ns < DIRECT_WAIT_NS ? hv_now_ns() + f->direct_wait_ns : 0;
	f->direct_wait_ns *= 2;
}

static void direct_ask(struct file *f)
{
	f->direct_at_ns = 0;
	if (!ask_about(f, INSPECTOR_MAKE_DIRECT, f->opener, &f->direct_id))
		direct_later(f);
}

void direct_begin(struct file *f, pid_t opener)
{
	f->opener = opener;
	f->direct_wait_ns = FIRST_WAIT_NS;
	direct_ask(f);
}

static struct file *file_of_direct(const struct fusefs *fs, uint64_t id)
{
	struct file *f = fs->files;

	while (f && f->direct_id != id)
		f = f->next;
	return f;
}

/* Closing. */

bool close_is_of_inspector(const struct fusefs *fs, pid_t pid)
{
	return pid > 0 && (pid == fs->inspector.pid || pid == fs->lost.pid);
}

void close_look(struct ask *a, pid_t pid,
		void (*seen)(struct ask *a, const struct inspector_view *view))
{
	enum inspector_job job = file_writes(a->file) ? INSPECTOR_LOOK : INSPECTOR_NOTHING;

	a->seen = seen;
	a->until_ns = hv_now_ns() + LOOK_NS;
	a->look_end_ns = hv_now_ns() + END_NS;
	if (!ask_about(a->file, job, pid, &a->look_id))
		a->seen(a, NULL);
}

static struct ask *ask_of_look(const struct fusefs *fs, uint64_t id)
{
	struct ask *a = fs->asks;

	while (a && a->look_id != id)
		a = a->next;
	return a;
}

/* The inspector. */

static void take_view(struct fusefs *fs, const struct inspector_view *view)
{
	struct ask *a = ask_of_look(fs, view->id);
	struct file *f = file_of_direct(fs, view->id);

	if (a)
		a->seen(a, view);
	if (!f)
		return;
	if (view->has_open)
		f->direct_id = 0;
	else
		direct_later(f);
}

/* Processes that wait for the inspector's open files now wait for its end. */
static void replace(struct fusefs *fs)
{
	hv_close_at(&fs->inspector.fd);
	fs->inspector.fd = -1;
	fs->lost = fs->inspector;
	fs->lost_id = fs->next_look_id;
	fs->inspector = mount_errand_inspect(&fs->helper);
	for (struct ask *a = fs->asks; a; a = a->next)
		if (a->look_id && a->file->direct_id)
			a->until_ns = hv_now_ns() + END_NS;
}

void inspector_died(struct fusefs *fs)
{
	hv_close_at(&fs->inspector.fd);
	fs->inspector.fd = -1;
	if (fs->lost.pid <= 0)
		replace(fs);
}

/* The previous inspector has ended: its files are closed, and its remaining requests stay
 * unanswered. */
static void lost_has_ended(struct fusefs *fs)
{
	struct ask *next;

	inspector_close(&fs->lost);
	for (struct file *f = fs->files; f; f = f->next)
		if (f->direct_id && f->direct_id <= fs->lost_id)
			direct_later(f);
	for (struct ask *a = fs->asks; a; a = next) {
		next = a->next;
		if (a->look_id && a->look_id <= fs->lost_id)
			a->seen(a, NULL);
	}
	if (fs->inspector.pid > 0 && fs->inspector.fd < 0)
		replace(fs);
}

/* Whether an answer has arrived or the inspector only lacks CPU time. Checks in this order, because
 * an inspector that now waits for a request has answered before. */
static bool makes_progress(struct fusefs *fs)
{
	return mount_errand_inspector_runs(&fs->helper) || inspector_has_answered(&fs->inspector);
}

void inspector_is_late(struct ask *a)
{
	struct fusefs *fs = a->fs;
	bool can_be_replaced = fs->inspector.pid > 0 && fs->lost.pid <= 0;
	uint64_t now = hv_now_ns();

	if (a->look_id > fs->lost_id && now < a->look_end_ns && makes_progress(fs)) {
		a->until_ns = now + LOOK_NS;
		return;
	}
	if (a->file->direct_id && a->look_id > fs->lost_id && can_be_replaced)
		replace(fs);
	else
		a->seen(a, NULL);
}

void see_to_inspector(struct fusefs *fs)
{
	struct inspector_view view;
	uint64_t now = hv_now_ns();

	while (inspector_answer(&fs->inspector, &view))
		take_view(fs, &view);
	if (fs->lost.pid > 0 && inspector_has_ended(&fs->lost))
		lost_has_ended(fs);
	for (struct file *f = fs->files; f; f = f->next)
		if (f->direct_at_ns && now >= f->direct_at_ns)
			direct_ask(f);
}

int direct_timeout_ms(const struct fusefs *fs)
{
	uint64_t now = hv_now_ns(), first = UINT64_MAX;

	for (const struct file *f = fs->files; f; f = f->next)
		if (f->direct_at_ns && f->direct_at_ns < first)
			first = f->direct_at_ns;
	if (first == UINT64_MAX)
		return -1;
	return first <= now ? 0 : (int)((first - now) / 1000000 + 1);
}
