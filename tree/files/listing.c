/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/files/listing.h"

#include "tracer/events/buffer.h"
#include "tracer/section.h"
#include "tree/format/format.h"
#include "tree/instance/budget.h"
#include "tree/instance/latency/wakeups.h"

#define TEXT_LEN_BYTES 65536 /* size of a chunk of text */

void hv_listing_begin(struct hv_listing *l, const struct hv_place *at, struct hv_buffer *buffer)
{
	hv_buffer_note_names(buffer);
	hv_reader_begin(&l->lines.reader, at, buffer, HV_CURSOR_DUMP);
}

void hv_listing_begin_worst(struct hv_listing *l, const struct hv_place *at)
{
	struct hv_instance *in = at->instance;

	l->worst = hv_wakeups_worst(in);
	l->start_ns = hv_wakeups_start_ns(in);
	hv_listing_begin(l, at, in->buffers.snapshot);
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
	const struct hv_tracer_ops *tracer = r->instance->selection.tracer;
	struct hv_session_stat stat;
	struct hv_buffer_stat buffer;
	struct hv_header header;

	hv_session_stat(r->instance->all->session, &stat);
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
	add_aside(out, r->instance->all);
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
