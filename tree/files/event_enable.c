/* SPDX-License-Identifier: GPL-2.0-or-later */
/* enable in events/, events/SYSTEM/ and events/SYSTEM/EVENT/: enables and disables guest events for
 * the instance (event_enable_write, system_enable_write). */
#include <inttypes.h>
#include <string.h>

#include "tracer/event_types.h"
#include "tree/files/event_dirs.h"
#include "tree/files/files.h"
#include "tree/settings/token.h"

static struct hv_err *value_written(const char *buf, size_t len_bytes, unsigned *ret)
{
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);

	if (!err && value > 1)
		err = hv_err_new(EINVAL, "%" PRIu64 " is neither 0 nor 1", value);
	if (!err)
		*ret = (unsigned)value;
	return err;
}

/* -- of one event ------------------------------------------------------------------------------ */

static struct hv_err *fill_event(struct hv_file *f)
{
	const struct hv_event_ref *ref = f->state;
	struct hv_instance *in = f->at.instance;
	const struct hv_event_type *type;
	struct hv_err *err;

	if (f->nr_fills)
		return NULL;
	err = hv_event_ref_find(ref, hv_place_catalogue(&f->at), &type);
	if (err)
		return err;
	hv_instances_drain(in->all);
	hv_text_printf(&f->text, "%d%s\n", hv_event_set_has(&in->events, *ref),
		       hv_instance_acts_on(in, *ref) || hv_instance_probes(in, *ref) ? "*" : "");
	return NULL;
}

static struct hv_err *write_event(struct hv_file *f, const char *buf, size_t len_bytes,
				  size_t *ret_len)
{
	struct hv_event_switch change = {0};
	const struct hv_event_type *type;
	struct hv_err *err = value_written(buf, len_bytes, &change.on);

	if (!err)
		err = hv_event_ref_find(f->state, hv_place_catalogue(&f->at), &type);
	if (err)
		return err;
	hv_event_switch_add(&change, type);
	err = hv_event_switch_for(f, &change, buf, len_bytes);
	hv_event_switch_deinit(&change);
	if (!err)
		*ret_len = len_bytes;
	return err;
}

/* -- of a system, or of all -------------------------------------------------------------------- */

/* SYSTEM NULL: all systems. */
static struct hv_err *fill_types(struct hv_file *f, const char *system)
{
	static const char *const states[] = {"0\n", "0\n", "1\n", "X\n"};
	const struct hv_catalogue *c = hv_place_catalogue(&f->at);
	unsigned state = 0;

	if (f->nr_fills)
		return NULL;
	for (size_t i = 0; i < c->nr; i++) {
		const struct hv_event_ref ref = hv_event_ref_of(&c->types[i]);

		if (hv_event_is_of(&c->types[i], system))
			state |= hv_instance_needs_event(f->at.instance, ref) ? 2 : 1;
	}
	hv_text_add(&f->text, states[state]);
	return NULL;
}

static struct hv_err *write_types(struct hv_file *f, const char *system, const char *buf,
				  size_t len_bytes, size_t *ret_len)
{
	const struct hv_catalogue *c = hv_place_catalogue(&f->at);
	struct hv_event_switch change = {0};
	struct hv_err *err = value_written(buf, len_bytes, &change.on);

	if (err)
		return err;
	if (change.on)
		err = hv_event_types_catalogue(hv_file_session(f)->types, &c);
	for (size_t i = 0; !err && i < c->nr; i++)
		if (hv_event_is_of(&c->types[i], system))
			hv_event_switch_add(&change, &c->types[i]);
	if (!err)
		err = hv_event_switch_for(f, &change, buf, len_bytes);
	hv_event_switch_deinit(&change);
	if (!err)
		*ret_len = len_bytes;
	return err;
}

static struct hv_err *fill_system(struct hv_file *f)
{
	const struct hv_event_system_state *state = f->state;

	return fill_types(f, state->name);
}

static struct hv_err *write_system(struct hv_file *f, const char *buf, size_t len_bytes,
				   size_t *ret_len)
{
	const struct hv_event_system_state *state = f->state;

	return write_types(f, state->name, buf, len_bytes, ret_len);
}

static struct hv_err *fill_all(struct hv_file *f)
{
	return fill_types(f, NULL);
}

static struct hv_err *write_all(struct hv_file *f, const char *buf, size_t len_bytes,
				size_t *ret_len)
{
	return write_types(f, NULL, buf, len_bytes, ret_len);
}

const struct hv_node hv_event_enable_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_EVENTS,
	.help = "1 if the event is recorded, else 0; write 0 or 1",
	.state_bytes = sizeof(struct hv_event_ref),
	.open = hv_event_ref_open,
	.fill = fill_event,
	.write = write_event,
};

const struct hv_node hv_event_system_enable_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_EVENTS,
	.help = "1 or 0: all or none of these events are recorded, X: some; write 0 or 1",
	.state_bytes = sizeof(struct hv_event_system_state),
	.open = hv_event_system_open,
	.fill = fill_system,
	.write = write_system,
	.release = hv_event_system_release,
};

const struct hv_node hv_events_enable_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_EVENTS,
	.help = "as enable in the directories below, for all events",
	.fill = fill_all,
	.write = write_all,
};
