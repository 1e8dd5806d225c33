#include "tree/files/reader.h"

#include "tree/instance/share.h"

static void use(struct hv_reader *r, struct hv_buffer *buffer, enum hv_cursor_mode mode)
{
	hv_cursor_free(r->cursor);
	r->cursor = hv_cursor_new(buffer, r->cpu, mode);
	r->buffer = buffer;
}

void hv_reader_begin(struct hv_reader *r, const struct hv_place *at, struct hv_buffer *buffer,
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

/* The percentage is of one vCPU, and means nothing for all, as in the kernel (trace_poll,
 * ring_buffer_poll_wait). */
struct hv_err *hv_reader_ready(struct hv_reader *r, bool *ret_always)
{
	const struct hv_instance *in = r->instance;

	*ret_always = hv_options_on(&in->options, HV_OPT_BLOCK);
	if (*ret_always || r->cpu < 0)
		return NULL;
	hv_reader_follow(r);
	if (r->has_held || hv_buffer_percent(r->buffer, (unsigned)r->cpu) >= in->fill_percent)
		return NULL;
	return hv_err_new(EAGAIN, "not yet %u percent full", in->fill_percent);
}
