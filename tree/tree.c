/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/tree.h"

#include <assert.h>
#include <string.h>

#include "tracer/sections/section_tracer.h"
#include "tree/files/files.h"
#include "tree/instance/budget.h"
#include "tree/instance/core/instance.h"
#include "tree/instance/core/part.h"
#include "tree/instance/functions.h"
#include "tree/instance/latency/sections.h"
#include "tree/instance/housekeeping.h"
#include "tree/lookup.h"

#define READY_LEN_BYTES 4096 /* a polling reader is assumed to ask for one page */

struct hv_err *hv_tree_new(struct hv_session *session, struct hv_tree **ret)
{
	struct hv_tree *t = hv_alloc(sizeof(*t));
	struct hv_session_stat stat;

	hv_session_stat(session, &stat);
	t->instances = hv_instances_new(session, stat.nr_cpus, &hv_publisher);
	t->root = &hv_root_node;
	hv_scope_set_recording(session->scope, HV_ON);
	*ret = t;
	return NULL;
}

void hv_tree_free(struct hv_tree *tree)
{
	if (!tree)
		return;
	assert(tree->nr_open == 0);
	hv_instances_free(tree->instances);
	free(tree);
}

void hv_tree_drain(struct hv_tree *tree)
{
	if (hv_sections_need_looks(tree->instances))
		hv_section_tracer_look(hv_instances_session(tree->instances)->sections);
	hv_instances_drain(tree->instances);
}

bool hv_tree_drains(const struct hv_tree *tree)
{
	return hv_instances_share(tree->instances) || hv_sections_need_looks(tree->instances);
}

struct hv_err *hv_tree_keep_budget(struct hv_tree *tree, uint64_t limit_ppm, uint64_t now_ns,
				   size_t *ret_nr)
{
	return hv_budget_keep(tree->instances, limit_ppm, now_ns, ret_nr);
}

uint64_t hv_tree_load(const struct hv_tree *tree, struct hv_text *ret_names)
{
	hv_budget_names(tree->instances, ret_names);
	return hv_budget_load_ppm(tree->instances);
}

uint64_t hv_tree_taken_ns(const struct hv_tree *tree)
{
	return hv_budget_taken_ns(tree->instances);
}

void hv_tree_end(struct hv_tree *tree)
{
	tree->ending = 1;
}

struct hv_err *hv_tree_list(struct hv_tree *tree, const char *dir, struct hv_text *ret)
{
	struct hv_path at;
	struct hv_err *err = hv_lookup(tree, dir, &at);

	if (err)
		return err;
	if (!hv_node_is_dir(at.node))
		return hv_err_in(hv_err_new(ENOTDIR, "is not a directory"), "%s", dir);
	for (size_t i = 0; hv_path_name(&at, i, ret); i++)
		hv_text_add(ret, "\n");
	return NULL;
}

struct hv_err *hv_tree_stat(struct hv_tree *tree, const char *path, struct hv_tree_stat *ret)
{
	struct hv_path at;
	struct hv_err *err = hv_lookup(tree, path, &at);

	if (err)
		return err;
	*ret = (struct hv_tree_stat){
		.kind = hv_node_is_dir(at.node) ? HV_TREE_DIR : HV_TREE_FILE,
		.mode = hv_node_mode(at.node),
	};
	return NULL;
}

