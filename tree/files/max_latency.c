/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tracing_max_latency: the longest measured section, or wait of a woken task. */
#include <inttypes.h>

#include "tree/files/files.h"
#include "tree/instance/latency/sections.h"
#include "tree/instance/latency/wakeups.h"
#include "tree/settings/token.h"

#define NS_PER_US 1000

/* nsecs_to_usecs */
static void show_latency(struct hv_file *f)
{
	if (hv_wakeups_are_on(f->at.instance))
		hv_instances_drain(f->at.instance->all);
	hv_text_printf(&f->text, "%" PRIu64 "\n",
		       (hv_sections_longest_ns(f->at.instance) + NS_PER_US / 2) / NS_PER_US);
}

static struct hv_err *write_latency(struct hv_file *f, const char *buf, size_t len_bytes,
				    size_t *ret_len)
{
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);

	if (err)
		return err;
	if (hv_wakeups_are_on(f->at.instance))
		hv_instances_drain(f->at.instance->all);
	hv_sections_begin_at(f->at.instance, value * NS_PER_US);
	*ret_len = len_bytes;
	return NULL;
}

const struct hv_node hv_max_latency_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING,
	.help = "irqsoff, wakeup and the like: how many microseconds the longest section or wait "
		"took;\n"
		"a number written here keeps only longer ones from then on",
	.show = show_latency,
	.write = write_latency,
};
