/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/files/listing.h"

#include "kernel/kernel.h"
#include "tracer/events/buffer.h"
#include "tracer/sections/section_tracer.h"
#include "tree/format/format.h"
#include "tree/format/graph.h"
#include "tree/format/style.h"
#include "tree/format/symbol.h"
#include "tree/format/user_objects.h"
#include "tree/instance/budget.h"
#include "tree/instance/core/sharing.h"
#include "tree/instance/latency/sections.h"
#include "tree/instance/latency/wakeups.h"

/* -- reading events ---------------------------------------------------------------------------- */

#define KERNEL_SIZE_BYTES (1408 << 10) /* default buffer_size_kb of the kernel */

static void use(struct hv_reader *r, struct hv_buffer *buffer, enum hv_cursor_mode mode)
{
	hv_cursor_free(r->cursor);
	r->cursor = hv_cursor_new(buffer, r->cpu, mode);
	r->buffer = buffer;
}

void hv_reader_begin(struct hv_reader *r, const struct hv_path *at, struct hv_buffer *buffer,
		     enum hv_cursor_mode mode)
{
	r->instance = at->instance;
	r->cpu = at->cpu;
	use(r, buffer, mode);
}

void hv_reader_deinit(struct hv_reader *r)
{
	hv_cursor_free(r->cursor);
}

void hv_reader_follow(struct hv_reader *r)
{
	struct hv_buffer *buffer = hv_instance_buffer(r->instance);

	if (buffer != r->buffer)
		use(r, buffer, HV_CURSOR_FOLLOW);
}

/* The percentage refers to at most the kernel's default buffer size, so that programs receive
 * events as early as from the kernel, although hvtrace's buffers are larger. 100 percent refers to
 * the whole buffer. */
static bool is_full_enough(const struct hv_reader *r)
{
	uint64_t percent = hv_instance_buffers(r->instance)->fill_percent;
	unsigned cpu = (unsigned)r->cpu;
	uint64_t of_bytes = hv_buffer_size(r->buffer, cpu);

	if (percent < 100 && of_bytes > KERNEL_SIZE_BYTES)
		of_bytes = KERNEL_SIZE_BYTES;
	return hv_buffer_unread(r->buffer, cpu) * 100 >= of_bytes * percent;
}

/* buffer_percent applies only to per-vCPU files, as in the kernel (trace_poll,
 * ring_buffer_poll_wait). While recording is off the buffer does not grow, and its events are
 * ready. */
struct hv_err *hv_reader_ready(struct hv_reader *r, bool *ret_always)
{
	const struct hv_instance *in = r->instance;

	*ret_always = hv_options_on(hv_instance_options(in), HV_OPT_BLOCK);
	if (*ret_always || r->cpu < 0)
		return NULL;
	hv_reader_follow(r);
	if (r->has_kept || !hv_instance_tracing_on(in) || is_full_enough(r))
		return NULL;
	return hv_err_new(EAGAIN, "the buffer is not %u percent full yet",
			  hv_instance_buffers(in)->fill_percent);
}

/* -- lines of events --------------------------------------------------------------------------- */

/* Returns whether calls in sections, and section ends, are shown as a graph. */
static bool shows_sections(const struct hv_instance *in)
{
	return hv_instance_tracer(in)->measures == HV_MEASURES_SECTIONS &&
	       hv_options_on(hv_instance_options(in), HV_OPT_DISPLAY_GRAPH);
}

void hv_lines_deinit(struct hv_lines *l)
{
	hv_reader_deinit(&l->reader);
	hv_graph_free(l->graph);
	hv_symbol_texts_free(l->symbols);
	hv_line_texts_free(l->line_texts);
	hv_user_objects_free(l->user_objects);
}

struct hv_style hv_lines_style(struct hv_lines *l)
{
	const struct hv_instance *in = l->reader.instance;

	l->latency.start_ns = hv_instance_buffers(in)->start_ns;
	if (!l->symbols) {
		l->symbols = hv_symbol_texts_new();
		l->line_texts = hv_line_texts_new();
	}
	hv_symbol_texts_of(l->symbols, hv_instance_session(in)->kernel->symbols_version);
	if (!l->user_objects && hv_options_on(hv_instance_options(in), HV_OPT_SYM_USEROBJ))
		l->user_objects = hv_user_objects_new(hv_instance_session(in)->kernel);
	if (shows_sections(in)) {
		l->options = hv_section_graph_options(hv_instance_options(in));
		/* Show interrupts: one that began in the section may end after it. */
		hv_options_set(&l->options, HV_OPT_FUNCGRAPH_IRQS, HV_ON);
	}
	hv_line_texts_of(l->line_texts,
			 shows_sections(in) ? l->options.bits : hv_instance_options(in)->bits);
	return (struct hv_style){
		.kernel = hv_instance_session(in)->kernel,
		.clock = hv_buffers_clock_kind(hv_instance_buffers(in)),
		.options = shows_sections(in) ? &l->options : hv_instance_options(in),
		.graph_start_ns = shows_sections(in) ? hv_instance_buffers(in)->start_ns : 0,
		.latency = l->is_latency ? &l->latency : NULL,
		.symbols = l->symbols,
		.line_texts = l->line_texts,
		.names = hv_instance_session(in)->names,
		.events = hv_instances_event_texts(hv_instance_all(in)),
		.user_objects = l->user_objects,
	};
}

