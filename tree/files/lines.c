/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/files/lines.h"

#include "kernel/kernel.h"
#include "tree/format/format.h"
#include "tree/format/line_texts.h"
#include "tree/format/section_graph.h"
#include "tree/format/symbol_texts.h"

/* Returns whether calls in sections, and section ends, are shown as a graph. */
static bool shows_sections(const struct hv_instance *in)
{
	return in->selection.tracer->measures == HV_MEASURES_SECTIONS &&
	       hv_options_on(&in->options, HV_OPT_DISPLAY_GRAPH);
}

void hv_lines_deinit(struct hv_lines *l)
{
	hv_reader_deinit(&l->reader);
	hv_graph_free(l->graph);
	hv_symbol_texts_free(l->symbols);
	hv_line_texts_free(l->line_texts);
}

struct hv_style hv_lines_style(struct hv_lines *l)
{
	const struct hv_instance *in = l->reader.instance;

	l->latency.start_ns = in->buffers.start_ns;
	if (!l->symbols) {
		l->symbols = hv_symbol_texts_new();
		l->line_texts = hv_line_texts_new();
	}
	hv_symbol_texts_of(l->symbols, in->all->session->kernel->symbols_version);
	if (shows_sections(in)) {
		l->options = hv_section_graph_options(&in->options);
		/* Show interrupts: one that began in the section may end after it. */
		hv_options_set(&l->options, HV_OPT_FUNCGRAPH_IRQS, 1);
	}
	hv_line_texts_of(l->line_texts, shows_sections(in) ? l->options.bits : in->options.bits);
	return (struct hv_style){
		.kernel = in->all->session->kernel,
		.clock = hv_buffers_clock_kind(&in->buffers),
		.options = shows_sections(in) ? &l->options : &in->options,
		.graph_start_ns = shows_sections(in) ? in->buffers.start_ns : 0,
		.latency = l->is_latency ? &l->latency : NULL,
		.symbols = l->symbols,
		.line_texts = l->line_texts,
		.names = in->all->session->names,
		.events = in->all->event_texts,
	};
}

/* A graph does not show the time until the next event, and add_call() reads ahead itself. */
bool hv_lines_take(struct hv_lines *l, struct hv_event *ret)
{
	struct hv_reader *r = &l->reader;
	bool is_graph = r->instance->selection.tracer->is_graph || shows_sections(r->instance);
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
	bool is_graph = in->selection.tracer->is_graph || shows_sections(in);
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
		hv_session_stat(in->all->session, &stat);
		l->graph = hv_graph_new(style->kernel, stat.nr_cpus);
	}
	if (is_end)
		hv_section_graph_end(l->graph, out, style, e);
	else if (is_call)
		add_call(l, out, style, e);
	else
		add_comment(l, out, style, e);
}
