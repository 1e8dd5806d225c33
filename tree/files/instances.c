/* instances/: mkdir makes one, rmdir ends it. */
#include <string.h>

#include "tree/node.h"

#define SIZE_DEFAULT (354u * 4080) /* trace_buf_size, in whole pages of the kernel's */

bool hv_instance_name(const struct hv_place *dir, size_t index, struct hv_text *ret)
{
	const struct hv_instance *in = dir->tree->instances.top.next;

	while (in && index--)
		in = in->next;
	if (in)
		hv_text_add(ret, in->name);
	return in != NULL;
}

bool hv_instance_find(struct hv_place *at, const char *name)
{
	for (struct hv_instance *in = at->tree->instances.top.next; in; in = in->next) {
		if (strcmp(in->name, name) != 0)
			continue;
		at->instance = in;
		return true;
	}
	return false;
}

static struct hv_err *new_buffer(const struct hv_instances *all, struct hv_buffer **ret)
{
	HV_AUTO_FREE uint64_t *sizes_bytes = hv_alloc(all->nr_cpus * sizeof(*sizes_bytes));

	for (unsigned cpu = 0; cpu < all->nr_cpus; cpu++)
		sizes_bytes[cpu] = SIZE_DEFAULT;
	return hv_buffer_new(all->session, sizes_bytes, ret);
}

struct hv_err *hv_instance_mkdir(const struct hv_place *dir, const char *name)
{
	struct hv_instances *all = &dir->tree->instances;
	struct hv_buffer *host;
	struct hv_err *err = new_buffer(all, &host);

	if (!err)
		hv_share_add(hv_instances_add(all, name, host));
	return err;
}

struct hv_err *hv_instance_rmdir(const struct hv_place *at)
{
	struct hv_instance *in = at->instance;
	struct hv_err *err;

	if (in->nr_open)
		return hv_err_new(EBUSY, "%zu of its files are open", in->nr_open);
	err = hv_instance_stop(in);
	if (err)
		return err;
	hv_share_remove(in);
	hv_instances_remove(in);
	return NULL;
}
