/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Buffer sizes: buffer_size_kb, buffer_total_size_kb, buffer_subbuf_size_kb, and free_buffer, which
 * shrinks the buffer to the minimum. */
#include <inttypes.h>

#include "tree/files/files.h"
#include "tree/instance/core/recording.h"
#include "tree/instance/core/sharing.h"
#include "tree/settings/token.h"

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

/* tracing_total_entries_read: each vCPU's size counts in full KiB. */
static void show_total(struct hv_file *f)
{
	const struct hv_buffers *b = &f->at.instance->buffers;
	uint64_t kb = 0;

	for (unsigned cpu = 0; cpu < b->nr_cpus; cpu++)
		kb += hv_buffers_size(b, cpu) / 1024;
	hv_text_printf(&f->text, "%" PRIu64 "\n", kb);
}

/* Returns whether the buffer of any vCPU, or its ring in the guest, has this size. */
static bool is_a_size(const struct hv_buffers *b, uint64_t bytes)
{
	const struct hv_buffer *guests = b->session->buffer;

	for (unsigned cpu = 0; cpu < b->nr_cpus; cpu++)
		if (bytes == hv_buffers_size(b, cpu) || bytes == hv_buffer_size(guests, cpu))
			return true;
	return false;
}

/* Rounds the size up to whole pages of the kernel's buffer, at least two, unless a buffer already
 * has exactly this size. */
static struct hv_err *resize(struct hv_instance *in, int cpu, uint64_t kb)
{
	uint64_t bytes = kb * 1024, data_bytes = hv_buffers_page_data(&in->buffers), pages;

	if (!kb)
		return hv_err_new(EINVAL, "a buffer cannot have 0 KiB");
	if (kb > UINT64_MAX / 4 / 1024)
		return hv_err_new(ENOMEM, "there is no memory for %" PRIu64 " KiB", kb);
	if (is_a_size(&in->buffers, bytes))
		return hv_instance_resize(in, cpu, bytes);
	pages = (bytes + data_bytes - 1) / data_bytes;
	return hv_instance_resize(in, cpu,
				  (pages < HV_PAGES_MIN ? HV_PAGES_MIN : pages) * data_bytes);
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
	hv_text_printf(&f->text, "%u\n", f->at.instance->buffers.page_bytes / 1024);
}

/* Rounds the size up to a power of two times the smallest page (buffer_subbuf_size_write). */
static struct hv_err *write_subbuf(struct hv_file *f, const char *buf, size_t len_bytes,
				   size_t *ret_len)
{
	uint32_t page_bytes = HV_PAGE_BYTES_MIN;
	uint64_t kb;
	struct hv_err *err = hv_number_written(buf, len_bytes, &kb);

	if (err)
		return err;
	if (!kb || kb > HV_PAGE_BYTES_MAX / 1024)
		return hv_err_new(EINVAL, "pages have 1 to %u KiB", HV_PAGE_BYTES_MAX / 1024);
	while (page_bytes < kb * 1024)
		page_bytes *= 2;
	err = hv_instance_use_pages(f->at.instance, page_bytes);
	if (!err)
		*ret_len = len_bytes;
	return err;
}

/* tracing_free_buffer_release */
static struct hv_err *close_free_buffer(struct hv_file *f)
{
	struct hv_instance *in = f->at.instance;

	if (f->at.tree->ending)
		return NULL;
	if (hv_options_on(&in->options, HV_OPT_DISABLE_ON_FREE))
		hv_instance_set_recording(in, 0);
	return hv_instance_resize(in, HV_ALL_CPUS,
				  (uint64_t)HV_PAGES_MIN * hv_buffers_page_data(&in->buffers));
}

const struct hv_node hv_size_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING,
	.help = "size of each vCPU's buffer in KiB, rounded up to whole pages; X: the sizes differ",
	.show = show_size,
	.write = write_size,
};

const struct hv_node hv_total_size_node = {
	.reads = HV_RIGHT_READ,
	.help = "size of the buffers of all vCPUs together, in KiB",
	.show = show_total,
};

const struct hv_node hv_subbuf_size_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING,
	.help = "size of a page of trace_pipe_raw in KiB, rounded up to 4, 8, ... 512; a change\n"
		"empties the buffer and the snapshot. An event is not longer than a page",
	.show = show_subbuf,
	.write = write_subbuf,
};

const struct hv_node hv_free_buffer_node = {
	.writes = HV_NEEDS_SETTING,
	.help = "closing this file makes the buffer as small as possible",
	.mode = 0200,
	.write = hv_file_take_anything,
	.close = close_free_buffer,
};
