/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace_pipe, of all vCPUs and of each vCPU. A read consumes events of the buffer. */
#include "tree/files/files.h"
#include "tree/files/listing.h"
#include "tree/format/format.h"
#include "tree/instance/core/recording.h"
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
