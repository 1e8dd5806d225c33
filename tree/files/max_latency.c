/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tracing_max_latency: the longest section that was measured. */
#include <inttypes.h>

#include "tracer/section_tracer.h"
#include "tree/files/files.h"
#include "tree/settings/token.h"

#define NS_PER_US 1000

/* nsecs_to_usecs */
static void show_latency(struct hv_file *f)
{
	struct hv_section_tracer *tracer = f->at.instance->all->session->sections;

	hv_text_printf(&f->text, "%" PRIu64 "\n",
		       (hv_section_tracer_longest_ns(tracer) + NS_PER_US / 2) / NS_PER_US);
}

static struct hv_err *write_latency(struct hv_file *f, const char *buf, size_t len_bytes,
				    size_t *ret_len)
{
	struct hv_instances *all = f->at.instance->all;
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);

	if (err)
		return err;
	hv_section_tracer_begin_at(all->session->sections, value * NS_PER_US, all->thresh_ns);
	*ret_len = len_bytes;
	return NULL;
}

const struct hv_node hv_max_latency_node = {
	.help = "preemptoff: how many microseconds the longest section took; only longer ones "
		"than\n"
		"the number that is written here are kept from then on",
	.show = show_latency,
	.write = write_latency,
};
