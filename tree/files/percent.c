/* SPDX-License-Identifier: GPL-2.0-or-later */
/* buffer_percent: how full a vCPU's buffer must be before poll(2) reports its trace_pipe as
 * readable. */
#include <inttypes.h>

#include "tree/files/files.h"
#include "tree/settings/token.h"

static void show_percent(struct hv_file *f)
{
	hv_text_printf(&f->text, "%u\n", f->at.instance->fill_percent);
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
	f->at.instance->fill_percent = (unsigned)value;
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
