/* set_ftrace_pid and set_ftrace_notrace_pid: which tasks are traced. All of a write or nothing of
 * it is taken; truncation empties the list at once, as in tracefs. */
#include <string.h>

#include "tree/node.h"

/* Takes LIST on success. */
static struct hv_err *publish(struct hv_file *f, struct hv_pidlist *list)
{
	return hv_instance_set_pids(f->instance, f->arg, list);
}

struct hv_err *hv_pids_open(struct hv_file *f)
{
	struct hv_pidlist none = {0};

	hv_tasks_learn(f->instance);
	if (!hv_file_writes(f) || !(f->flags & O_TRUNC))
		return NULL;
	return publish(f, &none);
}

void hv_pids_show(struct hv_file *f)
{
	hv_pidlist_text(&f->instance->selection.pids[f->arg], &f->text);
}

struct hv_err *hv_pids_write(struct hv_file *f, const char *buf, size_t len_bytes, size_t *ret_len)
{
	struct hv_pidlist list;
	struct hv_err *err;
	size_t used;

	hv_tasks_learn(f->instance);
	err = hv_pidlist_add(&f->instance->selection.pids[f->arg], buf, len_bytes, &list, &used);
	if (err)
		return err;
	err = publish(f, &list);
	hv_pidlist_deinit(&list);
	if (!err)
		*ret_len = used;
	return err;
}
