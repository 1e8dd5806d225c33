/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of events/SYSTEM/EVENT/ that describe one type of the guest's events, and those of
 * filters and triggers, which are not there yet: writing them is refused. */
#include <inttypes.h>
#include <string.h>

#include "tree/files/event_dirs.h"
#include "tree/files/files.h"
#include "tree/format/event_format.h"
#include "tree/settings/token.h"

/* State of format and id. */
static struct hv_err *open_event(struct hv_file *f)
{
	const struct hv_event_type *type = hv_place_event_type(&f->at);
	struct hv_event_ref *ref = f->state;

	if (!type)
		return hv_err_new(ENODEV, "the guest has no such event any more");
	*ref = hv_event_ref_of(type);
	return NULL;
}

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

static struct hv_err *refuse(const char *what)
{
	return hv_err_new(EINVAL, "%s of the guest's own events are not there yet", what);
}

static void show_filter(struct hv_file *f)
{
	hv_text_add(&f->text, "none\n");
}

static void show_system_filter(struct hv_file *f)
{
	hv_text_add(&f->text,
		    "### global filter ###\n"
		    "# Use this to set filters for multiple events.\n"
		    "# Only events with the given fields will be affected.\n"
		    "# If no events are modified, an error message will be displayed here\n");
}

/* "0" removes a filter. */
static struct hv_err *write_filter(struct hv_file *f hv_unused, const char *buf, size_t len_bytes,
				   size_t *ret_len)
{
	HV_AUTO_FREE char *filter = hv_name_written(buf, len_bytes);

	if (strcmp(filter, "0") != 0)
		return refuse("filters");
	*ret_len = len_bytes;
	return NULL;
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
		return refuse("triggers");
	*ret_len = len_bytes;
	return NULL;
}

static void show_hist(struct hv_file *f hv_unused)
{
}

const struct hv_node hv_event_format_node = {
	.help = "the fields of the event, and how it is printed",
	.state_bytes = sizeof(struct hv_event_ref),
	.open = open_event,
	.fill = fill_format,
};

const struct hv_node hv_event_id_node = {
	.help = "the number of the event in trace_pipe_raw",
	.state_bytes = sizeof(struct hv_event_ref),
	.open = open_event,
	.fill = fill_id,
};

const struct hv_node hv_event_filter_node = {
	.help = "always none",
	.show = show_filter,
	.write = write_filter,
};

const struct hv_node hv_event_system_filter_node = {
	.help = "sets nothing",
	.show = show_system_filter,
	.write = write_filter,
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
