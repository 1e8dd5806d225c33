/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace, of all vCPUs and of each vCPU: the contents of the buffer. */
#include "tree/files/files.h"
#include "tree/files/listing.h"
#include "tracer/section_tracer.h"
#include "tree/format/format.h"
#include "tree/format/latency.h"
#include "tree/instance/recording.h"
#include "tree/instance/sections.h"
#include "tree/instance/share.h"

struct trace {
	struct hv_listing listing;
	/* Of a tracer that measures sections: */
	bool of_sections;
	bool has_section;
	struct hv_section section;
	unsigned pauses; /* recording is paused while the file is open */
};

/* What is shown is the section that is kept, not the buffer. A vCPU's own file shows it if it is of
 * that vCPU. Truncating forgets the section; its length still counts (tracing_open). */
static void open_section(struct hv_file *f)
{
	struct hv_instances *all = f->at.instance->all;
	struct hv_section_tracer *tracer = all->session->sections;
	struct trace *t = f->state;

	if (hv_file_truncates(f))
		hv_section_tracer_begin_at(tracer, hv_section_tracer_longest_ns(tracer),
					   all->thresh_ns);
	t->of_sections = true;
	t->has_section = hv_section_tracer_kept(tracer, &t->section);
	if (f->at.cpu >= 0 && t->section.cpu != (unsigned)f->at.cpu)
		t->has_section = false;
}

static struct hv_err *open_trace(struct hv_file *f)
{
	struct hv_instance *in = f->at.instance;
	struct trace *t = f->state;

	if (hv_sections_are_on(in)) {
		open_section(f);
		return NULL;
	}
	if (hv_file_truncates(f))
		hv_instance_clear(in, f->at.cpu);
	if (!hv_file_reads(f))
		return NULL;
	if (hv_options_on(&in->options, HV_OPT_PAUSE_ON_TRACE)) {
		t->pauses = 1;
		hv_instance_pause(in);
	}
	t->listing.lines.is_latency = hv_options_on(&in->options, HV_OPT_LATENCY_FORMAT);
	hv_listing_begin(&t->listing, &f->at, hv_instance_buffer(in));
	return NULL;
}

static void add_section(struct hv_text *out, const struct hv_instance *in,
			const struct hv_section *section)
{
	struct hv_latency latency = {.start_ns = section->from.time_ns,
				     .next_ns = section->to.time_ns};
	const struct hv_style style = {
		.kernel = in->all->session->kernel, .options = &in->options, .latency = &latency};
	struct hv_header header = {.tracer = hv_tracer_name(in->selection.tracer),
				   .entries = 2,
				   .written = 2,
				   .nr_cpus = in->all->nr_cpus,
				   .section = section};

	hv_format_header(out, &style, &header);
	hv_format_event(out, &style, &section->from);
	latency.next_ns = 0;
	latency.index = 1;
	hv_format_event(out, &style, &section->to);
}

static void fill_section(struct hv_file *f)
{
	const struct trace *t = f->state;

	if (f->nr_fills)
		return;
	if (t->has_section)
		add_section(&f->text, f->at.instance, &t->section);
	else
		hv_text_printf(&f->text, "# tracer: %s\n#\n",
			       hv_tracer_name(f->at.instance->selection.tracer));
}

static struct hv_err *fill_trace(struct hv_file *f)
{
	struct trace *t = f->state;

	if (t->of_sections)
		fill_section(f);
	else
		hv_listing_fill(&t->listing, f);
	return NULL;
}

static struct hv_err *close_trace(struct hv_file *f)
{
	const struct trace *t = f->state;

	if (t->pauses)
		hv_instance_go_on(f->at.instance);
	return NULL;
}

static void release_trace(struct hv_file *f)
{
	struct trace *t = f->state;

	hv_listing_deinit(&t->listing);
}

const struct hv_node hv_trace_node = {
	.help = "the contents of the buffer; truncating the file clears the buffer",
	.state_bytes = sizeof(struct trace),
	.open = open_trace,
	.fill = fill_trace,
	.write = hv_file_take_anything,
	.close = close_trace,
	.release = release_trace,
};
