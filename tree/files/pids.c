/* set_ftrace_pid and set_ftrace_notrace_pid: which tasks are traced. All of a write or nothing of
 * it is taken; truncation empties the list at once, as in tracefs. */
#include <string.h>

#include "tree/node.h"

/* Takes LIST on success. */
static struct hv_err *publish(struct hv_file *f, struct hv_pidlist *list)
{
	struct hv_instance *in = f->instance;
	struct hv_pidlist pids[HV_NR_PID_LISTS];
	struct hv_err *err;

	memcpy(pids, in->pids, sizeof(pids));
	pids[f->arg] = *list;
	err = hv_instance_filter_pids(in, pids);
	if (err)
		return err;
	hv_pidlist_deinit(&in->pids[f->arg]);
	in->pids[f->arg] = *list;
	*list = (struct hv_pidlist){0};
	return NULL;
}

struct hv_err *hv_pids_open(struct hv_file *f)
{
	struct hv_pidlist none = {0};

	hv_instance_learn_pids(f->instance);
	if (!hv_file_writes(f) || !(f->flags & O_TRUNC))
		return NULL;
	return publish(f, &none);
}

void hv_pids_show(struct hv_file *f)
{
	hv_pidlist_text(&f->instance->pids[f->arg], &f->text);
}

struct hv_err *hv_pids_write(struct hv_file *f, const char *buf, size_t len_bytes, size_t *ret_len)
{
	struct hv_pidlist list;
	struct hv_err *err;
	size_t used;

	hv_instance_learn_pids(f->instance);
	err = hv_pidlist_add(&f->instance->pids[f->arg], buf, len_bytes, &list, &used);
	if (err)
		return err;
	err = publish(f, &list);
	hv_pidlist_deinit(&list);
	if (!err)
		*ret_len = used;
	return err;
}
