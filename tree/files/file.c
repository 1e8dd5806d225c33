/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/files/file.h"

#include <string.h>

struct hv_file *hv_file_new(const struct hv_place *at, const char *path, int flags)
{
	struct hv_file *f = hv_alloc(sizeof(*f));

	f->at = *at;
	f->path = hv_strdup(path + strspn(path, "/"));
	f->flags = flags;
	if (at->node->state_bytes)
		f->state = hv_alloc(at->node->state_bytes);
	at->tree->nr_open++;
	at->instance->nr_open++;
	return f;
}

void hv_file_free(struct hv_file *f)
{
	if (f->at.node->release)
		f->at.node->release(f);
	f->at.tree->nr_open--;
	f->at.instance->nr_open--;
	hv_text_deinit(&f->text);
	free(f->state);
	free(f->path);
	free(f);
}

struct hv_err *hv_file_take_anything(struct hv_file *f hv_unused, const char *buf hv_unused,
				     size_t len_bytes, size_t *ret_len)
{
	*ret_len = len_bytes;
	return NULL;
}

void hv_file_log_error(struct hv_file *f, const struct hv_err *err, const char *buf,
		       size_t len_bytes)
{
	struct hv_instance *in = f->at.instance;
	uint64_t now_ns = 0;

	hv_clocks_now_ns(hv_file_session(f)->clocks, in->buffers.clock, &now_ns);
	hv_error_log_add(&in->errors, now_ns, f->path, err->message, buf, len_bytes);
}
