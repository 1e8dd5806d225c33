/* SPDX-License-Identifier: GPL-2.0-or-later */
/* per_cpu/cpuN/stats: the number of events of a vCPU in the buffer, lost and read. */
#include <inttypes.h>

#include "tree/files/files.h"
#include "tree/format/raw_page.h"
#include "tree/instance/core/sharing.h"

static void add_time(struct hv_file *f, const char *label, uint64_t time)
{
	uint64_t usecs = time / 1000 + (time % 1000 >= 500);

	if (hv_buffers_clock_kind(&f->at.instance->buffers) == HV_CLOCK_RAW)
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
	/* The host's view of the guest's clock may lag slightly. */
	if (!hv_clocks_now_ns(hv_file_session(f)->clocks, in->buffers.clock, &now_ns) ||
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
