/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of tasks: their names and thread groups (saved_cmdlines, saved_cmdlines_size, saved_tgids),
 * and the lists of tasks that limit tracing and events. */
#include <inttypes.h>

#include "tracer/events/buffer.h"
#include "tracer/events/names.h"
#include "tree/files/files.h"
#include "tree/instance/core/sharing.h"
#include "tree/instance/events/event_pids.h"
#include "tree/instance/functions.h"
#include "tree/instance/trace.h"
#include "tree/settings/token.h"

#define COMM_LEN_MAX 16

static void show_comms(struct hv_file *f)
{
	const char *comm;
	uint32_t pid;

	hv_buffer_note_names(hv_instance_buffer(f->at.instance));
	for (size_t i = 0; hv_names_at(hv_file_session(f)->names, i, &pid, &comm); i++) {
		hv_text_printf(&f->text, "%u ", pid);
		hv_text_add_guest(&f->text, comm, COMM_LEN_MAX);
		hv_text_add(&f->text, "\n");
	}
}

static void show_size(struct hv_file *f)
{
	hv_text_printf(&f->text, "%zu\n", hv_names_max(hv_file_session(f)->names));
}

static struct hv_err *write_size(struct hv_file *f, const char *buf, size_t len_bytes,
				 size_t *ret_len)
{
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);

	if (!err && (!value || value > HV_COMMS_MAX))
		err = hv_err_new(EINVAL, "%" PRIu64 " is not a number of names from 1 to %d", value,
				 HV_COMMS_MAX);
	if (err)
		return err;
	hv_names_set_max(hv_file_session(f)->names, value);
	*ret_len = len_bytes;
	return NULL;
}

/* The file is empty until the option record-tgid is set for the first time. */
static void show_tgids(struct hv_file *f)
{
	struct hv_session *s = hv_file_session(f);
	const char *comm;
	uint32_t pid, tgid;

	if (!hv_instances_top_settings(hv_file_instances(f))->shows_tgids)
		return;
	for (size_t i = 0; hv_names_at(s->names, i, &pid, &comm); i++) {
		tgid = hv_names_tgid(s->names, pid);
		if (tgid)
			hv_text_printf(&f->text, "%" PRIu32 " %" PRIu32 "\n", pid, tgid);
	}
}

const struct hv_node hv_comms_node = {
	.reads = HV_RIGHT_READ,
	.help = "pids and names of tasks",
	.show = show_comms,
};

const struct hv_node hv_comms_size_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING,
	.help = "how many names are kept in saved_cmdlines",
	.show = show_size,
	.write = write_size,
};

const struct hv_node hv_tgids_node = {
	.reads = HV_RIGHT_READ,
	.help = "pids and thread groups of tasks; empty until options/record-tgid is switched on",
	.show = show_tgids,
};

/* Lists of tasks: as in tracefs, a write takes effect as a whole or not at all, and truncation
 * clears the list immediately. */

/* -- set_ftrace_pid and set_ftrace_notrace_pid ------------------------------------------------- */

static struct hv_err *open_pids(struct hv_file *f)
{
	struct hv_pidlist none = {0};

	hv_tasks_learn(f->at.instance);
	if (!hv_file_truncates(f))
		return NULL;
	return hv_instance_set_pids(f->at.instance, f->at.node->arg, &none);
}

static void show_pids(struct hv_file *f)
{
	hv_pidlist_text(&hv_instance_selection(f->at.instance)->pids[f->at.node->arg], &f->text);
}

static struct hv_err *write_pids(struct hv_file *f, const char *buf, size_t len_bytes,
				 size_t *ret_len)
{
	struct hv_instance *in = f->at.instance;
	enum hv_filter_list which = f->at.node->arg;
	struct hv_pidlist list;
	struct hv_err *err;
	size_t used;

	hv_tasks_learn(in);
	err = hv_pidlist_add(&hv_instance_selection(in)->pids[which], buf, len_bytes, &list, &used);
	if (err)
		return err;
	err = hv_instance_set_pids(in, which, &list);
	hv_pidlist_deinit(&list);
	if (!err)
		*ret_len = used;
	return err;
}

const struct hv_node hv_ftrace_pid_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING,
	.help = "trace only these tasks (thread ids); empty: all",
	.arg = HV_LIST_FILTER,
	.open = open_pids,
	.show = show_pids,
	.write = write_pids,
};

const struct hv_node hv_ftrace_notrace_pid_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING,
	.help = "never trace these tasks (thread ids)",
	.arg = HV_LIST_NOTRACE,
	.open = open_pids,
	.show = show_pids,
	.write = write_pids,
};

/* -- set_event_pid and set_event_notrace_pid --------------------------------------------------- */

static struct hv_pidlist *list_of(struct hv_file *f)
{
	return &hv_instance_selection(f->at.instance)->event_pids[f->at.node->arg];
}

static struct hv_err *open_event_pids(struct hv_file *f)
{
	struct hv_pidlist none = {0};
	struct hv_err *err = NULL;

	hv_instances_drain(hv_file_instances(f));
	if (hv_file_truncates(f) && hv_pidlist_limits(list_of(f)))
		err = hv_instance_set_event_pids(f->at.instance, f->at.node->arg, &none);
	hv_pidlist_deinit(&none);
	return err;
}

static void show_event_pids(struct hv_file *f)
{
	if (list_of(f)->nr)
		hv_pidlist_text(list_of(f), &f->text);
}

static struct hv_err *write_event_pids(struct hv_file *f, const char *buf, size_t len_bytes,
				       size_t *ret_len)
{
	struct hv_pidlist list;
	struct hv_err *err;

	hv_instances_drain(hv_file_instances(f));
	err = hv_pidlist_add(list_of(f), buf, len_bytes, &list, ret_len);
	if (err)
		return err;
	err = hv_instance_set_event_pids(f->at.instance, f->at.node->arg, &list);
	hv_pidlist_deinit(&list);
	return err;
}

const struct hv_node hv_event_pid_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_EVENTS,
	.help = "record the guest's own events only of these tasks (thread ids); empty: of all",
	.arg = HV_LIST_FILTER,
	.open = open_event_pids,
	.show = show_event_pids,
	.write = write_event_pids,
};

const struct hv_node hv_event_notrace_pid_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_EVENTS,
	.help = "never record the guest's own events of these tasks (thread ids)",
	.arg = HV_LIST_NOTRACE,
	.open = open_event_pids,
	.show = show_event_pids,
	.write = write_event_pids,
};