/* NAME is the last name in PATH. */
static bool exists(struct hv_tree *tree, const char *path, const char *name)
{
	struct hv_path at;
	struct hv_err *err = hv_lookup(tree, path, &at);

	hv_err_free(err);
	/* Every directory has these, although paths do not use them. */
	return !err || strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

uint32_t hv_tree_lacked(struct hv_tree *tree)
{
	uint32_t lacks = tree->lacks;

	tree->lacks = 0;
	return lacks;
}

struct hv_err *hv_tree_mkdir(struct hv_tree *tree, const struct hv_rights *rights, const char *path)
{
	HV_AUTO_FREE char *name = NULL;
	struct hv_path dir;
	struct hv_err *err = hv_lookup_parent(tree, path, &dir, &name);

	if (err)
		return err;
	if (exists(tree, path, name))
		return hv_err_new(EEXIST, "'%s' exists", path);
	if (!dir.node->entries || !dir.node->entries->make)
		return hv_err_new(
			EPERM, "'%s': directories can only be made directly in instances/", path);
	err = hv_path_check(&dir, rights, dir.node->writes);
	if (!err)
		err = dir.node->entries->make(&dir, name);
	return hv_err_in(err, "%s", path);
}

struct hv_err *hv_tree_rmdir(struct hv_tree *tree, const struct hv_rights *rights, const char *path)
{
	HV_AUTO_FREE char *name = NULL;
	struct hv_path dir, at;
	struct hv_err *err = hv_lookup_parent(tree, path, &dir, &name);

	if (!err)
		err = hv_lookup(tree, path, &at);
	if (err)
		return err;
	if (!hv_node_is_dir(at.node))
		return hv_err_new(ENOTDIR, "'%s' is not a directory", path);
	if (at.node != dir.node->entry || !dir.node->entries->remove)
		return hv_err_new(EPERM, "'%s' cannot be removed", path);
	err = hv_path_check(&dir, rights, dir.node->writes);
	if (!err)
		err = hv_path_check(&at, rights, hv_instance_end_need(at.instance));
	if (!err)
		err = dir.node->entries->remove(&at);
	return hv_err_in(err, "%s", path);
}

void hv_tree_refresh(struct hv_tree *tree)
{
	hv_instances_refresh(tree->instances);
}

void hv_tree_rejoin(struct hv_tree *tree)
{
	hv_instances_rejoin(tree->instances);
}

void hv_tree_retire(struct hv_tree *tree)
{
	hv_instances_retire(tree->instances);
}

struct hv_err *hv_tree_step_aside(struct hv_tree *tree)
{
	return hv_instances_step_aside(tree->instances);
}

void hv_tree_missing_tasks(struct hv_tree *tree, struct hv_text *ret)
{
	hv_tasks_missing(tree->instances, ret);
}

struct hv_file *hv_tree_next_dump(struct hv_tree *tree, const char **ret_why)
{
	struct hv_file *f = hv_dump_open(tree);

	if (f)
		*ret_why = f->path;
	return f;
}

/* A reader of trace_pipe consumes events of all other readers and blocks changes of the tracer, so
 * it needs the right to write settings. */
static struct hv_err *check_read(const struct hv_path *at, const struct hv_rights *rights)
{
	struct hv_err *err = hv_path_check(at, rights, at->node->reads);

	if (err && at->tree->lacks == HV_RIGHT_CONTROL)
		err = hv_err_add(err, "; reading %s removes events from the buffer: read trace",
				 at->name);
	return err;
}

static struct hv_err *check_open(const struct hv_path *at, const struct hv_rights *rights,
				 int flags)
{
	bool writes = (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC;
	struct hv_err *err = NULL;

	if ((flags & O_ACCMODE) != O_WRONLY)
		err = check_read(at, rights);
	return !err && writes ? hv_path_check(at, rights, at->node->writes) : err;
}

struct hv_err *hv_tree_open(struct hv_tree *tree, const struct hv_rights *rights, const char *path,
			    int flags, struct hv_file **ret)
{
	struct hv_path at;
	struct hv_err *err;
	struct hv_file *f;

	hv_tree_refresh(tree);
	err = hv_lookup(tree, path, &at);
	if (err)
		return err;
	if (hv_node_is_dir(at.node))
		return hv_err_in(hv_err_new(EISDIR, "is a directory"), "%s", path);
	err = check_open(&at, rights, flags);
	if (err)
		return hv_err_in(err, "%s", path);
	f = hv_file_new(&at, rights, path, flags);
	if (at.node->open)
		err = at.node->open(f);
	if (err) {
		err = hv_err_in(err, "%s", f->path);
		hv_file_free(f);
		return err;
	}
	*ret = f;
	return NULL;
}

static struct hv_err *make_text(struct hv_file *f)
{
	struct hv_err *err = NULL;

	if (f->at.node->fill)
		err = f->at.node->fill(f);
	else if (!f->nr_fills)
		f->at.node->show(f);
	if (!err)
		f->nr_fills++;
	return err;
}

static struct hv_span text_of(const struct hv_file *f)
{
	if (f->shared)
		return (struct hv_span){(const uint8_t *)f->shared->data, f->shared->len_bytes};
	return (struct hv_span){(const uint8_t *)f->text.data, f->text.len_bytes};
}

static void drop_text(struct hv_file *f)
{
	hv_shared_text_drop(f->shared);
	f->shared = NULL;
	hv_text_clear(&f->text);
	f->text_pos = 0;
}

/* Several open files with the same long text share it. */
static struct hv_err *share_text(struct hv_file *f)
{
	struct hv_shared_texts *all = &f->at.tree->texts;

	if (f->text.len_bytes < HV_SHARED_TEXT_MIN)
		return NULL;
	if (!(f->rights->may & HV_RIGHT_ROOT))
		return hv_shared_text_take_limited(all, &f->text, &f->shared);
	f->shared = hv_shared_text_take(all, &f->text);
	return NULL;
}

/* Makes text for a read of LEN_BYTES, unless some of the previous text is unread. */
static struct hv_err *need_text(struct hv_file *f, size_t len_bytes)
{
	struct hv_err *err;

	if (!hv_file_reads(f))
		return hv_err_in(hv_err_new(EBADF, "not open for reading"), "%s", f->path);
	if (!f->at.node->show && !f->at.node->fill)
		return hv_err_in(hv_err_new(EINVAL, "cannot be read"), "%s", f->path);
	if (!len_bytes || f->text_pos < text_of(f).len_bytes)
		return NULL;
	drop_text(f);
	f->asked_bytes = len_bytes;
	err = make_text(f);
	if (!err)
		err = share_text(f);
	return hv_err_in(err, "%s", f->path);
}

struct hv_err *hv_file_ready(struct hv_file *file)
{
	struct hv_err *err = NULL;
	bool always = false;

	if (hv_file_reads(file) && file->at.node->ready &&
	    file->text_pos >= text_of(file).len_bytes)
		err = file->at.node->ready(file, &always);
	if (err || always)
		return hv_err_in(err, "%s", file->path);
	return need_text(file, READY_LEN_BYTES);
}

struct hv_err *hv_file_read(struct hv_file *file, void *buf, size_t len_bytes, size_t *ret_len)
{
	struct hv_err *err = need_text(file, len_bytes);
	struct hv_span text = text_of(file);
	size_t left;

	if (err)
		return err;
	left = text.len_bytes - file->text_pos;
	*ret_len = len_bytes < left ? len_bytes : left;
	if (*ret_len)
		memcpy(buf, text.data + file->text_pos, *ret_len);
	file->text_pos += *ret_len;
	return NULL;
}

struct hv_err *hv_file_write(struct hv_file *file, const void *buf, size_t len_bytes,
			     size_t *ret_len)
{
	struct hv_err *err;

	if (!hv_file_writes(file))
		return hv_err_in(hv_err_new(EBADF, "not open for writing"), "%s", file->path);
	if (!file->at.node->write)
		return hv_err_in(hv_err_new(EINVAL, "cannot be written"), "%s", file->path);
	err = hv_file_check(file, file->at.node->writes);
	if (err)
		return hv_err_in(err, "%s", file->path);
	file->has_logged = 0;
	err = file->at.node->write(file, buf, len_bytes, ret_len);
	if (err && !file->has_logged)
		hv_file_log_error(file, err, buf, len_bytes);
	return hv_err_in(err, "%s", file->path);
}

void hv_file_abandon(struct hv_file *file)
{
	struct hv_tree *t = file->at.tree;
	unsigned ending = t->ending;

	t->ending = 1;
	hv_err_free(hv_file_close(file));
	t->ending = ending;
}

struct hv_err *hv_file_close(struct hv_file *file)
{
	struct hv_err *err = NULL;

	if (hv_file_writes(file) && !file->at.tree->ending)
		err = hv_file_check(file, file->at.node->writes);
	if (err) {
		err = hv_err_in(err, "%s", file->path);
		hv_file_abandon(file);
		return err;
	}
	if (file->at.node->close)
		err = file->at.node->close(file);
	err = hv_err_in(err, "%s", file->path);
	hv_file_free(file);
	return err;
}
