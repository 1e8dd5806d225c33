/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/files/reader.h"

#include "tree/instance/core/recording.h"
#include "tree/instance/core/sharing.h"

#define KERNEL_SIZE_BYTES (1408 << 10) /* default buffer_size_kb of the kernel */

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
