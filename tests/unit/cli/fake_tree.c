/* The tree of a session of fake_layers.c: a few files. Writing to the file "control" makes things
 * happen:
 *     emit N     N lines into trace_pipe          busy N    the next N detaches fail
 *     reboot     the session finds another boot   off       the VMM process ends
 *     dump N     N dumps wait, the Nth of N lines
 *     flood      a dump waits that has 96 MiB */
#include "tree/tree.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/cli/fake_layers.h"

enum {
	FAKE_CONTROL,
	FAKE_TRACER,
	FAKE_FILTER,
	FAKE_NOTRACE,
	FAKE_GRAPH,
	FAKE_PIDS,
	FAKE_TRACING_ON,
	FAKE_TRACE_PIPE,
};

static const char *const fake_names[] = {
	[FAKE_CONTROL] = "control",	     [FAKE_TRACER] = "current_tracer",
	[FAKE_FILTER] = "set_ftrace_filter", [FAKE_NOTRACE] = "set_ftrace_notrace",
	[FAKE_GRAPH] = "set_graph_function", [FAKE_PIDS] = "set_ftrace_pid",
	[FAKE_TRACING_ON] = "tracing_on",    [FAKE_TRACE_PIPE] = "trace_pipe",
};

struct hv_tree {
	struct hv_session *session;
	char values[HV_ARRAY_LEN(fake_names)][256];
	struct hv_text pipe;
	size_t pipe_taken;
	bool pipe_is_open;
	unsigned nr_dumps; /* asked for */
	unsigned nr_dumped;
	bool floods; /* the dump after those */
};

#define FLOOD UINT_MAX

struct hv_file {
	struct hv_tree *tree;
	size_t name;
	size_t at;
	struct hv_text list; /* of a filter file that is written */
	unsigned dump;	     /* which; 0: it is none, FLOOD: the long one */
	int flags;
};

struct hv_err *hv_tree_step_aside(struct hv_tree *tree)
{
	(void)tree;
	return NULL;
}

void hv_tree_refresh(struct hv_tree *tree)
{
	(void)tree;
}

struct hv_err *hv_tree_new(struct hv_session *session, struct hv_tree **ret)
{
	struct hv_tree *t = hv_alloc(sizeof(*t));

	t->session = session;
	strcpy(t->values[FAKE_TRACER], "nop\n");
	strcpy(t->values[FAKE_TRACING_ON], "1\n");
	*ret = t;
	return NULL;
}

void hv_tree_end(struct hv_tree *tree)
{
	(void)tree;
}

void hv_tree_free(struct hv_tree *tree)
{
	if (!tree)
		return;
	hv_text_deinit(&tree->pipe);
	free(tree);
}

bool hv_tree_drains(const struct hv_tree *tree hv_unused)
{
	return false;
}

void hv_tree_drain(struct hv_tree *tree hv_unused)
{
}

void hv_tree_retire(struct hv_tree *tree hv_unused)
{
}

struct hv_file *hv_tree_next_dump(struct hv_tree *tree, const char **ret_why)
{
	struct hv_file *f;

	if (tree->nr_dumped == tree->nr_dumps && !tree->floods)
		return NULL;
	f = hv_alloc(sizeof(*f));
	f->tree = tree;
	if (tree->nr_dumped == tree->nr_dumps) {
		f->dump = FLOOD;
		tree->floods = false;
	} else {
		f->dump = ++tree->nr_dumped;
	}
	*ret_why = "do_exit:dump on CPU 1 by task 7";
	return f;
}

struct hv_err *hv_tree_list(struct hv_tree *tree, const char *dir, struct hv_text *ret)
{
	(void)tree;
	if (*dir)
		return hv_err_in(hv_err_new(ENOENT, "no such directory"), "%s", dir);
	for (size_t i = 0; i < HV_ARRAY_LEN(fake_names); i++)
		hv_text_printf(ret, "%s\n", fake_names[i]);
	return NULL;
}

static bool is_list(const struct hv_file *f)
{
	return f->name == FAKE_FILTER || f->name == FAKE_NOTRACE || f->name == FAKE_GRAPH;
}

struct hv_err *hv_tree_open(struct hv_tree *tree, const char *path, int flags, struct hv_file **ret)
{
	struct hv_file *f;
	size_t i = 0;

	while (i < HV_ARRAY_LEN(fake_names) && strcmp(path, fake_names[i]) != 0)
		i++;
	if (i == HV_ARRAY_LEN(fake_names))
		return hv_err_in(hv_err_new(ENOENT, "no such file"), "%s", path);
	if (i == FAKE_TRACE_PIPE && tree->pipe_is_open)
		return hv_err_in(hv_err_new(EBUSY, "somebody reads it"), "trace_pipe");
	if (i == FAKE_TRACE_PIPE)
		tree->pipe_is_open = true;
	f = hv_alloc(sizeof(*f));
	f->tree = tree;
	f->name = i;
	f->flags = flags;
	if (is_list(f) && !(flags & O_TRUNC))
		hv_text_add(&f->list, tree->values[i]);
	if (!is_list(f) && (flags & O_TRUNC))
		tree->values[i][0] = '\0';
	*ret = f;
	return NULL;
}

struct hv_err *hv_tree_stat(struct hv_tree *tree, const char *path, struct hv_tree_stat *ret)
{
	(void)tree;
	*ret = (struct hv_tree_stat){HV_TREE_DIR, 0700};
	if (!*path)
		return NULL;
	*ret = (struct hv_tree_stat){HV_TREE_FILE, 0640};
	for (size_t i = 0; i < HV_ARRAY_LEN(fake_names); i++)
		if (strcmp(path, fake_names[i]) == 0)
			return NULL;
	return hv_err_in(hv_err_new(ENOENT, "no such file"), "%s", path);
}