/* A graph does not show the time until the next event, and add_call() reads ahead itself. */
bool hv_lines_take(struct hv_lines *l, struct hv_event *ret)
{
	struct hv_reader *r = &l->reader;
	bool is_graph = hv_instance_tracer(r->instance)->is_graph || shows_sections(r->instance);
	bool looks_ahead = l->is_latency && !is_graph;

	if (!r->has_kept && hv_cursor_next(r->cursor, ret) != HV_NEXT_EVENT)
		return false;
	if (r->has_kept)
		*ret = r->kept;
	r->has_kept = looks_ahead && hv_cursor_next(r->cursor, &r->kept) == HV_NEXT_EVENT;
	l->latency.next_ns = r->has_kept ? r->kept.time_ns : 0;
	return true;
}

/* function_graph shows markers and guest events as comments. */
static void add_comment(struct hv_lines *l, struct hv_text *out, const struct hv_style *style,
			const struct hv_event *e)
{
	HV_AUTO_TEXT struct hv_text text = {0};

	hv_format_comment(&text, style, e);
	hv_graph_comment(l->graph, out, style, e, text.data);
}

static void add_call(struct hv_lines *l, struct hv_text *out, const struct hv_style *style,
		     const struct hv_event *e)
{
	struct hv_cursor *cursor = l->reader.cursor;
	struct hv_event next;
	bool known = e->kind == HV_EVENT_GRAPH_ENTRY && hv_cursor_peek(cursor, e->cpu, &next);

	if (hv_graph_event(l->graph, out, style, e, known ? &next : NULL))
		hv_cursor_skip(cursor, e->cpu);
}

/* A stack has its own lines, even with function_graph. */
void hv_lines_add(struct hv_lines *l, struct hv_text *out, const struct hv_style *style,
		  const struct hv_event *e)
{
	const struct hv_instance *in = l->reader.instance;
	bool is_graph = hv_instance_tracer(in)->is_graph || shows_sections(in);
	bool is_end = e->kind == HV_EVENT_FUNCTION && e->of_section && shows_sections(in);
	bool is_call = e->kind == HV_EVENT_GRAPH_ENTRY || e->kind == HV_EVENT_GRAPH_EXIT;
	bool is_comment = e->kind == HV_EVENT_PRINT || e->kind == HV_EVENT_RAW_DATA ||
			  e->kind == HV_EVENT_GUESTS;
	struct hv_session_stat stat;

	l->latency.index = l->nr++;
	if (!is_call && !is_end && !(is_comment && is_graph)) {
		hv_format_event(out, style, e);
		return;
	}
	if (!l->graph) {
		hv_session_stat(hv_instance_session(in), &stat);
		l->graph = hv_graph_new(style->kernel, stat.nr_cpus);
	}
	if (is_end)
		hv_section_graph_end(l->graph, out, style, e);
	else if (is_call)
		add_call(l, out, style, e);
	else
		add_comment(l, out, style, e);
}

/* -- the contents of a buffer ------------------------------------------------------------------ */

#define TEXT_LEN_BYTES 65536 /* size of a chunk of text */

void hv_listing_begin(struct hv_listing *l, const struct hv_path *at, struct hv_buffer *buffer)
{
	hv_buffer_note_names(buffer);
	hv_reader_begin(&l->lines.reader, at, buffer, HV_CURSOR_DUMP);
}

void hv_listing_begin_worst(struct hv_listing *l, const struct hv_path *at)
{
	struct hv_instance *in = at->instance;

	l->worst = hv_wakeups_worst(in);
	l->start_ns = hv_wakeups_start_ns(in);
	hv_listing_begin(l, at, hv_instance_buffers(in)->snapshot);
}

void hv_listing_deinit(struct hv_listing *l)
{
	hv_section_unref(l->worst);
	hv_lines_deinit(&l->lines);
	free(l->started);
}

