/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace, of all vCPUs and of each vCPU: the contents of the buffer. */
#include "tree/files/files.h"
#include "tree/files/listing.h"
#include "tree/files/section_listing.h"
#include "tree/instance/core/recording.h"
#include "tree/instance/core/sharing.h"
#include "tree/instance/latency/sections.h"
#include "tree/instance/latency/wakeups.h"

struct trace {
	struct hv_listing listing;
	/* For section tracers, the file shows the kept section: */
	bool of_sections;
	struct hv_section_listing section;
	unsigned pauses; /* recording is paused while the file is open */
};

static void empty(struct hv_file *f)
{
	struct hv_instance *in = f->at.instance;

	if (hv_wakeups_are_on(in))
		hv_wakeups_forget_worst(in);
	else
		hv_instance_clear(in, f->at.cpu);
}

static struct hv_err *open_trace(struct hv_file *f)
{
	struct hv_instance *in = f->at.instance;
	struct trace *t = f->state;

	if (hv_sections_are_on(in)) {
		t->of_sections = true;
		hv_section_listing_begin(&t->section, f);
		return NULL;
	}
	if (hv_file_truncates(f))
		empty(f);
	if (!hv_file_reads(f))
		return NULL;
	if (hv_options_on(&in->options, HV_OPT_PAUSE_ON_TRACE)) {
		t->pauses = 1;
		hv_instance_pause(in);
	}
	t->listing.lines.is_latency = hv_options_on(&in->options, HV_OPT_LATENCY_FORMAT);
	if (hv_wakeups_are_on(in))
		hv_listing_begin_worst(&t->listing, &f->at);
	else
		hv_listing_begin(&t->listing, &f->at, hv_instance_buffer(in));
	return NULL;
}

static struct hv_err *fill_trace(struct hv_file *f)
{
	struct trace *t = f->state;

	if (t->of_sections)
		hv_section_listing_fill(&t->section, f);
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
	hv_section_listing_deinit(&t->section);
}

const struct hv_node hv_trace_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING,
	.help = "the contents of the buffer; truncating the file clears the buffer",
	.state_bytes = sizeof(struct trace),
	.open = open_trace,
	.fill = fill_trace,
	.write = hv_file_take_anything,
	.close = close_trace,
	.release = release_trace,
};
