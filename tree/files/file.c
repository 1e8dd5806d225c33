/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/files/file.h"

#include <string.h>

#include "tree/files/files.h"
#include "tree/instance/core/instance.h"

struct hv_file *hv_file_new(const struct hv_path *at, const struct hv_rights *rights,
			    const char *path, int flags)
{
	struct hv_file *f = hv_alloc(sizeof(*f));

	f->at = *at;
	f->rights = rights;
	f->path = hv_strdup(path + strspn(path, "/"));
	f->flags = flags;
	if (at->node->state_bytes)
		f->state = hv_alloc(at->node->state_bytes);
	at->tree->nr_open++;
	hv_instance_add_file(at->instance);
	return f;
}

void hv_file_free(struct hv_file *f)
{
	if (f->at.node->release)
		f->at.node->release(f);
	f->at.tree->nr_open--;
	hv_instance_remove_file(f->at.instance);
	hv_text_deinit(&f->text);
	hv_shared_text_drop(f->shared);
	free(f->state);
	free(f->path);
	free(f);
}

struct hv_err *hv_path_check(const struct hv_path *at, const struct hv_rights *rights,
			     uint32_t need)
{
	uint32_t lacks = hv_rights_lack(rights, hv_instance_need(at->instance, need));

	if (!lacks)
		return NULL;
	at->tree->lacks = lacks;
	return hv_rights_refuse(rights, lacks);
}

struct hv_err *hv_file_take_anything(struct hv_file *f hv_unused, const char *buf hv_unused,
				     size_t len_bytes, size_t *ret_len)
{
	*ret_len = len_bytes;
	return NULL;
}

static uint64_t now_ns(const struct hv_file *f)
{
	uint64_t ns = 0;

	hv_clocks_now_ns(hv_file_session(f)->clocks, hv_instance_buffers(f->at.instance)->clock,
			 &ns);
	return ns;
}

void hv_file_log_error(struct hv_file *f, const struct hv_err *err, const char *buf,
		       size_t len_bytes)
{
	hv_error_log_add(hv_instance_errors(f->at.instance), now_ns(f), f->path, err->message, buf,
			 len_bytes);
}

void hv_file_log_fault(struct hv_file *f, const char *where, const char *why, const char *command,
		       size_t at)
{
	struct hv_error_log *log = hv_instance_errors(f->at.instance);

	hv_error_log_add(log, now_ns(f), where, why, command, strlen(command));
	hv_error_log_mark(log, at);
	f->has_logged = 1;
}

/* -- error_log --------------------------------------------------------------------------------- */

static struct hv_err *open_errors(struct hv_file *f)
{
	if (hv_file_truncates(f))
		hv_error_log_clear(hv_instance_errors(f->at.instance));
	return NULL;
}

static void show_errors(struct hv_file *f)
{
	hv_error_log_text(hv_instance_errors(f->at.instance), &f->text);
}

const struct hv_node hv_errors_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING,
	.help = "the last writes that were refused, and why; truncating the file clears it",
	.open = open_errors,
	.show = show_errors,
	.write = hv_file_take_anything,
};
