/* SPDX-License-Identifier: GPL-2.0-or-later */
/* filter in events/SYSTEM/EVENT/ and events/SYSTEM/: filters the guest events of the instance
 * (event_filter_write, subsystem_filter_write). */
#include <string.h>

#include "tracer/event_types.h"
#include "tree/files/event_dirs.h"
#include "tree/files/files.h"
#include "tree/instance/events/event_filters.h"

/* Returns the written text up to a NUL, without trailing white space (memdup_user_nul, strstrip).
 * The caller frees it. */
static struct hv_err *filter_written(const char *buf, size_t len_bytes, char **ret)
{
	size_t len = strnlen(buf, len_bytes);
	char *filter;

	if (len_bytes > HV_EVENT_FILTER_MAX)
		return hv_err_new(EINVAL, "a filter of %zu bytes is too long", len_bytes);
	while (len && strchr(" \t\n\v\f\r", buf[len - 1]))
		len--;
	filter = hv_alloc(len + 1);
	memcpy(filter, buf, len);
	*ret = filter;
	return NULL;
}

/* "0" removes a filter. */
static bool is_removal(const char *filter)
{
	return strcmp(filter + strspn(filter, " \t\n\v\f\r"), "0") == 0;
}

static struct hv_err *set(struct hv_file *f, const struct hv_event_type *type, const char *filter,
			  const char *why)
{
	struct hv_filter_fault fault;
	struct hv_err *err;

	err = hv_instance_set_event_filter(f->at.instance, type, filter, why, &fault);
	if (err && fault.code)
		hv_file_log_fault(f, "event filter parse error", fault.why ? fault.why : "Error",
				  filter, fault.at);
	return err;
}

/* -- of one event ------------------------------------------------------------------------------ */

static void show_filter(struct hv_file *f)
{
	const char *text = hv_event_filters_text(f->at.instance->filters,
						 *(const struct hv_event_ref *)f->state);

	hv_text_printf(&f->text, "%s\n", text ? text : "none");
}

static struct hv_err *write_filter(struct hv_file *f, const char *buf, size_t len_bytes,
				   size_t *ret_len)
{
	HV_AUTO_FREE char *filter = NULL;
	const struct hv_event_type *type;
	struct hv_err *err = filter_written(buf, len_bytes, &filter);

	if (!err)
		err = hv_event_ref_find(f->state, hv_place_catalogue(&f->at), &type);
	if (err)
		return err;
	if (is_removal(filter))
		hv_instance_remove_event_filter(f->at.instance, type);
	else
		err = set(f, type, filter, NULL);
	if (!err)
		*ret_len = len_bytes;
	return err;
}

/* -- of a system ------------------------------------------------------------------------------- */

static void show_system_filter(struct hv_file *f)
{
	hv_text_add(&f->text,
		    "### global filter ###\n"
		    "# Use this to set filters for multiple events.\n"
		    "# Only events with the given fields will be affected.\n"
		    "# If no events are modified, an error message will be displayed here\n");
}

/* If the filter is wrong for an event, the event loses its filter, but the write succeeds
 * (process_system_preds). */
static struct hv_err *set_for(struct hv_file *f, const struct hv_event_type *type,
			      const char *filter)
{
	struct hv_err *err =
		set(f, type, filter, "Couldn't find or set field in one of a subsystem's events");

	if (!f->has_logged)
		return err;
	f->has_logged = 0;
	hv_err_free(err);
	return NULL;
}

static struct hv_err *write_system_filter(struct hv_file *f, const char *buf, size_t len_bytes,
					  size_t *ret_len)
{
	const struct hv_event_system_state *state = f->state;
	HV_AUTO_FREE char *filter = NULL;
	const struct hv_catalogue *c = hv_place_catalogue(&f->at);
	struct hv_err *err = filter_written(buf, len_bytes, &filter);
	size_t nr = 0;

	for (size_t i = 0; !err && i < c->nr; i++) {
		if (!hv_event_is_of(&c->types[i], state->name))
			continue;
		nr++;
		if (is_removal(filter))
			hv_instance_remove_event_filter(f->at.instance, &c->types[i]);
		else
			err = set_for(f, &c->types[i], filter);
	}
	if (!err && !nr)
		err = hv_err_new(ENODEV, "the guest no longer has these events");
	if (!err)
		*ret_len = len_bytes;
	return err;
}

const struct hv_node hv_event_filter_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_EVENTS,
	.help = "which of these events are recorded, as in 'common_pid == 1 && comm ~ \"init*\"';\n"
		"write 0 to record all",
	.state_bytes = sizeof(struct hv_event_ref),
	.open = hv_event_ref_open,
	.show = show_filter,
	.write = write_filter,
};

const struct hv_node hv_event_system_filter_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_EVENTS,
	.help = "a filter written here is set for each event below that has its fields",
	.state_bytes = sizeof(struct hv_event_system_state),
	.open = hv_event_system_open,
	.show = show_system_filter,
	.write = write_system_filter,
	.release = hv_event_system_release,
};
