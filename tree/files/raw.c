/* SPDX-License-Identifier: GPL-2.0-or-later */
/* per_cpu/cpuN/trace_pipe_raw: the events of trace_pipe in pages of the kernel's ring buffer
 * format. */
#include "base/guard.h"
#include "tree/files/event_dirs.h"
#include "tree/files/files.h"
#include "tree/files/reader.h"
#include "tree/format/raw_page.h"
#include "tree/instance/core/sharing.h"

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
	struct hv_event_field host;

	hv_instance_pipes(in)->nr_raw++;
	(void)hv_place_raw_layout(&f->at, &raw->layout, &host);
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
