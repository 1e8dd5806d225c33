/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace_pipe, of all vCPUs and of each vCPU, as text and as pages (trace_pipe_raw). A read consumes
 * events of the buffer. */
#include "base/guard.h"
#include "tree/files/event_dirs.h"
#include "tree/files/files.h"
#include "tree/files/listing.h"
#include "tree/format/format.h"
#include "tree/format/raw_page.h"
#include "tree/instance/core/sharing.h"

#define TEXT_LEN_BYTES 8156 /* size of a chunk of text: the kernel's trace_seq */

struct pipe {
	struct hv_lines lines;
	unsigned asleep; /* the reader was asked to wait */
};

static struct hv_err *open_pipe(struct hv_file *f)
{
	struct hv_instance *in = f->at.instance;
	struct pipe *p = f->state;
	struct hv_err *err = hv_pipes_take(hv_instance_pipes(in), f->at.cpu);

	if (err)
		return err;
	p->lines.is_latency = hv_options_on(hv_instance_options(in), HV_OPT_LATENCY_FORMAT);
	hv_reader_begin(&p->lines.reader, &f->at, hv_instance_buffer(in), HV_CURSOR_FOLLOW);
	return NULL;
}

/* A read returns end of file only if the reader has read something before and recording is off.
 * Only events wake a sleeping reader (tracing_wait_pipe of 6.12). */
static bool is_at_end(const struct hv_file *f)
{
	const struct pipe *p = f->state;

	return !(f->flags & O_NONBLOCK) && !p->asleep && p->lines.nr &&
	       !hv_instance_tracing_on(f->at.instance);
}

/* Takes complete events until there is as much text as the reader asked for. */
static struct hv_err *fill_pipe(struct hv_file *f)
{
	size_t enough = f->asked_bytes < TEXT_LEN_BYTES ? f->asked_bytes : TEXT_LEN_BYTES;
	struct pipe *p = f->state;
	struct hv_style style = hv_lines_style(&p->lines);
	struct hv_event e;

	hv_reader_follow(&p->lines.reader);
	while (f->text.len_bytes < enough &&
	       hv_cursor_next(p->lines.reader.cursor, &e) == HV_NEXT_EVENT) {
		if (e.lost_before)
			hv_format_lost(&f->text, e.cpu, e.lost_before);
		hv_lines_add(&p->lines, &f->text, &style, &e);
	}
	if (f->text.len_bytes) {
		hv_cursor_consume(p->lines.reader.cursor);
		p->asleep = 0;
		return NULL;
	}
	if (is_at_end(f))
		return NULL;
	p->asleep = !(f->flags & O_NONBLOCK);
	return hv_err_new(EAGAIN, "there is nothing to read now");
}

static struct hv_err *pipe_ready(struct hv_file *f, bool *ret_always)
{
	struct pipe *p = f->state;

	return hv_reader_ready(&p->lines.reader, ret_always);
}

static struct hv_err *close_pipe(struct hv_file *f)
{
	hv_pipes_give_back(hv_instance_pipes(f->at.instance), f->at.cpu);
	return NULL;
}

static void release_pipe(struct hv_file *f)
{
	struct pipe *p = f->state;

	hv_lines_deinit(&p->lines);
}

const struct hv_node hv_pipe_node = {
	.reads = HV_RIGHT_READ | HV_NEEDS_SETTING,
	.help = "the events in the buffer; a read removes them, and waits if the buffer is empty",
	.state_bytes = sizeof(struct pipe),
	.open = open_pipe,
	.fill = fill_pipe,
	.ready = pipe_ready,
	.close = close_pipe,
	.release = release_pipe,
};

/* -- trace_pipe_raw ---------------------------------------------------------------------------- */

/* per_cpu/cpuN/trace_pipe_raw: the events of trace_pipe in pages of the kernel's ring buffer
 * format. */

/* Room for any event except markers, stacks, and guest events. */
#define ROOM_FOR_MOST (HV_RAW_FIXED_MAX + 32)

struct raw {
	struct hv_reader reader;
	struct hv_raw_layout layout;
};

