/* per_cpu/cpuN/trace_pipe_raw: what trace_pipe takes, as pages of the kernel's buffer. */
#include "tracer/events/cursor.h"
#include "tree/node.h"
#include "tree/format/raw_page.h"

/* Counts as a reader for current_tracer, and excludes no other one (tracing_buffers_open). */
struct hv_err *hv_raw_open(struct hv_file *f)
{
	f->instance->pipes.nr_raw++;
	hv_file_read_buffer(f, hv_instance_buffer(f->instance), HV_CURSOR_FOLLOW);
	return NULL;
}

struct hv_err *hv_raw_close(struct hv_file *f)
{
	if (f->cursor)
		f->instance->pipes.nr_raw--;
	return NULL;
}

/* Room in which every event but a marker fits. */
#define ROOM_FOR_MOST 64

/* What might not fit is taken after all before it is consumed: it stays in the buffer until a page
 * has it, for whoever reads next if this reader goes. */
static void fill_page(struct hv_file *f, struct hv_raw_page *page)
{
	for (;;) {
		bool may_be_held = page->max_bytes - page->len_bytes < ROOM_FOR_MOST;

		if (may_be_held && !f->has_held)
			hv_cursor_consume(f->cursor);
		if (!f->has_held && hv_cursor_next(f->cursor, &f->held) != HV_NEXT_EVENT)
			break;
		f->has_held = !hv_raw_page_add(page, &f->held);
		if (f->has_held && may_be_held)
			return;
		if (f->has_held)
			break;
	}
	if (page->len_bytes)
		hv_cursor_consume(f->cursor);
}

/* A page, or as much of one as was asked for (tracing_buffers_read); too little for an event reads
 * as the end. */
struct hv_err *hv_raw_fill(struct hv_file *f)
{
	size_t len = f->asked_bytes < HV_RAW_PAGE_LEN ? f->asked_bytes : HV_RAW_PAGE_LEN;
	struct hv_raw_page page;

	if (len <= HV_RAW_HEAD_LEN)
		return NULL;
	hv_file_follow_buffer(f);
	hv_raw_page_init(&page, len - HV_RAW_HEAD_LEN);
	fill_page(f, &page);
	if (page.len_bytes) {
		hv_raw_page_finish(&page);
		hv_text_add_bytes(&f->text, page.bytes, len);
		return NULL;
	}
	return f->has_held ? NULL : hv_err_new(EAGAIN, "nothing to read now");
}
