/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of events/SYSTEM/EVENT/ that describe a guest event type, and hist: the histograms of
 * its hist triggers. */
#include <inttypes.h>
#include <string.h>

#include "tree/files/event_dirs.h"
#include "tree/files/files.h"
#include "tree/format/event_format.h"
#include "tree/instance/hist/hists.h"

/* Returns whether TYPE is a function_graph return, whose records also have FIELD. */
static bool has_host(const struct hv_file *f, const struct hv_event_type *type,
		     struct hv_event_field *field)
{
	struct hv_raw_layout layout;

	return strcmp(type->system, "ftrace") == 0 && strcmp(type->name, "funcgraph_exit") == 0 &&
	       hv_place_raw_layout(&f->at, &layout, field);
}

static struct hv_err *fill_format(struct hv_file *f)
{
	const struct hv_catalogue *c = hv_place_catalogue(&f->at);
	const struct hv_event_type *type;
	struct hv_event_field host;
	struct hv_err *err;

	if (f->nr_fills)
		return NULL;
	err = hv_event_ref_find(f->state, c, &type);
	if (!err && !type->has_fields)
		err = hv_err_new(EOPNOTSUPP, "the kernel creates the fields of this event on first "
					     "use, in a way that hvtrace does not know");
	if (!err)
		hv_event_format_add(&f->text, c, type, has_host(f, type, &host) ? &host : NULL);
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

static struct hv_err *fill_hist(struct hv_file *f)
{
	const struct hv_event_ref *ref = f->state;
	const struct hv_catalogue *c = hv_place_catalogue(&f->at);
	const struct hv_event_type *type;
	struct hv_err *err;

	if (f->nr_fills)
		return NULL;
	err = hv_event_ref_find(ref, c, &type);
	if (!err)
		hv_instance_hists_text(f->at.instance, *ref, c, &f->text);
	return err;
}

const struct hv_node hv_event_format_node = {
	.reads = HV_RIGHT_READ,
	.help = "the fields of the event, and how it is printed",
	.state_bytes = sizeof(struct hv_event_ref),
	.open = hv_event_ref_open,
	.fill = fill_format,
};

const struct hv_node hv_event_id_node = {
	.reads = HV_RIGHT_READ,
	.help = "the number of the event in trace_pipe_raw",
	.state_bytes = sizeof(struct hv_event_ref),
	.open = hv_event_ref_open,
	.fill = fill_id,
};

const struct hv_node hv_event_hist_node = {
	.reads = HV_RIGHT_READ,
	.help = "the counts of the event's hist triggers",
	.state_bytes = sizeof(struct hv_event_ref),
	.open = hv_event_ref_open,
	.fill = fill_hist,
};