/* Adds the functions that are not traced because they are too expensive. */
static void add_aside(struct hv_text *out, const struct hv_instances *all)
{
	HV_AUTO_TEXT struct hv_text names = {0};

	hv_budget_names(all, &names);
	if (names.data)
		hv_text_printf(out, "# not traced, to limit the overhead: %s\n", names.data);
}

/* Excludes events before the worst wait (get_total_entries_cpu). */
static void count_worst(const struct hv_listing *l, struct hv_header *ret)
{
	const struct hv_reader *r = &l->lines.reader;
	struct hv_cursor *c = hv_cursor_new(r->buffer, r->cpu, HV_CURSOR_DUMP);
	struct hv_event event;

	ret->section = l->worst;
	ret->entries = 0;
	while (hv_cursor_next(c, &event) == HV_NEXT_EVENT)
		ret->entries += event.time_ns >= l->start_ns;
	ret->written = ret->entries;
	hv_cursor_free(c);
}

static void add_header(struct hv_listing *l, struct hv_text *out, const struct hv_style *style)
{
	const struct hv_reader *r = &l->lines.reader;
	const struct hv_tracer_ops *tracer = hv_instance_tracer(r->instance);
	struct hv_session_stat stat;
	struct hv_buffer_stat buffer;
	struct hv_header header;

	hv_session_stat(hv_instance_session(r->instance), &stat);
	hv_buffer_stat(r->buffer, r->cpu, NULL, &buffer);
	header = (struct hv_header){
		.tracer = tracer->name,
		.entries = buffer.entries,
		.written = buffer.entries + buffer.overrun,
		.nr_cpus = stat.nr_cpus,
	};
	if (l->worst)
		count_worst(l, &header);
	if (tracer->is_graph) {
		hv_graph_header(out, style, &header);
	} else {
		l->has_overrun = buffer.overrun > 0;
		hv_format_header(out, style, &header);
	}
	add_aside(out, hv_instance_all(r->instance));
}

/* Marks that CPU has a line. Returns whether it had one before. */
static bool note_started(struct hv_listing *l, unsigned cpu)
{
	bool was;

	if (cpu >= l->nr_started) {
		l->started = hv_realloc_array(l->started, cpu + 1, 1);
		while (l->nr_started <= cpu)
			l->started[l->nr_started++] = 0;
	}
	was = l->started[cpu];
	l->started[cpu] = 1;
	return was;
}

/* Adds the lines before E. If events were overwritten, a line announces the first event of each
 * vCPU, except that of the first vCPU shown (test_cpu_buff_start). For a later loss a line reports
 * lost events but, like the kernel's iterator, not their number. */
static void add_gap(struct hv_listing *l, struct hv_text *out, const struct hv_style *style,
		    const struct hv_event *e)
{
	bool started = note_started(l, e->cpu);

	if (started && e->lost_before)
		hv_format_lost(out, e->cpu, 0);
	if (!started && l->has_overrun && l->lines.nr &&
	    hv_options_on(style->options, HV_OPT_ANNOTATE))
		hv_format_started(out, e->cpu);
}

void hv_listing_fill(struct hv_listing *l, struct hv_file *f)
{
	struct hv_style style = hv_lines_style(&l->lines);
	struct hv_event e;

	if (l->worst)
		l->lines.latency.start_ns = l->start_ns;
	if (!f->nr_fills)
		add_header(l, &f->text, &style);
	while (f->text.len_bytes < TEXT_LEN_BYTES && hv_lines_take(&l->lines, &e)) {
		if (e.time_ns < l->start_ns)
			continue;
		add_gap(l, &f->text, &style, &e);
		hv_lines_add(&l->lines, &f->text, &style, &e);
	}
}

/* -- the kept section -------------------------------------------------------------------------- */

/* Truncating drops the section; its length still counts (tracing_open). */
void hv_section_listing_begin(struct hv_section_listing *l, struct hv_file *f)
{
	struct hv_instance *in = f->at.instance;

	if (hv_file_truncates(f))
		hv_sections_begin_at(in, hv_sections_longest_ns(in));
	l->section = hv_section_tracer_kept(hv_instance_session(in)->sections);
	if (!l->section || f->at.cpu < 0 || l->section->cpu == (unsigned)f->at.cpu)
		return;
	hv_section_unref(l->section);
	l->section = NULL;
}

void hv_section_listing_deinit(struct hv_section_listing *l)
{
	hv_section_unref(l->section);
	hv_graph_free(l->graph);
	hv_symbol_texts_free(l->symbols);
}

