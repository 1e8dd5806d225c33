#include "tracer/tree.h"

#include <assert.h>
#include <string.h>

#include "tracer/node.h"

/* In the order of README and of a listing. */
const struct hv_node hv_nodes[] = {
	{.name = "README", .help = "this text", .show = hv_readme_show},
	{.name = "available_filter_functions",
	 .help = "functions that can be traced, in the order of their indices",
	 .show = hv_sites_show},
	{.name = "available_filter_functions_addrs",
	 .help = "likewise, each after its address",
	 .show = hv_sites_addrs_show},
	{.name = "available_tracers", .help = "names for current_tracer", .show = hv_tracers_show},
	{.name = "buffer_size_kb", .help = "size of one CPU's buffer; fixed", .show = hv_size_show},
	{.name = "buffer_total_size_kb",
	 .help = "size of all CPUs' buffers",
	 .show = hv_total_size_show},
	{.name = "current_tracer",
	 .help = "a tracer's name; a change clears the buffer",
	 .show = hv_tracer_show,
	 .write = hv_tracer_write},
	{.name = "enabled_functions",
	 .help = "functions that are being traced now",
	 .show = hv_patched_show},
	{.name = "saved_cmdlines", .help = "pid and name of tasks", .show = hv_comms_show},
	{.name = "set_ftrace_filter",
	 .help = "trace only these: [!]GLOB, INDEX, [!]GLOB:mod:[!]MODULE; empty: all",
	 .open = hv_list_open,
	 .show = hv_list_show,
	 .write = hv_list_write,
	 .close = hv_list_close,
	 .arg = HV_LIST_FILTER},
	{.name = "set_ftrace_notrace",
	 .help = "never trace these; as set_ftrace_filter",
	 .open = hv_list_open,
	 .show = hv_list_show,
	 .write = hv_list_write,
	 .close = hv_list_close,
	 .arg = HV_LIST_NOTRACE},
	{.name = "set_ftrace_pid",
	 .help = "trace only these tasks (thread ids); empty: all",
	 .open = hv_pids_open,
	 .show = hv_pids_show,
	 .write = hv_pids_write},
	{.name = "trace",
	 .help = "what the buffer holds; opened for writing with truncation: clears it",
	 .open = hv_trace_open,
	 .fill = hv_trace_fill,
	 .write = hv_trace_write},
	{.name = "trace_clock",
	 .help = "clock of the time stamps",
	 .show = hv_clock_show,
	 .write = hv_clock_write},
	{.name = "trace_options",
	 .help = "options, one a line; write NAME or noNAME",
	 .show = hv_options_show,
	 .write = hv_options_write},
	{.name = "trace_pipe",
	 .help = "what the buffer holds, taken out as it is read; waits for more",
	 .open = hv_pipe_open,
	 .fill = hv_pipe_fill,
	 .close = hv_pipe_close},
	{.name = "tracing_on",
	 .help = "0 stops recording, 1 lets it go on",
	 .show = hv_recording_show,
	 .write = hv_recording_write},
	{0},
};

struct hv_err *hv_tree_new(struct hv_session *session, struct hv_tree **ret)
{
	struct hv_tree *t = hv_alloc(sizeof(*t));

	t->session = session;
	t->tracer = HV_TRACER_NOP;
	t->recording = 1;
	t->options = hv_options_default();
	hv_session_set_recording(session, 1);
	*ret = t;
	return NULL;
}

void hv_tree_free(struct hv_tree *tree)
{
	if (!tree)
		return;
	assert(tree->nr_open == 0);
	for (unsigned i = 0; i < HV_NR_FILTER_LISTS; i++)
		hv_filter_deinit(&tree->lists[i]);
	hv_pidlist_deinit(&tree->pids);
	free(tree);
}

void hv_tree_end(struct hv_tree *tree)
{
	tree->ending = 1;
}

static const struct hv_node *find_node(const char *name, size_t len)
{
	for (const struct hv_node *n = hv_nodes; n->name; n++)
		if (strlen(n->name) == len && memcmp(n->name, name, len) == 0)
			return n;
	return NULL;
}

