/* The sizes of a buffer: buffer_size_kb, buffer_total_size_kb, buffer_subbuf_size_kb, and
 * free_buffer, which makes it as small as it can be. */
#include <inttypes.h>

#include "tree/files/files.h"
#include "tree/instance/recording.h"
#include "tree/instance/share.h"
#include "tree/settings/token.h"

#define SUBBUF_KB  4	/* HV_RAW_PAGE_LEN */
#define PAGE_BYTES 4080 /* of it, for events */
#define PAGES_MIN  2

static bool sizes_differ(const struct hv_buffers *b)
{
	for (unsigned cpu = 1; cpu < b->nr_cpus; cpu++)
		if (hv_buffers_size(b, cpu) != hv_buffers_size(b, 0))
			return true;
	return false;
}

/* tracing_entries_read */
static void show_size(struct hv_file *f)
{
	const struct hv_buffers *b = &f->at.instance->buffers;
	unsigned cpu = f->at.cpu < 0 ? 0 : (unsigned)f->at.cpu;

	if (f->at.cpu < 0 && sizes_differ(b))
		hv_text_add(&f->text, "X\n");
	else
		hv_text_printf(&f->text, "%" PRIu64 "\n", hv_buffers_size(b, cpu) / 1024);
}

/* tracing_total_entries_read: each is told in whole KiB. */
static void show_total(struct hv_file *f)
{
	const struct hv_buffers *b = &f->at.instance->buffers;
	uint64_t kb = 0;

	for (unsigned cpu = 0; cpu < b->nr_cpus; cpu++)
		kb += hv_buffers_size(b, cpu) / 1024;
	hv_text_printf(&f->text, "%" PRIu64 "\n", kb);
}

/* Whether a vCPU has a buffer of that size now, or a ring in the guest. */
static bool is_a_size(const struct hv_buffers *b, uint64_t bytes)
{
	const struct hv_buffer *guests = b->session->buffer;

	for (unsigned cpu = 0; cpu < b->nr_cpus; cpu++)
		if (bytes == hv_buffers_size(b, cpu) || bytes == hv_buffer_size(guests, cpu))
			return true;
	return false;
}

/* A size is rounded up to whole pages of the kernel's, two at least, unless a buffer has it
 * already. */
static struct hv_err *resize(struct hv_instance *in, int cpu, uint64_t kb)
{
	uint64_t bytes = kb * 1024, pages;

	if (!kb)
		return hv_err_new(EINVAL, "0 is no size");
	if (kb > UINT64_MAX / 4 / 1024)
		return hv_err_new(ENOMEM, "no memory for %" PRIu64 " KiB", kb);
	if (is_a_size(&in->buffers, bytes))
		return hv_instance_resize(in, cpu, bytes);
	pages = (bytes + PAGE_BYTES - 1) / PAGE_BYTES;
	return hv_instance_resize(in, cpu, (pages < PAGES_MIN ? PAGES_MIN : pages) * PAGE_BYTES);
}

static struct hv_err *write_size(struct hv_file *f, const char *buf, size_t len_bytes,
				 size_t *ret_len)
{
	uint64_t kb;
	struct hv_err *err = hv_number_written(buf, len_bytes, &kb);

	if (!err)
		err = resize(f->at.instance, f->at.cpu, kb);
	if (!err)
		*ret_len = len_bytes;
	return err;
}

static void show_subbuf(struct hv_file *f)
{
	hv_text_printf(&f->text, "%d\n", SUBBUF_KB);
}

/* There is one size. All that the kernel would round up to it is taken. */
static struct hv_err *write_subbuf(struct hv_file *f hv_unused, const char *buf, size_t len_bytes,
				   size_t *ret_len)
{
	uint64_t kb;
	struct hv_err *err = hv_number_written(buf, len_bytes, &kb);

	if (err)
		return err;
	if (!kb || kb > SUBBUF_KB)
		return hv_err_new(EINVAL, "pages have %d KiB", SUBBUF_KB);
	*ret_len = len_bytes;
	return NULL;
}

/* tracing_free_buffer_release */
static struct hv_err *close_free_buffer(struct hv_file *f)
{
	struct hv_instance *in = f->at.instance;

	if (f->at.tree->ending)
		return NULL;
	if (hv_options_on(&in->options, HV_OPT_DISABLE_ON_FREE))
		hv_instance_set_recording(in, 0);
	return hv_instance_resize(in, HV_ALL_CPUS, PAGES_MIN * PAGE_BYTES);
}

const struct hv_node hv_size_node = {
	.help = "size of each vCPU's buffer in KiB, rounded up to whole pages; X: the sizes differ",
	.show = show_size,
	.write = write_size,
};

const struct hv_node hv_total_size_node = {
	.help = "size of all vCPUs' buffers together, in KiB",
	.show = show_total,
};

const struct hv_node hv_subbuf_size_node = {
	.help = "size of a page of trace_pipe_raw in KiB: always 4",
	.show = show_subbuf,
	.write = write_subbuf,
};

const struct hv_node hv_free_buffer_node = {
	.help = "closing this file makes the buffer as small as it can be",
	.mode = 0200,
	.write = hv_file_take_anything,
	.close = close_free_buffer,
};