/* Makes the event of line NR. Returns false after the last line. */
static bool event_at(const struct hv_section *s, size_t nr, struct hv_event *ret)
{
	if (nr == 0) {
		*ret = s->from;
	} else if (nr <= s->nr_calls) {
		*ret = s->calls[nr - 1];
	} else if (nr == s->nr_calls + 1) {
		*ret = s->to;
	} else if (nr == s->nr_calls + 2 && s->nr_callers) {
		*ret = s->to;
		ret->kind = HV_EVENT_STACK;
		ret->callers = s->callers;
		ret->nr_callers = s->nr_callers;
		ret->callers_end_early = s->callers_end_early;
	} else {
		return false;
	}
	return true;
}

static bool shows_graph(const struct hv_instance *in)
{
	return hv_options_on(hv_instance_options(in), HV_OPT_DISPLAY_GRAPH);
}

static void add_section_header(const struct hv_section *s, const struct hv_style *style,
			       struct hv_file *f)
{
	const struct hv_instance *in = f->at.instance;
	const uint64_t nr = 2 + s->nr_calls + (s->nr_callers != 0);
	const struct hv_header header = {
		.tracer = hv_instance_tracer(in)->name,
		.entries = nr,
		.written = nr + s->nr_lost,
		.nr_cpus = hv_instances_nr_cpus(hv_instance_all(in)),
		.section = s,
	};

	if (shows_graph(in))
		hv_graph_header(&f->text, style, &header);
	else
		hv_format_header(&f->text, style, &header);
}

/* Adds the line of EVENT, line NR. The stack, and calls recorded before the option was set, have
 * their own lines. Returns whether the next line was added too. */
static bool add_to_graph(struct hv_section_listing *l, size_t nr, const struct hv_event *event,
			 const struct hv_style *style, struct hv_text *out)
{
	const struct hv_section *s = l->section;
	bool is_end = nr == 0 || nr == s->nr_calls + 1;
	bool is_last = nr >= s->nr_calls;

	if (event->kind == HV_EVENT_GRAPH_ENTRY || event->kind == HV_EVENT_GRAPH_EXIT)
		return hv_graph_event(l->graph, out, style, event, is_last ? NULL : &s->calls[nr]);
	if (is_end)
		hv_section_graph_end(l->graph, out, style, event);
	else
		hv_format_event(out, style, event);
	return false;
}

/* Adds line NR. Calls can be lost only before the first recorded call, so a line about lost calls
 * precedes line 1. Returns like add_to_graph(). */
static bool add_section_line(struct hv_section_listing *l, size_t nr, const struct hv_style *style,
			     struct hv_text *out)
{
	struct hv_event event;

	if (nr == 1 && l->section->nr_lost)
		hv_format_lost(out, l->section->cpu, 0);
	if (!event_at(l->section, nr, &event))
		return false;
	if (l->graph)
		return add_to_graph(l, nr, &event, style, out);
	hv_format_event(out, style, &event);
	return false;
}

static void add_section_lines(struct hv_section_listing *l, struct hv_style *style,
			      struct hv_file *f)
{
	const struct hv_section *s = l->section;
	struct hv_latency latency = {.start_ns = s->from.time_ns};
	struct hv_event next;

	style->latency = hv_options_on(style->options, HV_OPT_LATENCY_FORMAT) ? &latency : NULL;
	if (!f->nr_fills)
		add_section_header(s, style, f);
	for (; f->text.len_bytes < TEXT_LEN_BYTES && event_at(s, l->next, &next); l->next++) {
		latency.index = l->next;
		latency.next_ns = event_at(s, l->next + 1, &next) ? next.time_ns : 0;
		l->next += add_section_line(l, l->next, style, &f->text);
	}
}

void hv_section_listing_fill(struct hv_section_listing *l, struct hv_file *f)
{
	const struct hv_instance *in = f->at.instance;
	const struct hv_options graph_options = hv_section_graph_options(hv_instance_options(in));
	struct hv_style style = {.kernel = hv_instance_session(in)->kernel,
				 .options = hv_instance_options(in)};

	if (!l->section) {
		if (!f->nr_fills)
			hv_text_printf(&f->text, "# tracer: %s\n#\n", hv_instance_tracer(in)->name);
		return;
	}
	if (!l->symbols)
		l->symbols = hv_symbol_texts_new();
	hv_symbol_texts_of(l->symbols, style.kernel->symbols_version);
	style.symbols = l->symbols;
	style.section = l->section;
	if (shows_graph(in)) {
		style.options = &graph_options;
		style.graph_start_ns = l->section->from.time_ns;
		if (!l->graph)
			l->graph = hv_graph_new(style.kernel,
						hv_instances_nr_cpus(hv_instance_all(in)));
	}
	add_section_lines(l, &style, f);
}