struct hv_err *hv_tree_mkdir(struct hv_tree *tree, const char *path)
{
	(void)tree;
	return hv_err_in(hv_err_new(EPERM, "no directories can be made here"), "%s", path);
}

struct hv_err *hv_tree_rmdir(struct hv_tree *tree, const char *path)
{
	(void)tree;
	return hv_err_in(hv_err_new(EPERM, "is always there"), "%s", path);
}

static struct hv_err *read_pipe(struct hv_tree *t, void *buf, size_t len, size_t *ret_len)
{
	size_t left = t->pipe.len_bytes - t->pipe_taken;

	if (!left)
		return hv_err_new(EAGAIN, "trace_pipe: nothing yet");
	len = left < len ? left : len;
	memcpy(buf, t->pipe.data + t->pipe_taken, len);
	t->pipe_taken += len;
	*ret_len = len;
	return NULL;
}

struct hv_err *hv_file_read(struct hv_file *file, void *buf, size_t len_bytes, size_t *ret_len)
{
	const char *value = file->tree->values[file->name];
	size_t len = strlen(value);
	size_t left = file->at < len ? len - file->at : 0;

	if (file->dump == FLOOD) {
		*ret_len = file->at++ < (96 << 20) / len_bytes ? len_bytes : 0;
		memset(buf, 'x', *ret_len);
		return NULL;
	}
	if (file->dump) {
		*ret_len = file->at++ < file->dump ? 5 : 0;
		memcpy(buf, "line\n", *ret_len);
		return NULL;
	}
	if (file->name == FAKE_TRACE_PIPE)
		return read_pipe(file->tree, buf, len_bytes, ret_len);
	len_bytes = left < len_bytes ? left : len_bytes;
	memcpy(buf, value + file->at, len_bytes);
	file->at += len_bytes;
	*ret_len = len_bytes;
	return NULL;
}

static void control(struct hv_tree *t, const char *text)
{
	unsigned n = 0;

	if (sscanf(text, "emit %u", &n) == 1) {
		for (unsigned i = 0; i < n; i++)
			hv_text_printf(&t->pipe, "line %u\n", i);
	} else if (sscanf(text, "busy %u", &n) == 1) {
		fake_session_of(t->session)->busy = n;
	} else if (sscanf(text, "dump %u", &n) == 1) {
		t->nr_dumps += n;
	} else if (strncmp(text, "flood", 5) == 0) {
		t->floods = true;
	} else if (strncmp(text, "reboot", 6) == 0) {
		fake_session_of(t->session)->rebooted = true;
	} else if (strncmp(text, "off", 3) == 0) {
		fake_guest_ends(fake_session_of(t->session)->guest);
	}
}

/* Filter files take a word a call and publish at close, as the kernel's do. */
static struct hv_err *write_filter(struct hv_file *f, const char *buf, size_t len, size_t *ret_len)
{
	size_t word = strcspn(buf, " \n");

	if (strncmp(buf, "nosuch", word) == 0 && word)
		return hv_err_in(hv_err_new(EINVAL, "no function matches '%.*s'", (int)word, buf),
				 "set_ftrace_filter");
	if (word)
		hv_text_printf(&f->list, "%.*s\n", (int)word, buf);
	*ret_len = word < len ? word + 1 : word;
	return NULL;
}

struct hv_err *hv_file_write(struct hv_file *file, const void *buf, size_t len_bytes,
			     size_t *ret_len)
{
	char text[256] = "";

	if (len_bytes >= sizeof(text))
		return hv_err_new(EINVAL, "%zu bytes are too many", len_bytes);
	memcpy(text, buf, len_bytes);
	if (is_list(file))
		return write_filter(file, text, len_bytes, ret_len);
	if (file->name == FAKE_CONTROL)
		control(file->tree, text);
	else if (file->name == FAKE_TRACER && file->tree->pipe_is_open)
		return hv_err_new(EBUSY, "trace_pipe is open");
	else if (file->name == FAKE_TRACER && strcmp(text, "stuck\n") == 0)
		return hv_err_mark(hv_err_new(EIO, "could not be undone (no hold)"),
				   HV_ERR_NEEDS_RECOVERY);
	else
		strcpy(file->tree->values[file->name], text);
	if (file->name == FAKE_TRACER) {
		fake_session_of(file->tree->session)->nr_patched =
			strcmp(text, "nop\n") == 0 ? 0 : 2;
		fake_session_of(file->tree->session)->nr_holds++;
	}
	*ret_len = len_bytes;
	return NULL;
}

struct hv_err *hv_file_ready(struct hv_file *file)
{
	if (file->name == FAKE_TRACE_PIPE && file->tree->pipe.len_bytes == file->tree->pipe_taken)
		return hv_err_new(EAGAIN, "trace_pipe: nothing yet");
	return NULL;
}

void hv_file_abandon(struct hv_file *file)
{
	if (file->name == FAKE_TRACE_PIPE)
		file->tree->pipe_is_open = false;
	hv_text_deinit(&file->list);
	free(file);
}

struct hv_err *hv_file_close(struct hv_file *file)
{
	if (is_list(file) && (file->flags & O_ACCMODE) != O_RDONLY)
		snprintf(file->tree->values[file->name], sizeof(file->tree->values[0]), "%s",
			 file->list.data ? file->list.data : "");
	hv_file_abandon(file);
	return NULL;
}
