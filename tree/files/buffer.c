/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The buffer of an instance: its sizes, buffer_percent, stats, and the clock of its events; whether
 * it records. */
#include <inttypes.h>
#include <string.h>

#include "kernel/kernel.h"
#include "tree/files/files.h"
#include "tree/format/raw_page.h"
#include "tree/instance/core/sharing.h"
#include "tree/instance/functions.h"
#include "tree/instance/latency/wakeups.h"
#include "tree/settings/token.h"

/* -- sizes ------------------------------------------------------------------------------------- */

/* buffer_size_kb, buffer_total_size_kb, buffer_subbuf_size_kb, and free_buffer, which shrinks the
 * buffer to the minimum. */

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
	const struct hv_buffers *b = hv_instance_buffers(f->at.instance);
	unsigned cpu = f->at.cpu < 0 ? 0 : (unsigned)f->at.cpu;

	if (f->at.cpu < 0 && sizes_differ(b))
		hv_text_add(&f->text, "X\n");
	else
		hv_text_printf(&f->text, "%" PRIu64 "\n", hv_buffers_size(b, cpu) / 1024);
}

/* tracing_total_entries_read: each vCPU's size counts in full KiB. */
static void show_total(struct hv_file *f)
{
	const struct hv_buffers *b = hv_instance_buffers(f->at.instance);
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
	uint64_t bytes = kb * 1024, data_bytes = hv_buffers_page_data(hv_instance_buffers(in)),
		 pages;

	if (!kb)
		return hv_err_new(EINVAL, "a buffer cannot have 0 KiB");
	if (kb > UINT64_MAX / 4 / 1024)
		return hv_err_new(ENOMEM, "there is no memory for %" PRIu64 " KiB", kb);
	if (is_a_size(hv_instance_buffers(in), bytes))
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
	hv_text_printf(&f->text, "%u\n", hv_instance_buffers(f->at.instance)->page_bytes / 1024);
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
	if (hv_options_on(hv_instance_options(in), HV_OPT_DISABLE_ON_FREE))
		hv_instance_set_recording(in, HV_OFF);
	return hv_instance_resize(in, HV_ALL_CPUS,
				  (uint64_t)HV_PAGES_MIN *
					  hv_buffers_page_data(hv_instance_buffers(in)));
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

/* -- buffer_percent ---------------------------------------------------------------------------- */

/* buffer_percent: how full a vCPU's buffer must be before poll(2) reports its trace_pipe as
 * readable. */

static void show_percent(struct hv_file *f)
{
	hv_text_printf(&f->text, "%u\n", hv_instance_buffers(f->at.instance)->fill_percent);
}

static struct hv_err *write_percent(struct hv_file *f, const char *buf, size_t len_bytes,
				    size_t *ret_len)
{
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);

	if (!err && value > 100)
		err = hv_err_new(EINVAL, "%" PRIu64 " is more than 100 percent", value);
	if (err)
		return err;
	hv_instance_buffers(f->at.instance)->fill_percent = (unsigned)value;
	*ret_len = len_bytes;
	return NULL;
}

const struct hv_node hv_percent_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING,
	.help = "how many percent of a vCPU's buffer must be full for poll(2) on its trace_pipe",
	.show = show_percent,
	.write = write_percent,
};

/* -- stats ------------------------------------------------------------------------------------- */

/* per_cpu/cpuN/stats: the number of events of a vCPU in the buffer, lost and read. */

static void add_time(struct hv_file *f, const char *label, uint64_t time)
{
	uint64_t usecs = time / 1000 + (time % 1000 >= 500);

	if (hv_buffers_clock_kind(hv_instance_buffers(f->at.instance)) == HV_CLOCK_RAW)
		hv_text_printf(&f->text, "%s: %" PRIu64 "\n", label, time);
	else
		hv_text_printf(&f->text, "%s: %5" PRIu64 ".%06" PRIu64 "\n", label, usecs / 1000000,
			       usecs % 1000000);
}

/* tracing_stats_read. A writer that interrupts another one on the same vCPU never loses a record,
 * so there is no commit overrun. */
static void show_stats(struct hv_file *f)
{
	struct hv_instance *in = f->at.instance;
	struct hv_buffer_stat stat;
	uint64_t now_ns = 0;

	hv_buffer_stat(hv_instance_buffer(in), f->at.cpu, hv_raw_event_len, &stat);
	/* The guest's clock, as the host computes it, may lag slightly. */
	if (!hv_clocks_now_ns(hv_file_session(f)->clocks, hv_instance_buffers(in)->clock,
			      &now_ns) ||
	    now_ns < stat.youngest_ns)
		now_ns = stat.youngest_ns;
	hv_text_printf(&f->text, "entries: %" PRIu64 "\n", stat.entries);
	hv_text_printf(&f->text, "overrun: %" PRIu64 "\n", stat.overrun);
	hv_text_add(&f->text, "commit overrun: 0\n");
	hv_text_printf(&f->text, "bytes: %" PRIu64 "\n", stat.bytes);
	add_time(f, "oldest event ts", stat.oldest_ns);
	add_time(f, "now ts", now_ns);
	hv_text_printf(&f->text, "dropped events: %" PRIu64 "\n", stat.dropped);
	hv_text_printf(&f->text, "read events: %" PRIu64 "\n", stat.read);
}

