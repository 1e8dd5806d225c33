/* SPDX-License-Identifier: GPL-2.0-or-later */
/* saved_cmdlines, saved_cmdlines_size and saved_tgids: names and thread groups of tasks. */
#include <inttypes.h>

#include "tracer/events/buffer.h"
#include "tracer/events/names.h"
#include "tree/files/files.h"
#include "tree/instance/core/sharing.h"
#include "tree/settings/token.h"

#define COMM_LEN_MAX 16

static void show_comms(struct hv_file *f)
{
	const char *comm;
	uint32_t pid;

	hv_buffer_note_names(hv_instance_buffer(f->at.instance));
	for (size_t i = 0; hv_names_at(hv_file_session(f)->names, i, &pid, &comm); i++) {
		hv_text_printf(&f->text, "%u ", pid);
		hv_text_add_guest(&f->text, comm, COMM_LEN_MAX);
		hv_text_add(&f->text, "\n");
	}
}

static void show_size(struct hv_file *f)
{
	hv_text_printf(&f->text, "%zu\n", hv_names_max(hv_file_session(f)->names));
}

static struct hv_err *write_size(struct hv_file *f, const char *buf, size_t len_bytes,
				 size_t *ret_len)
{
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);

	if (!err && (!value || value > HV_COMMS_MAX))
		err = hv_err_new(EINVAL, "%" PRIu64 " is not a number of names from 1 to %d", value,
				 HV_COMMS_MAX);
	if (err)
		return err;
	hv_names_set_max(hv_file_session(f)->names, value);
	*ret_len = len_bytes;
	return NULL;
}

/* The file is empty until the option record-tgid is set for the first time. */
static void show_tgids(struct hv_file *f)
{
	struct hv_session *s = hv_file_session(f);
	const char *comm;
	uint32_t pid, tgid;

	if (!hv_instances_top_settings(hv_file_instances(f))->shows_tgids)
		return;
	for (size_t i = 0; hv_names_at(s->names, i, &pid, &comm); i++) {
		tgid = hv_names_tgid(s->names, pid);
		if (tgid)
			hv_text_printf(&f->text, "%" PRIu32 " %" PRIu32 "\n", pid, tgid);
	}
}

const struct hv_node hv_comms_node = {
	.reads = HV_RIGHT_READ,
	.help = "pids and names of tasks",
	.show = show_comms,
};

const struct hv_node hv_comms_size_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING,
	.help = "how many names are kept in saved_cmdlines",
	.show = show_size,
	.write = write_size,
};

const struct hv_node hv_tgids_node = {
	.reads = HV_RIGHT_READ,
	.help = "pids and thread groups of tasks; empty until options/record-tgid is switched on",
	.show = show_tgids,
};
