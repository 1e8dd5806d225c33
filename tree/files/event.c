/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of events/SYSTEM/EVENT/ that describe one type of the guest's events, and those of
 * triggers, which are not there yet: writing them is refused. */
#include <inttypes.h>
#include <string.h>

#include "tree/files/event_dirs.h"
#include "tree/files/files.h"
#include "tree/format/event_format.h"
#include "tree/settings/token.h"

static struct hv_err *fill_format(struct hv_file *f)
{
	const struct hv_catalogue *c = hv_place_catalogue(&f->at);
	const struct hv_event_type *type;
	struct hv_err *err;

	if (f->nr_fills)
		return NULL;
	err = hv_event_ref_find(f->state, c, &type);
	if (!err && !type->has_fields)
		err = hv_err_new(EOPNOTSUPP, "the kernel makes the fields of this event when they "
					     "are needed first, in a way that is not known");
	if (!err)
		hv_event_format_add(&f->text, c, type);
	return err;
}

static struct hv_err *fill_id(struct hv_file *f)
{
	const struct hv_event_type *type;
	struct hv_err *err;

	if (f->nr_fills)
		return NULL;
	err = hv_event_ref_find(f->state, hv_place_catalogue(&f->at), &type);
	if (!err)
		hv_text_printf(&f->text, "%" PRIu32 "\n", type->id);
	return err;
}

/* The kernel's trigger_start() lists the commands here. There are none. */
static void show_trigger(struct hv_file *f)
{
	hv_text_add(&f->text, "# Available triggers:\n#\n");
}

/* "!COMMAND" removes a trigger, and succeeds when there is none. */
static struct hv_err *write_trigger(struct hv_file *f hv_unused, const char *buf, size_t len_bytes,
				    size_t *ret_len)
{
	HV_AUTO_FREE char *command = hv_name_written(buf, len_bytes);

	if (*command && *command != '!')
		return hv_err_new(EINVAL, "triggers of the guest's own events are not there yet");
	*ret_len = len_bytes;
	return NULL;
}

static void show_hist(struct hv_file *f hv_unused)
{
}

const struct hv_node hv_event_format_node = {
	.help = "the fields of the event, and how it is printed",
	.state_bytes = sizeof(struct hv_event_ref),
	.open = hv_event_ref_open,
	.fill = fill_format,
};

const struct hv_node hv_event_id_node = {
	.help = "the number of the event in trace_pipe_raw",
	.state_bytes = sizeof(struct hv_event_ref),
	.open = hv_event_ref_open,
	.fill = fill_id,
};

const struct hv_node hv_event_trigger_node = {
	.help = "always empty: there are no triggers",
	.show = show_trigger,
	.write = write_trigger,
};

const struct hv_node hv_event_hist_node = {
	.help = "always empty: there are no triggers",
	.show = show_hist,
};
