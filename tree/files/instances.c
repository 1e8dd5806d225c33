/* SPDX-License-Identifier: GPL-2.0-or-later */
/* instances/: mkdir creates an instance, rmdir removes it. */
#include <string.h>

#include "tracer/events/host_buffer.h"
#include "tree/files/files.h"
#include "tree/instance/trace.h"

#define SIZE_DEFAULT (354u * 4080) /* trace_buf_size in whole pages of the kernel's buffer */

static bool instance_name(const struct hv_path *dir, size_t index, struct hv_text *ret)
{
	const struct hv_instance *in =
		hv_instance_next(hv_instances_top(hv_instance_all(dir->instance)));

	while (in && index--)
		in = hv_instance_next(in);
	if (in)
		hv_text_add(ret, hv_instance_name(in));
	return in != NULL;
}

static bool find_instance(struct hv_path *at, const char *name)
{
	for (struct hv_instance *in =
		     hv_instance_next(hv_instances_top(hv_instance_all(at->instance)));
	     in; in = hv_instance_next(in)) {
		if (strcmp(hv_instance_name(in), name) != 0)
			continue;
		at->instance = in;
		return true;
	}
	return false;
}

static struct hv_err *new_buffer(const struct hv_instances *all, struct hv_buffer **ret)
{
	HV_AUTO_FREE uint64_t *sizes_bytes =
		hv_alloc(hv_instances_nr_cpus(all) * sizeof(*sizes_bytes));

	for (unsigned cpu = 0; cpu < hv_instances_nr_cpus(all); cpu++)
		sizes_bytes[cpu] = SIZE_DEFAULT;
	return hv_buffer_new(hv_instances_session(all)->buffer, sizes_bytes, ret);
}

static struct hv_err *make_instance(const struct hv_path *dir, const char *name)
{
	struct hv_instances *all = hv_instance_all(dir->instance);
	struct hv_buffer *host;
	struct hv_err *err = new_buffer(all, &host);

	if (!err)
		hv_instances_add(all, name, host);
	return err;
}

static struct hv_err *remove_instance(const struct hv_path *at)
{
	struct hv_instance *in = at->instance;
	struct hv_err *err;

	if (hv_instance_nr_files(in))
		return hv_err_new(EBUSY, "%zu of its files %s open", hv_instance_nr_files(in),
				  hv_instance_nr_files(in) == 1 ? "is" : "are");
	err = hv_instance_stop(in);
	if (err)
		return err;
	hv_instances_remove(in);
	return NULL;
}

const struct hv_entries hv_instance_entries = {
	.shown_as = "NAME",
	.name = instance_name,
	.find = find_instance,
	.make = make_instance,
	.remove = remove_instance,
};