const struct hv_node hv_stats_node = {
	.reads = HV_RIGHT_READ,
	.help = "how many events are in the buffer, were lost and were read",
	.show = show_stats,
};

/* -- trace_clock and timestamp_mode ------------------------------------------------------------ */

/* The clock of the events' times, and how pages store them. */

#define CLOCK_NAME_MAX 64

static const char *const names[] = {
	[HV_TRACE_CLOCK_GUEST] = "local",
	[HV_TRACE_CLOCK_TSC] = NULL, /* counter_name of the architecture */
	[HV_TRACE_CLOCK_HOST] = "host-mono",
	[HV_TRACE_CLOCK_MONO] = "mono",
	[HV_TRACE_CLOCK_BOOT] = "boot",
	[HV_TRACE_CLOCK_TAI] = "tai",
	[HV_TRACE_CLOCK_GLOBAL] = "global",
};

static bool has_clock(struct hv_session *s, enum hv_trace_clock clock)
{
	return !hv_clocks_why_not(s->clocks, clock);
}

static const char *name_of(struct hv_session *s, enum hv_trace_clock clock)
{
	return names[clock] ? names[clock] : s->kernel->core.as.arch->counter_name;
}

/* If hvtrace cannot compute the guest's own clock, times are raw counter values. */
static bool is_chosen(const struct hv_buffers *b, enum hv_trace_clock clock)
{
	if (clock == HV_TRACE_CLOCK_TSC)
		return hv_buffers_clock_kind(b) == HV_CLOCK_RAW;
	return b->clock == clock;
}

static void show_clock(struct hv_file *f)
{
	const char *blank = "";

	for (size_t i = 0; i < HV_ARRAY_LEN(names); i++) {
		const char *form =
			is_chosen(hv_instance_buffers(f->at.instance), i) ? "%s[%s]" : "%s%s";

		if (!has_clock(hv_file_session(f), i))
			continue;
		hv_text_printf(&f->text, form, blank, name_of(hv_file_session(f), i));
		blank = " ";
	}
	hv_text_add(&f->text, "\n");
}

/* Setting a clock clears the buffer, even if the clock does not change (tracing_set_clock). */
static struct hv_err *write_clock(struct hv_file *f, const char *buf, size_t len_bytes,
				  size_t *ret_len)
{
	HV_AUTO_FREE char *name = NULL;

	if (len_bytes >= CLOCK_NAME_MAX)
		return hv_err_new(EINVAL, "the name of a clock has at most %d bytes, not %zu",
				  CLOCK_NAME_MAX - 1, len_bytes);
	name = hv_name_written(buf, len_bytes);
	for (size_t i = 0; i < HV_ARRAY_LEN(names); i++) {
		const char *why_not = hv_clocks_why_not(hv_file_session(f)->clocks, i);

		if (strcmp(name, name_of(hv_file_session(f), i)) != 0)
			continue;
		if (why_not)
			return hv_err_new(EINVAL, "there is no clock '%s': %s", name, why_not);
		hv_instance_use_clock(f->at.instance, i);
		*ret_len = len_bytes;
		return NULL;
	}
	return hv_err_new(EINVAL, "there is no clock '%s'", name);
}

/* In pages of trace_pipe_raw an event stores the time since the previous event. */
static void show_timestamps(struct hv_file *f)
{
	hv_text_add(&f->text, "[delta] absolute\n");
}

const struct hv_node hv_clock_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING,
	.help = "the clock of the time stamps; a write clears the buffer",
	.show = show_clock,
	.write = write_clock,
};

const struct hv_node hv_timestamps_node = {
	.reads = HV_RIGHT_READ,
	.help = "how times are stored in the pages of trace_pipe_raw",
	.show = show_timestamps,
};

/* -- tracing_on -------------------------------------------------------------------------------- */

/* A function command in records that were not drained yet may change tracing_on. */
static void show_tracing_on(struct hv_file *f)
{
	hv_instances_drain(hv_file_instances(f));
	hv_text_printf(&f->text, "%u\n", hv_instance_tracing_on(f->at.instance));
}

/* Enabling recording starts the tracer; the function tracer also clears the buffer. */
static struct hv_err *set_recording(struct hv_instance *in, enum hv_switch to)
{
	struct hv_err *err;

	if (hv_instance_tracing_on(in) == to)
		return NULL;
	err = to ? hv_instance_before_recording(in) : NULL;
	if (err)
		return err;
	if (to && hv_instance_tracer(in)->starts_empty)
		hv_instance_clear(in, HV_ALL_CPUS);
	hv_instance_set_recording(in, to);
	if (to)
		hv_wakeups_restart(in);
	return NULL;
}

static struct hv_err *write_tracing_on(struct hv_file *f, const char *buf, size_t len_bytes,
				       size_t *ret_len)
{
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);

	if (!err)
		err = set_recording(f->at.instance, value != 0);
	if (!err)
		*ret_len = len_bytes;
	return err;
}

const struct hv_node hv_tracing_on_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING,
	.help = "0 stops recording, 1 continues it",
	.show = show_tracing_on,
	.write = write_tracing_on,
};
