/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/files/section_listing.h"

#include "kernel/kernel.h"
#include "tracer/section_tracer.h"
#include "tree/format/format.h"
#include "tree/format/latency.h"
#include "tree/format/section_graph.h"
#include "tree/format/symbol_texts.h"
#include "tree/instance/latency/sections.h"

#define TEXT_LEN_BYTES 65536 /* size of a chunk of text */

/* Truncating drops the section; its length still counts (tracing_open). */
void hv_section_listing_begin(struct hv_section_listing *l, struct hv_file *f)
{
	struct hv_instance *in = f->at.instance;

	if (hv_file_truncates(f))
		hv_sections_begin_at(in, hv_sections_longest_ns(in));
	l->section = hv_section_tracer_kept(in->all->session->sections);
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
	return hv_options_on(&in->options, HV_OPT_DISPLAY_GRAPH);
}

static void add_header(const struct hv_section *s, const struct hv_style *style, struct hv_file *f)
{
	const struct hv_instance *in = f->at.instance;
	const uint64_t nr = 2 + s->nr_calls + (s->nr_callers != 0);
	const struct hv_header header = {
		.tracer = in->selection.tracer->name,
		.entries = nr,
		.written = nr + s->nr_lost,
		.nr_cpus = in->all->nr_cpus,
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

/* Adds line NR. Lost calls were made before the first known call. Returns as add_to_graph()
 * does. */
static bool add_line(struct hv_section_listing *l, size_t nr, const struct hv_style *style,
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

static void add_lines(struct hv_section_listing *l, struct hv_style *style, struct hv_file *f)
{
	const struct hv_section *s = l->section;
	struct hv_latency latency = {.start_ns = s->from.time_ns};
	struct hv_event next;

	style->latency = hv_options_on(style->options, HV_OPT_LATENCY_FORMAT) ? &latency : NULL;
	if (!f->nr_fills)
		add_header(s, style, f);
	for (; f->text.len_bytes < TEXT_LEN_BYTES && event_at(s, l->next, &next); l->next++) {
		latency.index = l->next;
		latency.next_ns = event_at(s, l->next + 1, &next) ? next.time_ns : 0;
		l->next += add_line(l, l->next, style, &f->text);
	}
}

void hv_section_listing_fill(struct hv_section_listing *l, struct hv_file *f)
{
	const struct hv_instance *in = f->at.instance;
	const struct hv_options graph_options = hv_section_graph_options(&in->options);
	struct hv_style style = {.kernel = in->all->session->kernel, .options = &in->options};

	if (!l->section) {
		if (!f->nr_fills)
			hv_text_printf(&f->text, "# tracer: %s\n#\n", in->selection.tracer->name);
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
			l->graph = hv_graph_new(style.kernel, in->all->nr_cpus);
	}
	add_lines(l, &style, f);
}
