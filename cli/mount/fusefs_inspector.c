/* SPDX-License-Identifier: GPL-2.0-or-later */
/* While the inspector sets O_DIRECT for a file, it has the file open itself. A close during that
 * time is answered after the inspector has closed the file; otherwise the closing client would find
 * it busy. An inspector that takes too long is killed and replaced. If it only lacks CPU time, it
 * gets more time. */
#include "cli/mount/fusefs_inspector.h"

#include <string.h>

#include "base/clock.h"
#include "cli/mount/fusefs_ask.h"

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
	inspector_kill(&fs->inspector);
	fs->lost = fs->inspector;
	fs->lost_id = fs->next_look_id;
	fs->inspector = INSPECTOR_NONE;
	inspector_start(fs->fuse_fd, link_fd(fs->link), &fs->inspector);
	for (struct ask *a = fs->asks; a; a = a->next)
		if (a->look_id && a->file->direct_id)
			a->until_ns = hv_now_ns() + END_NS;
}

void inspector_died(struct fusefs *fs)
{
	inspector_kill(&fs->inspector);
	if (fs->lost.pid <= 0)
		replace(fs);
}

/* Its files are closed, and its remaining requests stay unanswered. */
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

void inspector_is_late(struct ask *a)
{
	struct fusefs *fs = a->fs;
	bool can_be_replaced = fs->inspector.pid > 0 && fs->lost.pid <= 0;
	uint64_t now = hv_now_ns();

	if (a->look_id > fs->lost_id && now < a->look_end_ns &&
	    inspector_makes_progress(&fs->inspector)) {
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
