/* per_cpu/cpuN/trace_pipe_raw: what trace_pipe takes, as pages of the kernel's buffer. */
#include "tree/files/files.h"
#include "tree/files/reader.h"
#include "tree/format/raw_page.h"
#include "tree/instance/share.h"

/* Room in which every event but a marker fits. */
#define ROOM_FOR_MOST 64

/* Counts as a reader for current_tracer, and excludes no other one (tracing_buffers_open). */
static struct hv_err *open_raw(struct hv_file *f)
{
	struct hv_instance *in = f->at.instance;

	in->pipes.nr_raw++;
	hv_reader_begin(f->state, &f->at, hv_instance_buffer(in), HV_CURSOR_FOLLOW);
	return NULL;
}

static struct hv_err *close_raw(struct hv_file *f)
{
	f->at.instance->pipes.nr_raw--;
	return NULL;
}

/* An event that might not fit is taken only when all before it was consumed. If it does not fit it
 * stays in the buffer until a page has it, for whoever reads next if this reader goes. */
static void fill_page(struct hv_reader *r, struct hv_raw_page *page)
{
	for (;;) {
		bool may_be_held = page->max_bytes - page->len_bytes < ROOM_FOR_MOST;

		if (may_be_held && !r->has_held)
			hv_cursor_consume(r->cursor);
		if (!r->has_held && hv_cursor_next(r->cursor, &r->held) != HV_NEXT_EVENT)
			break;
		r->has_held = !hv_raw_page_add(page, &r->held);
		if (r->has_held && may_be_held)
			return;
		if (r->has_held)
			break;
	}
	if (page->len_bytes)
		hv_cursor_consume(r->cursor);
}

/* A page, or as much of one as was asked for (tracing_buffers_read); too little for an event reads
 * as the end. */
static struct hv_err *fill_raw(struct hv_file *f)
{
	size_t len = f->asked_bytes < HV_RAW_PAGE_LEN ? f->asked_bytes : HV_RAW_PAGE_LEN;
	struct hv_reader *r = f->state;
	struct hv_raw_page page;

	if (len <= HV_RAW_HEAD_LEN)
		return NULL;
	hv_reader_follow(r);
	hv_raw_page_init(&page, len - HV_RAW_HEAD_LEN);
	fill_page(r, &page);
	if (page.len_bytes) {
		hv_raw_page_finish(&page);
		hv_text_add_bytes(&f->text, page.bytes, len);
		return NULL;
	}
	return r->has_held ? NULL : hv_err_new(EAGAIN, "nothing to read now");
}

static struct hv_err *raw_ready(struct hv_file *f, bool *ret_always)
{
	return hv_reader_ready(f->state, ret_always);
}

static void release_raw(struct hv_file *f)
{
	hv_reader_deinit(f->state);
}

const struct hv_node hv_raw_node = {
	.help = "the same events as trace_pipe, as binary pages of the kernel's ring buffer",
	.state_bytes = sizeof(struct hv_reader),
	.open = open_raw,
	.fill = fill_raw,
	.ready = raw_ready,
	.close = close_raw,
	.release = release_raw,
};
