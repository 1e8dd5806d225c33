/* trace, of all vCPUs and of each: what the buffer holds. */
#include "tree/files/files.h"
#include "tree/files/listing.h"
#include "tree/instance/recording.h"
#include "tree/instance/share.h"

struct trace {
	struct hv_listing listing;
	unsigned pauses; /* nothing is recorded while it is open */
};

static struct hv_err *open_trace(struct hv_file *f)
{
	struct hv_instance *in = f->at.instance;
	struct trace *t = f->state;

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

static struct hv_err *fill_trace(struct hv_file *f)
{
	struct trace *t = f->state;

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
	.help = "what the buffer holds; truncating the file clears the buffer",
	.state_bytes = sizeof(struct trace),
	.open = open_trace,
	.fill = fill_trace,
	.write = hv_file_take_anything,
	.close = close_trace,
	.release = release_trace,
};