/* *RET is NULL for the top directory. */
static struct hv_err *look_up(const char *path, const struct hv_node **ret)
{
	size_t len;

	path += strspn(path, "/");
	len = strcspn(path, "/");
	*ret = find_node(path, len);
	if (!len)
		return NULL;
	if (!*ret)
		return hv_err_new(ENOENT, "%s: no such file", path);
	if (path[len])
		return hv_err_new(ENOTDIR, "%s: '%s' is not a directory", path, (*ret)->name);
	return NULL;
}

struct hv_err *hv_tree_list(struct hv_tree *tree hv_unused, const char *dir, struct hv_text *ret)
{
	const struct hv_node *node;
	struct hv_err *err;

	err = look_up(dir, &node);
	if (err)
		return err;
	if (node)
		return hv_err_new(ENOTDIR, "%s: not a directory", dir);
	for (const struct hv_node *n = hv_nodes; n->name; n++)
		hv_text_printf(ret, "%s\n", n->name);
	return NULL;
}

static void file_free(struct hv_file *f)
{
	f->tree->nr_open--;
	hv_cursor_free(f->cursor);
	free(f->started);
	hv_filter_deinit(&f->list);
	hv_text_deinit(&f->text);
	free(f);
}

void hv_tree_refresh(struct hv_tree *tree)
{
	if (hv_session_refresh(tree->session) && tree->tracer != HV_TRACER_NOP)
		/* Nobody asked for it: a guest that cannot be changed now is told at the next
		 * write. */
		hv_err_free(hv_tree_trace(tree, tree->tracer, tree->lists));
}

struct hv_err *hv_tree_open(struct hv_tree *tree, const char *path, int flags, struct hv_file **ret)
{
	const struct hv_node *node;
	struct hv_err *err;
	struct hv_file *f;

	err = look_up(path, &node);
	if (err)
		return err;
	if (!node)
		return hv_err_new(EISDIR, "'%s' is a directory", path);
	hv_tree_refresh(tree);
	f = hv_alloc(sizeof(*f));
	f->tree = tree;
	f->node = node;
	f->flags = flags;
	tree->nr_open++;
	if (node->open)
		err = node->open(f);
	if (err) {
		file_free(f);
		return hv_err_in(err, "%s", node->name);
	}
	*ret = f;
	return NULL;
}

static struct hv_err *make_text(struct hv_file *f)
{
	struct hv_err *err = NULL;

	if (f->node->fill)
		err = f->node->fill(f);
	else if (!f->nr_fills)
		f->node->show(f);
	if (!err)
		f->nr_fills++;
	return err;
}

struct hv_err *hv_file_read(struct hv_file *file, void *buf, size_t len_bytes, size_t *ret_len)
{
	struct hv_err *err;
	size_t left;

	if (!hv_file_reads(file))
		return hv_err_new(EBADF, "%s: not open for reading", file->node->name);
	if (len_bytes && file->text_pos == file->text.len_bytes) {
		hv_text_clear(&file->text);
		file->text_pos = 0;
		file->asked_bytes = len_bytes;
		err = make_text(file);
		if (err)
			return hv_err_in(err, "%s", file->node->name);
	}
	left = file->text.len_bytes - file->text_pos;
	*ret_len = len_bytes < left ? len_bytes : left;
	if (*ret_len)
		memcpy(buf, file->text.data + file->text_pos, *ret_len);
	file->text_pos += *ret_len;
	return NULL;
}

struct hv_err *hv_file_write(struct hv_file *file, const void *buf, size_t len_bytes,
			     size_t *ret_len)
{
	struct hv_err *err;

	if (!hv_file_writes(file))
		return hv_err_new(EBADF, "%s: not open for writing", file->node->name);
	if (!file->node->write)
		return hv_err_new(EINVAL, "%s: cannot be written", file->node->name);
	err = file->node->write(file, buf, len_bytes, ret_len);
	return hv_err_in(err, "%s", file->node->name);
}

struct hv_err *hv_file_close(struct hv_file *file)
{
	const struct hv_node *node = file->node;
	struct hv_err *err = NULL;

	if (node->close)
		err = node->close(file);
	file_free(file);
	return hv_err_in(err, "%s", node->name);
}
