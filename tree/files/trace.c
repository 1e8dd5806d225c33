/* trace and trace_pipe: events as text, kept and taken. */
#include "tree/format/format.h"
#include "tree/node.h"

/* Text made at a time: of a dump, and of the pipe as the kernel's trace_seq. */
#define DUMP_LEN_BYTES 65536
#define PIPE_LEN_BYTES 8156

void hv_file_read_buffer(struct hv_file *f, struct hv_buffer *b, enum hv_cursor_mode mode)
{
	hv_cursor_free(f->cursor);
	f->cursor = hv_cursor_new(b, f->cpu, mode);
	f->buffer = b;
}

void hv_file_follow_buffer(struct hv_file *f)
{
	struct hv_buffer *b = hv_instance_buffer(f->instance);

	if (b != f->buffer)
		hv_file_read_buffer(f, b, HV_CURSOR_FOLLOW);
}

struct hv_err *hv_trace_open(struct hv_file *f)
{
	if (hv_file_writes(f) && (f->flags & O_TRUNC))
		hv_instance_clear(f->instance, f->cpu);
	if (!hv_file_reads(f))
		return NULL;
	if (hv_options_on(&f->instance->options, HV_OPT_PAUSE_ON_TRACE)) {
		f->pauses = 1;
		hv_instance_pause(f->instance);
	}
	f->is_latency = hv_options_on(&f->instance->options, HV_OPT_LATENCY_FORMAT);
	hv_file_read_buffer(f, hv_instance_buffer(f->instance), HV_CURSOR_DUMP);
	return NULL;
}

struct hv_err *hv_trace_close(struct hv_file *f)
{
	if (f->pauses)
		hv_instance_go_on(f->instance);
	return NULL;
}

/* Notes that CPU has a line now. Returns whether it had one before. */
static bool note_started(struct hv_file *f, unsigned cpu)
{
	bool was;

	if (cpu >= f->nr_started) {
		f->started = hv_realloc_array(f->started, cpu + 1, 1);
		while (f->nr_started <= cpu)
			f->started[f->nr_started++] = 0;
	}
	was = f->started[cpu];
	f->started[cpu] = 1;
	return was;
}

/* What goes in front of a line of a dump. When the buffer ran over, the first line of each CPU is
 * announced, but for the first line of all (test_cpu_buff_start): that is the loss before it. A
 * loss further on is told as the kernel's iterator does, without its number. */
static void add_gap(struct hv_file *f, const struct hv_event *e)
{
	bool started = note_started(f, e->cpu);

	if (started && e->lost_before)
		hv_format_lost(&f->text, e->cpu, 0);
	if (!started && f->annotate && f->nr_lines &&
	    hv_options_on(&f->instance->options, HV_OPT_ANNOTATE))
		hv_format_started(&f->text, e->cpu);
}

/* What function_graph shows among its calls: a comment. A stack it leaves to all tracers' text. */
static void add_comment(struct hv_file *f, const struct hv_style *style, const struct hv_event *e)
{
	HV_AUTO_TEXT struct hv_text text = {0};

	hv_format_comment(&text, e);
	hv_graph_comment(f->graph, &f->text, style, e, text.data);
}

/* An entry takes its return along when that comes next on its CPU. */
void hv_trace_add(struct hv_file *f, const struct hv_style *style, const struct hv_event *e)
{
	bool is_call = e->kind == HV_EVENT_GRAPH_ENTRY || e->kind == HV_EVENT_GRAPH_EXIT;
	bool is_mark = e->kind == HV_EVENT_PRINT || e->kind == HV_EVENT_RAW_DATA;
	struct hv_session_stat stat;
	struct hv_event next;
	bool known;

	f->nr_lines++;
	if (!is_call && !(is_mark && f->instance->selection.tracer == HV_TRACER_FUNCTION_GRAPH)) {
		hv_format_event(&f->text, style, e);
		return;
	}
	if (!f->graph) {
		hv_session_stat(f->tree->instances.session, &stat);
		f->graph = hv_graph_new(style->kernel, stat.nr_cpus);
	}
	if (is_mark) {
		add_comment(f, style, e);
		return;
	}
	known = e->kind == HV_EVENT_GRAPH_ENTRY && hv_cursor_peek(f->cursor, e->cpu, &next);
	if (hv_graph_event(f->graph, &f->text, style, e, known ? &next : NULL))
		hv_cursor_skip(f->cursor, e->cpu);
}

