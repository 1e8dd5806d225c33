/* SPDX-License-Identifier: GPL-2.0-or-later */
/* error_log: the most recent refused writes. */
#include "tree/files/files.h"

static struct hv_err *open_errors(struct hv_file *f)
{
	if (hv_file_truncates(f))
		hv_error_log_clear(hv_instance_errors(f->at.instance));
	return NULL;
}

static void show_errors(struct hv_file *f)
{
	hv_error_log_text(hv_instance_errors(f->at.instance), &f->text);
}

const struct hv_node hv_errors_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING,
	.help = "the last writes that were refused, and why; truncating the file clears it",
	.open = open_errors,
	.show = show_errors,
	.write = hv_file_take_anything,
};
