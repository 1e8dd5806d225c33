/* instances/: mkdir makes one, rmdir ends it. */
#include <string.h>

#include "tree/instance/share.h"

#define SIZE_DEFAULT (354u * 4080) /* trace_buf_size, in whole pages of the kernel's */

bool hv_instance_name(const struct hv_place *dir, size_t index, struct hv_text *ret)
{
	const struct hv_instance *in = dir->tree->top.next;

	while (in && index--)
		in = in->next;
	if (in)
		hv_text_add(ret, in->name);
	return in != NULL;
}

bool hv_instance_find(struct hv_place *at, const char *name)
{
	for (struct hv_instance *in = at->tree->top.next; in; in = in->next) {
		if (strcmp(in->name, name) != 0)
			continue;
		at->instance = in;
		return true;
	}
	return false;
}

static struct hv_err *new_buffer(const struct hv_tree *t, struct hv_buffer **ret)
{
	HV_AUTO_FREE uint64_t *sizes_bytes = hv_alloc(t->nr_cpus * sizeof(*sizes_bytes));

	for (unsigned cpu = 0; cpu < t->nr_cpus; cpu++)
		sizes_bytes[cpu] = SIZE_DEFAULT;
	return hv_buffer_new(t->session, sizes_bytes, ret);
}

struct hv_err *hv_instance_mkdir(const struct hv_place *dir, const char *name)
{
	struct hv_tree *t = dir->tree;
	struct hv_instance **at = &t->top.next;
	struct hv_buffer *host;
	struct hv_instance *in;
	struct hv_err *err = new_buffer(t, &host);

	if (err)
		return err;
	while (*at && strcmp((*at)->name, name) < 0)
		at = &(*at)->next;
	in = hv_alloc(sizeof(*in));
	hv_instance_init(in, t, t->nr_cpus);
	in->name = hv_strdup(name);
	in->options = hv_options_inherited(&t->top.options);
	hv_instance_set_host(in, host);
	in->next = *at;
	*at = in;
	hv_share_add(in);
	return NULL;
}

struct hv_err *hv_instance_rmdir(const struct hv_place *at)
{
	struct hv_instance *in = at->instance, **link = &at->tree->top.next;
	struct hv_err *err;

	if (in->nr_open)
		return hv_err_new(EBUSY, "%zu of its files are open", in->nr_open);
	err = hv_instance_stop(in);
	if (err)
		return err;
	hv_share_remove(in);
	while (*link != in)
		link = &(*link)->next;
	*link = in->next;
	hv_instance_deinit(in);
	free(in);
	return NULL;
}