static void add_header(struct hv_file *f, const struct hv_style *style)
{
	const char *tracer = hv_tracer_name(f->instance->selection.tracer);
	struct hv_session_stat stat;
	struct hv_buffer_stat buffer;

	hv_session_stat(f->tree->instances.session, &stat);
	hv_buffer_stat(f->buffer, f->cpu, NULL, &buffer);
	if (f->instance->selection.tracer == HV_TRACER_FUNCTION_GRAPH) {
		const struct hv_latency_header latency = {
			tracer, buffer.entries, buffer.entries + buffer.overrun, stat.nr_cpus};

		hv_graph_header(&f->text, style, &latency);
		return;
	}
	f->annotate = buffer.overrun > 0;
	hv_format_header(&f->text, style, tracer, buffer.entries, buffer.entries + buffer.overrun,
			 stat.nr_cpus);
}

struct hv_style hv_trace_style(struct hv_file *f)
{
	struct hv_style style = {
		.kernel = hv_session_kernel(f->instance->all->session),
		.clock = hv_buffers_clock_kind(&f->instance->buffers),
		.options = &f->instance->options,
	};

	f->latency.start_ns = f->instance->buffers.start_ns;
	if (f->is_latency)
		style.latency = &f->latency;
	return style;
}

/* The next event of a dump, which in latency format tells when the one after it is: calls of a
 * graph do not, and are looked at in pairs. */
bool hv_trace_take(struct hv_file *f, struct hv_event *ret)
{
	bool looks_on = f->is_latency && f->instance->selection.tracer != HV_TRACER_FUNCTION_GRAPH;

	if (!f->has_held && hv_cursor_next(f->cursor, ret) != HV_NEXT_EVENT)
		return false;
	if (f->has_held)
		*ret = f->held;
	f->has_held = looks_on && hv_cursor_next(f->cursor, &f->held) == HV_NEXT_EVENT;
	f->latency.next_ns = f->has_held ? f->held.time_ns : 0;
	f->latency.index = f->nr_lines;
	return true;
}

struct hv_err *hv_trace_fill(struct hv_file *f)
{
	struct hv_style style = hv_trace_style(f);
	struct hv_event e;

	if (!f->nr_fills)
		add_header(f, &style);
	while (f->text.len_bytes < DUMP_LEN_BYTES && hv_trace_take(f, &e)) {
		add_gap(f, &e);
		hv_trace_add(f, &style, &e);
	}
	return NULL;
}

struct hv_err *hv_pipe_open(struct hv_file *f)
{
	struct hv_err *err = hv_pipes_take(&f->instance->pipes, f->cpu);

	if (err)
		return err;
	f->is_latency = hv_options_on(&f->instance->options, HV_OPT_LATENCY_FORMAT);
	hv_file_read_buffer(f, hv_instance_buffer(f->instance), HV_CURSOR_FOLLOW);
	return NULL;
}

/* The percentage is of one vCPU, and means nothing for all, as in the kernel (trace_poll,
 * ring_buffer_poll_wait). */
struct hv_err *hv_pipe_ready(struct hv_file *f, bool *ret_always)
{
	const struct hv_instance *in = f->instance;

	*ret_always = hv_options_on(&in->options, HV_OPT_BLOCK);
	if (*ret_always || f->cpu < 0)
		return NULL;
	hv_file_follow_buffer(f);
	if (f->has_held || hv_buffer_percent(f->buffer, (unsigned)f->cpu) >= in->fill_percent)
		return NULL;
	return hv_err_new(EAGAIN, "not yet %u percent full", in->fill_percent);
}

/* Takes whole events, and no more than the reader asked for.
 * The end is only told to a reader that has had something and finds recording off; one that sleeps
 * is woken by data alone (tracing_wait_pipe of 6.12). */
struct hv_err *hv_pipe_fill(struct hv_file *f)
{
	struct hv_style style = hv_trace_style(f);
	size_t enough = f->asked_bytes < PIPE_LEN_BYTES ? f->asked_bytes : PIPE_LEN_BYTES;
	struct hv_event e;

	hv_file_follow_buffer(f);
	while (f->text.len_bytes < enough && hv_cursor_next(f->cursor, &e) == HV_NEXT_EVENT) {
		if (e.lost_before)
			hv_format_lost(&f->text, e.cpu, e.lost_before);
		f->latency.index = f->nr_lines;
		hv_trace_add(f, &style, &e);
	}
	if (f->text.len_bytes) {
		hv_cursor_consume(f->cursor);
		f->asleep = 0;
		return NULL;
	}
	if (!(f->flags & O_NONBLOCK) && !f->asleep && !hv_instance_tracing_on(f->instance) &&
	    f->nr_lines)
		return NULL;
	f->asleep = !(f->flags & O_NONBLOCK);
	return hv_err_new(EAGAIN, "nothing to read now");
}

struct hv_err *hv_pipe_close(struct hv_file *f)
{
	hv_pipes_give_back(&f->instance->pipes, f->cpu);
	return NULL;
}
