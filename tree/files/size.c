/* The files of a buffer's size, and its snapshot. */
#include <inttypes.h>

#include "tree/node.h"

#define SUBBUF_KB  4	/* HV_RAW_PAGE_LEN */
#define PAGE_BYTES 4080 /* of it, for events */
#define PAGES_MIN  2

static bool sizes_differ(const struct hv_instance *in)
{
	for (unsigned cpu = 1; cpu < in->all->nr_cpus; cpu++)
		if (hv_buffers_size(&in->buffers, cpu) != hv_buffers_size(&in->buffers, 0))
			return true;
	return false;
}

/* tracing_entries_read */
void hv_size_show(struct hv_file *f)
{
	unsigned cpu = f->cpu < 0 ? 0 : (unsigned)f->cpu;

	if (f->cpu < 0 && sizes_differ(f->instance))
		hv_text_add(&f->text, "X\n");
	else
		hv_text_printf(&f->text, "%" PRIu64 "\n",
			       hv_buffers_size(&f->instance->buffers, cpu) / 1024);
}

/* tracing_total_entries_read: each is told in whole KiB. */
void hv_total_size_show(struct hv_file *f)
{
	uint64_t kb = 0;

	for (unsigned cpu = 0; cpu < f->tree->instances.nr_cpus; cpu++)
		kb += hv_buffers_size(&f->instance->buffers, cpu) / 1024;
	hv_text_printf(&f->text, "%" PRIu64 "\n", kb);
}

/* Whether a vCPU has it, in this buffer or in the guest's rings. */
static bool is_a_size(const struct hv_instance *in, uint64_t bytes)
{
	const struct hv_buffer *guests = hv_session_buffer(in->all->session);

	for (unsigned cpu = 0; cpu < in->all->nr_cpus; cpu++)
		if (bytes == hv_buffers_size(&in->buffers, cpu) ||
		    bytes == hv_buffer_size(guests, cpu))
			return true;
	return false;
}

/* Rounded up to the kernel's pages, two at least; but what is one already is that one. */
static struct hv_err *resize(struct hv_file *f, uint64_t kb)
{
	uint64_t bytes = kb * 1024, pages;

	if (!kb)
		return hv_err_new(EINVAL, "0 is no size");
	if (kb > UINT64_MAX / 4 / 1024)
		return hv_err_new(ENOMEM, "no memory for %" PRIu64 " KiB", kb);
	if (is_a_size(f->instance, bytes))
		return hv_instance_resize(f->instance, f->cpu, bytes);
	pages = (bytes + PAGE_BYTES - 1) / PAGE_BYTES;
	return hv_instance_resize(f->instance, f->cpu,
				  (pages < PAGES_MIN ? PAGES_MIN : pages) * PAGE_BYTES);
}

struct hv_err *hv_size_write(struct hv_file *f, const char *buf, size_t len_bytes, size_t *ret_len)
{
	struct hv_err *err;
	uint64_t kb;

	err = hv_number_written(buf, len_bytes, &kb);
	if (!err)
		err = resize(f, kb);
	if (!err)
		*ret_len = len_bytes;
	return err;
}

void hv_percent_show(struct hv_file *f)
{
	hv_text_printf(&f->text, "%u\n", f->instance->fill_percent);
}

struct hv_err *hv_percent_write(struct hv_file *f, const char *buf, size_t len_bytes,
				size_t *ret_len)
{
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);

	if (!err && value > 100)
		err = hv_err_new(EINVAL, "%" PRIu64 " of a hundred", value);
	if (err)
		return err;
	f->instance->fill_percent = (unsigned)value;
	*ret_len = len_bytes;
	return NULL;
}

void hv_subbuf_show(struct hv_file *f)
{
	hv_text_printf(&f->text, "%d\n", SUBBUF_KB);
}

/* The one size there is: what is rounded up to it is taken. */
struct hv_err *hv_subbuf_write(struct hv_file *f hv_unused, const char *buf, size_t len_bytes,
			       size_t *ret_len)
{
	struct hv_err *err;
	uint64_t kb;

	err = hv_number_written(buf, len_bytes, &kb);
	if (err)
		return err;
	if (!kb || kb > SUBBUF_KB)
		return hv_err_new(EINVAL, "pages have %d KiB", SUBBUF_KB);
	*ret_len = len_bytes;
	return NULL;
}

/* tracing_free_buffer_release */
struct hv_err *hv_free_buffer_close(struct hv_file *f)
{
	struct hv_instance *in = f->instance;

	if (f->tree->ending)
		return NULL;
	if (hv_options_on(&in->options, HV_OPT_DISABLE_ON_FREE))
		hv_instance_set_recording(in, 0);
	return hv_instance_resize(in, HV_ALL_CPUS, PAGES_MIN * PAGE_BYTES);
}

/* -- the snapshot -------------------------------------------------------------------------- */

struct hv_err *hv_snapshot_open(struct hv_file *f)
{
	/* A command may have asked for one. */
	hv_instances_drain(&f->tree->instances);
	if (hv_file_reads(f) && f->instance->buffers.snapshot)
		hv_file_read_buffer(f, f->instance->buffers.snapshot, HV_CURSOR_DUMP);
	return NULL;
}

/* print_snapshot_help */
static void add_help(struct hv_file *f)
{
	hv_text_printf(&f->text, "# tracer: %s\n#\n#\n# * Snapshot is %s *\n#\n",
		       hv_tracer_name(f->instance->selection.tracer),
		       f->instance->buffers.snapshot ? "allocated" : "freed");
	hv_text_add(&f->text, "# Snapshot commands:\n");
	if (f->cpu < 0)
		hv_text_add(&f->text, "# echo 0 > snapshot : Clears and frees snapshot buffer\n");
	hv_text_printf(
		&f->text,
		"# echo 1 > snapshot : Allocates snapshot buffer, if not already allocated.\n"
		"#                      Takes a snapshot of the main buffer%s.\n"
		"# echo 2 > snapshot : Clears %ssnapshot buffer (but does not allocate%s)\n"
		"#                      (Doesn't have to be '2' works with any number that\n"
		"#                       is not a '0' or '1')\n",
		f->cpu < 0 ? "" : " for this cpu", f->cpu < 0 ? "" : "this cpu's ",
		f->cpu < 0 ? " or free" : "");
}

struct hv_err *hv_snapshot_fill(struct hv_file *f)
{
	struct hv_buffer_stat stat = {0};

	if (!f->nr_fills && f->cursor)
		hv_buffer_stat(f->buffer, f->cpu, NULL, &stat);
	if (!f->nr_fills && !stat.entries) {
		add_help(f);
		return NULL;
	}
	return f->cursor ? hv_trace_fill(f) : NULL;
}

struct hv_err *hv_snapshot_write(struct hv_file *f, const char *buf, size_t len_bytes,
				 size_t *ret_len)
{
	struct hv_err *err;
	uint64_t value;

	err = hv_number_written(buf, len_bytes, &value);
	if (err)
		return err;
	if (value == 0 && f->cpu >= 0)
		return hv_err_new(EINVAL, "only the whole snapshot can be freed");
	if (value == 0)
		hv_buffers_free_snapshot(&f->instance->buffers);
	else if (value == 1)
		err = hv_instance_take_snapshot(f->instance, f->cpu);
	else if (f->instance->buffers.snapshot)
		hv_buffer_clear(f->instance->buffers.snapshot, f->cpu);
	if (!err)
		*ret_len = len_bytes;
	return err;
}