/* The reader blocks changes of current_tracer, but no other readers (tracing_buffers_open). */
static struct hv_err *open_raw(struct hv_file *f)
{
	struct hv_instance *in = f->at.instance;
	struct raw *raw = f->state;
	struct hv_raw_more more;

	hv_instance_pipes(in)->nr_raw++;
	hv_path_raw_layout(&f->at, &raw->layout, &more);
	hv_reader_begin(&raw->reader, &f->at, hv_instance_buffer(in), HV_CURSOR_UNNAMED);
	return NULL;
}

static struct hv_err *close_raw(struct hv_file *f)
{
	hv_instance_pipes(f->at.instance)->nr_raw--;
	return NULL;
}

/* Fills most of a page, with events in brief form. */
static void fill_briefs(struct hv_reader *r, struct hv_raw_page *page)
{
	const unsigned kinds = hv_raw_brief_kinds(page->layout);
	struct hv_brief briefs[HV_BRIEFS_MAX];
	size_t nr, nr_taken;

	do {
		size_t room = (page->max_bytes - page->len_bytes) / HV_RAW_BRIEF_MIN;

		nr = page->len_bytes ? hv_cursor_briefs(r->cursor, room, kinds, briefs) : 0;
		nr_taken = hv_raw_page_add_briefs(page, briefs, nr);
		hv_cursor_take_briefs(r->cursor, nr_taken);
	} while (nr && nr_taken == nr);
}

/* Takes an event that might not fit only after everything before it was consumed. If it does not
 * fit, it stays in the buffer until a page contains it, so that the next reader gets it if this one
 * closes the file. */
static void fill_page(struct hv_reader *r, struct hv_raw_page *page)
{
	for (;;) {
		bool may_not_fit;

		if (!r->has_kept)
			fill_briefs(r, page);
		may_not_fit = page->max_bytes - page->len_bytes < ROOM_FOR_MOST;
		if (may_not_fit && !r->has_kept)
			hv_cursor_consume(r->cursor);
		if (!r->has_kept && hv_cursor_next(r->cursor, &r->kept) != HV_NEXT_EVENT)
			break;
		r->has_kept = !hv_raw_page_add(page, &r->kept);
		if (r->has_kept && may_not_fit)
			return;
		if (r->has_kept)
			break;
	}
	if (page->len_bytes)
		hv_cursor_consume(r->cursor);
}

/* Makes a page, or the requested part of one (tracing_buffers_read). A read with less room than an
 * event needs returns end of file. */
static struct hv_err *fill_raw(struct hv_file *f)
{
	const struct hv_buffers *b = hv_instance_buffers(f->at.instance);
	size_t len = f->asked_bytes < b->page_bytes ? f->asked_bytes : b->page_bytes;
	HV_AUTO_FREE uint8_t *bytes = NULL;
	struct raw *raw = f->state;
	struct hv_reader *r = &raw->reader;
	struct hv_raw_page page;

	if (len <= HV_RAW_HEAD_LEN)
		return NULL;
	hv_reader_follow(r);
	bytes = hv_alloc(len);
	raw->layout.data_bytes = hv_buffers_page_data(b);
	hv_raw_page_init(&page, &raw->layout, bytes, len - HV_RAW_HEAD_LEN);
	fill_page(r, &page);
	if (page.len_bytes) {
		hv_raw_page_finish(&page);
		hv_text_add_bytes(&f->text, page.bytes, len);
		return NULL;
	}
	return r->has_kept ? NULL : hv_err_new(EAGAIN, "there is nothing to read now");
}

static struct hv_err *raw_ready(struct hv_file *f, bool *ret_always)
{
	struct raw *raw = f->state;

	return hv_reader_ready(&raw->reader, ret_always);
}

static void release_raw(struct hv_file *f)
{
	struct raw *raw = f->state;

	hv_reader_deinit(&raw->reader);
}

const struct hv_node hv_raw_node = {
	.reads = HV_RIGHT_READ | HV_NEEDS_SETTING,
	.help = "the same events as trace_pipe, as binary pages of the kernel's ring buffer",
	.state_bytes = sizeof(struct raw),
	.open = open_raw,
	.fill = fill_raw,
	.ready = raw_ready,
	.close = close_raw,
	.release = release_raw,
};
