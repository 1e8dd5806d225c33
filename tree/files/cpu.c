/* per_cpu: a directory for each vCPU. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tree/format/raw_page.h"
#include "tree/node.h"

bool hv_cpu_name(const struct hv_place *dir, size_t index, struct hv_text *ret)
{
	if (index >= dir->tree->instances.nr_cpus)
		return false;
	hv_text_printf(ret, "cpu%zu", index);
	return true;
}

/* "cpu7", and not "cpu07" or "cpu+7". */
bool hv_cpu_find(struct hv_place *at, const char *name)
{
	HV_AUTO_TEXT struct hv_text want = {0};
	unsigned long cpu;

	if (strncmp(name, "cpu", 3) != 0)
		return false;
	cpu = strtoul(name + 3, NULL, 10);
	if (!hv_cpu_name(at, cpu, &want) || strcmp(want.data, name) != 0)
		return false;
	at->cpu = (int)cpu;
	return true;
}

static void add_time(struct hv_file *f, const char *label, uint64_t time)
{
	uint64_t usecs = time / 1000 + (time % 1000 >= 500);

	if (hv_buffers_clock_kind(&f->instance->buffers) == HV_CLOCK_RAW)
		hv_text_printf(&f->text, "%s: %" PRIu64 "\n", label, time);
	else
		hv_text_printf(&f->text, "%s: %5" PRIu64 ".%06" PRIu64 "\n", label, usecs / 1000000,
			       usecs % 1000000);
}

/* tracing_stats_read. A vCPU's nested writers are never in each other's way: nothing is lost by
 * commits. */
void hv_stats_show(struct hv_file *f)
{
	struct hv_buffer_stat stat;
	uint64_t now_ns = 0;

	hv_buffer_stat(hv_instance_buffer(f->instance), f->cpu, hv_raw_event_len, &stat);
	/* It may be a little behind. */
	if (!hv_session_now_ns(f->tree->instances.session, f->instance->buffers.clock, &now_ns) ||
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
