/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/prefix.h"
#include "cli/service/guest_memory.h"
#include "cli/service/trail.h"
#include "kernel/kernel.h"

#define NAME_LEN_MAX 512 /* KSYM_NAME_LEN */
#define TYPES_DIR    "types/"
#define OPEN_FLAGS   (O_ACCMODE | O_TRUNC | O_APPEND | O_NONBLOCK)

/* Logs pids without a task in the guest. A program that writes its own pid means a task of the
 * host, and would find nothing in the trace. */
static void log_missing_tasks(struct service *s)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	char *rest = NULL;

	hv_tree_missing_tasks(s->tree, &text);
	for (char *line = text.data ? strtok_r(text.data, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest))
		audit_log(&s->audit, "%s: the guest has no such task now", line);
}

bool files_is_pipe(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *name = slash ? slash + 1 : path;

	return name && hv_starts_with(name, "trace_pipe");
}

/* Adds the readers of trace_pipe to ERR, which may be NULL, if they may be the reason. */
static struct hv_err *name_readers(const struct service *s, struct hv_err *err)
{
	const char *separator = ": ";

	if (!err || err->code != EBUSY)
		return err;
	for (size_t i = 0; i < s->nr_peers; i++)
		for (size_t j = 0; j < s->peers[i]->nr_files; j++) {
			const struct peer *p = s->peers[i];

			if (!files_is_pipe(p->files[j].path))
				continue;
			err = hv_err_add(err, "%spid %d%s has %s open", separator, (int)p->cred.pid,
					 p->mount_dir ? " (a mount)" : "", p->files[j].path);
			separator = ", ";
		}
	return err;
}

static void answer_ok(struct peer *p)
{
	peer_answer(p, &(struct wire_frame){.kind = WIRE_OK});
}

static struct hv_err *get_path(const struct wire_frame *frame, char **ret)
{
	if (!wire_string(frame->data, PATH_MAX, ret))
		return hv_err_new(ENAMETOOLONG, "path of %zu bytes: too long, or with a NUL",
				  frame->data.len_bytes);
	return NULL;
}

struct hv_err *files_list(struct service *s, struct peer *p, const struct wire_frame *frame)
{
	HV_AUTO_TEXT struct hv_text names = {0};
	HV_AUTO_FREE char *path = NULL;
	struct hv_err *err = get_path(frame, &path);

	if (err)
		return err;
	err = hv_tree_list(s->tree, path, &names);
	if (err)
		return err;
	peer_answer_bytes(p, names.data, names.len_bytes);
	return NULL;
}

struct hv_err *files_look(struct service *s, struct peer *p, const struct wire_frame *frame)
{
	HV_AUTO_FREE char *path = NULL;
	struct hv_tree_stat stat;
	struct hv_err *err = get_path(frame, &path);

	if (!err)
		err = hv_tree_stat(s->tree, path, &stat);
	if (err)
		return err;
	peer_answer(p, &(struct wire_frame){
			       .kind = WIRE_OK,
			       .arg = stat.mode | (stat.kind == HV_TREE_DIR ? S_IFDIR : S_IFREG),
		       });
	return NULL;
}

/* Records that the thing NAME, which is copied, belongs to PEER. */
static void made_add(struct made_things *m, enum made_kind kind, const char *name,
		     const struct peer *peer)
{
	m->list = hv_realloc_array(m->list, m->nr + 1, sizeof(*m->list));
	m->list[m->nr++] = (struct made_thing){kind,
					       hv_strdup(name),
					       peer,
					       peer->who,
					       {peer->may.may, "its client", "hvtrace.conf"}};
}

static void drop(struct made_things *m, size_t index)
{
	free(m->list[index].name);
	m->list[index] = m->list[--m->nr];
}

static void made_removed(struct made_things *m, enum made_kind kind, const char *name)
{
	for (size_t i = m->nr; i-- > 0;)
		if (m->list[i].kind == kind && strcmp(m->list[i].name, name) == 0)
			drop(m, i);
}

struct hv_err *files_mkdir(struct service *s, struct peer *p, const struct wire_frame *frame)
{
	HV_AUTO_FREE char *path = NULL;
	struct hv_err *err = get_path(frame, &path);

	if (!err)
		err = hv_tree_mkdir(s->tree, &p->may, path);
	if (err)
		return err;
	if (frame->arg)
		made_add(&s->made, MADE_DIR, path, p);
	answer_ok(p);
	return NULL;
}

/* Removes a directory of instances/ for WHO, and logs the resulting changes of the guest. */
static struct hv_err *remove_dir(struct service *s, const struct audit_actor *who,
				 const struct hv_rights *may, const char *path)
{
	struct trail_step step;
	struct hv_err *err;

	step = trail_begin(s);
	err = hv_tree_rmdir(s->tree, may, path);
	trail_change(s, who, path, &step, TRAIL_MAYBE);
	return err;
}

struct hv_err *files_rmdir(struct service *s, struct peer *p, const struct wire_frame *frame)
{
	HV_AUTO_FREE char *path = NULL;
	struct hv_err *err = get_path(frame, &path);

	if (!err)
		err = remove_dir(s, &p->who, &p->may, path);
	if (err)
		return err;
	made_removed(&s->made, MADE_DIR, path);
	answer_ok(p);
	return NULL;
}

/* Repeats writes until all is taken, as a shell does. */
static struct hv_err *write_all(struct hv_file *file, struct hv_span data, size_t *ret_taken)
{
	size_t taken = 1, done = 0;
	struct hv_err *err = NULL;

	while (!err && taken && done < data.len_bytes) {
		err = hv_file_write(file, data.data + done, data.len_bytes - done, &taken);
		if (!err)
			done += taken;
	}
	*ret_taken = done;
	return err;
}

/* -- events that belong to a connection ------------------------------------------------------- */

#define DYNAMIC_EVENTS	   "dynamic_events"
#define DEFINITION_MAX_LEN 4096

/* Returns GROUP/NAME of "LETTER:GROUP/NAME ..." or "-:GROUP/NAME", or NULL. The caller frees it. */
static char *name_of(const char *line)
{
	size_t word = strcspn(line, " \t\n"), before = strcspn(line, ":"), len;
	const char *name = line + before + 1, *slash;

	if (before >= word || strchr(line, '\n'))
		return NULL;
	len = word - before - 1;
	slash = memchr(name, '/', len);
	if (!slash || slash == name || slash == name + len - 1 ||
	    memchr(slash + 1, '/', len - (size_t)(slash + 1 - name)))
		return NULL;
	return hv_format("%.*s", (int)len, name);
}

/* Writes LINE to dynamic_events for WHO, and logs the resulting changes of the guest. */
static struct hv_err *write_definition(struct service *s, const struct audit_actor *who,
				       const struct hv_rights *may, const char *line)
{
	HV_AUTO_FREE char *text = hv_format("%s\n", line);
	struct trail_step step = trail_begin(s);
	struct hv_file *file;
	size_t taken;
	struct hv_err *err = hv_tree_open(s->tree, may, DYNAMIC_EVENTS, O_WRONLY | O_APPEND, &file);

	if (err)
		return err;
	err = write_all(file, (struct hv_span){(const uint8_t *)text, strlen(text)}, &taken);
	if (err)
		hv_file_abandon(file);
	else
		err = hv_file_close(file);
	trail_change(s, who, DYNAMIC_EVENTS, &step, TRAIL_WRITTEN);
	return err;
}

static struct hv_err *remove_event(struct service *s, const struct audit_actor *who,
				   const struct hv_rights *may, const char *name)
{
	HV_AUTO_FREE char *line = hv_format("-:%s", name);

	return write_definition(s, who, may, line);
}

/* Otherwise a definition would add a probe to the event of another client. */
static struct hv_err *check_is_new(struct service *s, const char *name)
{
	HV_AUTO_FREE char *path = hv_format("events/%s", name);
	struct hv_tree_stat stat;
	HV_AUTO_ERR struct hv_err *err = hv_tree_stat(s->tree, path, &stat);

	if (!err)
		return hv_err_new(EEXIST, "%s exists", path);
	return err->code == ENOENT ? NULL : hv_take(err);
}

struct hv_err *files_define(struct service *s, struct peer *p, const struct wire_frame *frame)
{
	HV_AUTO_FREE char *line = NULL, *name = NULL;
	struct hv_err *err = NULL;

	if (wire_string(frame->data, DEFINITION_MAX_LEN, &line))
		name = name_of(line);
	if (!name)
		return hv_err_new(EINVAL, "a definition is one line that begins with "
					  "LETTER:GROUP/NAME");
	if (line[0] == '-') {
		err = remove_event(s, &p->who, &p->may, name);
		if (!err)
			made_removed(&s->made, MADE_EVENT, name);
	} else {
		err = check_is_new(s, name);
		if (!err)
			err = write_definition(s, &p->who, &p->may, line);
		if (!err)
			made_add(&s->made, MADE_EVENT, name, p);
	}
	if (!err)
		answer_ok(p);
	return err;
}

static void add_symbols(const struct hv_symbols *s, const char *module, struct hv_text *ret)
{
	for (size_t i = 0; i < s->nr; i++) {
		const struct hv_symbol *symbol = &s->by_addr[i];

		hv_text_printf(ret, "%016llx %c ", (unsigned long long)symbol->addr.v,
			       symbol->type > ' ' && symbol->type < 0x7f ? symbol->type : '?');
		hv_text_add_guest(ret, symbol->name, NAME_LEN_MAX);
		if (module) {
			hv_text_add(ret, "\t[");
			hv_text_add_guest(ret, module, NAME_LEN_MAX);
			hv_text_add(ret, "]");
		}
		hv_text_add(ret, "\n");
	}
}

static void add_kallsyms(const struct hv_kernel *k, struct hv_text *ret)
{
	add_symbols(&k->core.symbols, NULL, ret);
	for (size_t i = 0; i < k->modules.nr; i++)
		add_symbols(&k->modules.list[i].symbols, k->modules.list[i].name, ret);
}

/* Size and users of modules are not read: lines look as on a kernel without module unloading. */
static void add_modules(const struct hv_kernel *k, struct hv_text *ret)
{
	for (size_t i = 0; i < k->modules.nr; i++) {
		const struct hv_module *m = &k->modules.list[i];

		hv_text_add_guest(ret, m->name, sizeof(m->name));
		hv_text_printf(ret, " %llu - - Live 0x%016llx\n",
			       (unsigned long long)(m->text.end.v - m->text.start.v),
			       (unsigned long long)m->text.start.v);
	}
}

/* Generates files of the guest's /proc and /sys from its kernel, for programs that read them in
 * addition to tracefs. Names are sanitised for a terminal. NAME: "kallsyms", "version", "modules",
 * "cpus" (the list of /sys/devices/system/cpu), or "types/" and a type. ENOENT for other names. */
static struct hv_err *proc_text(const struct hv_kernel *k, unsigned nr_cpus, const char *name,
				struct hv_text *ret)
{
	if (hv_starts_with(name, TYPES_DIR))
		return guest_type_text(k, name + strlen(TYPES_DIR), ret);
	if (strcmp(name, "kallsyms") == 0)
		add_kallsyms(k, ret);
	else if (strcmp(name, "version") == 0)
		hv_text_printf(ret, "%s\n", k->banner);
	else if (strcmp(name, "modules") == 0)
		add_modules(k, ret);
	else if (strcmp(name, "cpus") == 0 && nr_cpus > 1)
		hv_text_printf(ret, "0-%u\n", nr_cpus - 1);
	else if (strcmp(name, "cpus") == 0)
		hv_text_add(ret, "0\n");
	else
		return hv_err_new(ENOENT, "hvtrace does not provide the guest's /proc/%s", name);
	return NULL;
}

static struct hv_err *free_handle(struct peer *p, uint32_t *ret)
{
	int index = peer_free_handle(p);

	if (index < 0)
		return hv_err_new(EMFILE, "%zu files are open on this connection", p->files_max);
	*ret = (uint32_t)index;
	return NULL;
}

static void answer_handle(struct peer *p, uint32_t handle, const struct peer_file *file)
{
	p->files[handle] = *file;
	peer_answer(p, &(struct wire_frame){.kind = WIRE_OK, .handle = handle});
}

struct hv_err *files_open(struct service *s, struct peer *p, const struct wire_frame *frame)
{
	struct peer_file f = {.flags = (int)frame->arg & OPEN_FLAGS};
	HV_AUTO_FREE char *path = NULL;
	struct trail_step step;
	uint32_t handle = 0;
	struct hv_err *err = get_path(frame, &path);

	if (!err)
		err = free_handle(p, &handle);
	if (err)
		return err;
	step = trail_begin(s);
	err = hv_tree_open(s->tree, &p->may, path, f.flags, &f.file);
	if (err)
		return files_is_pipe(path) ? name_readers(s, err) : err;
	trail_change(s, &p->who, path, &step, TRAIL_MAYBE);
	f.path = hv_take(path);
	answer_handle(p, handle, &f);
	return NULL;
}

struct hv_err *files_open_proc(struct service *s, struct peer *p, const struct wire_frame *frame)
{
	struct peer_file f = {0};
	HV_AUTO_FREE char *path = NULL;
	HV_AUTO_TEXT struct hv_text text = {0};
	uint32_t handle = 0;
	struct hv_err *err = get_path(frame, &path);

	if (!err)
		err = free_handle(p, &handle);
	if (!err)
		err = proc_text(s->kernel, hv_guest_info(s->guest)->nr_vcpus, path, &text);
	if (err)
		return err;
	if (p->is_root)
		f.text = hv_shared_text_take(&s->texts, &text);
	else
		err = hv_shared_text_take_limited(&s->texts, &text, &f.text);
	if (err)
		return hv_err_in(err, "%s", path);
	f.path = hv_take(path);
	answer_handle(p, handle, &f);
	return NULL;
}

static struct hv_err *find_file(struct peer *p, uint32_t handle, struct peer_file **ret)
{
	struct peer_file *f = peer_file(p, handle);

	if (!f)
		return hv_err_new(EBADF, "handle %u is not open", handle);
	*ret = f;
	return NULL;
}

/* Continues after the last read. EAGAIN: no data now, as for trace_pipe. */
static struct hv_err *read_on(struct peer_file *f, void *buf, size_t len_bytes, size_t *ret_len)
{
	struct hv_file *file = f->again ? f->again : f->file;
	struct hv_err *err = NULL;

	if (file) {
		err = hv_file_read(file, buf, len_bytes, ret_len);
	} else {
		size_t left = f->text->len_bytes - (size_t)f->pos;

		*ret_len = len_bytes < left ? len_bytes : left;
		if (*ret_len)
			memcpy(buf, f->text->data + f->pos, *ret_len);
	}
	if (!err)
		f->pos += *ret_len;
	return err;
}

/* Rewinds the file and, like seq_file, generates the text again. A file that is also open for
 * writing keeps its pending writes; another open file is read instead. */
static struct hv_err *rewind_file(struct service *s, const struct peer *p, struct peer_file *f)
{
	bool writes = (f->flags & O_ACCMODE) != O_RDONLY;
	struct hv_file **reader = writes ? &f->again : &f->file;
	struct hv_file *file;
	struct hv_err *err;

	f->pos = 0;
	if (!f->file)
		return NULL;
	err = hv_tree_open(s->tree, &p->may, f->path, O_RDONLY | (f->flags & O_NONBLOCK), &file);
	if (err)
		return err;
	if (*reader)
		hv_file_abandon(*reader);
	*reader = file;
	return NULL;
}

static struct hv_err *seek_to(struct service *s, const struct peer *p, struct peer_file *f,
			      uint64_t pos)
{
	char skipped[4096];
	size_t len = 1;
	struct hv_err *err = NULL;

	if (pos < f->pos)
		err = rewind_file(s, p, f);
	while (!err && len && f->pos < pos) {
		uint64_t left = pos - f->pos;

		err = read_on(f, skipped, left < sizeof(skipped) ? (size_t)left : sizeof(skipped),
			      &len);
	}
	return err;
}

static struct hv_err *read_some(struct peer *p, uint32_t handle, uint32_t want_bytes)
{
	size_t len = want_bytes < WIRE_DATA_MAX ? want_bytes : WIRE_DATA_MAX;
	HV_AUTO_FREE char *buf = hv_alloc(len);
	struct peer_file *f = NULL;
	struct hv_err *err = find_file(p, handle, &f);

	if (!err)
		err = read_on(f, buf, len, &len);
	if (!err)
		peer_answer_bytes(p, buf, len);
	return err;
}

static struct hv_err *be_ready(struct peer *p, uint32_t handle)
{
	struct peer_file *f = NULL;
	struct hv_err *err = find_file(p, handle, &f);

	if (!err && f->file)
		err = hv_file_ready(f->file);
	if (!err)
		answer_ok(p);
	return err;
}

/* Makes FRAME's request wait if ERR means that there is no data yet and the request may wait.
 * Otherwise returns ERR. Takes ERR. */
static struct hv_err *wait_or(struct peer *p, const struct wire_frame *frame, struct hv_err *err)
{
	struct peer_wait wait = {
		.kind = frame->kind,
		.tag = frame->tag,
		.handle = frame->handle,
		.want_bytes = frame->arg,
		.until_ns = frame->wait_ms == WIRE_WAIT_FOREVER
				    ? UINT64_MAX
				    : hv_now_ns() + frame->wait_ms * 1000000ull,
	};

	if (!err || err->code != EAGAIN || frame->wait_ms == 0 || !peer_add_wait(p, &wait))
		return err;
	hv_err_free(err);
	return NULL;
}

struct hv_err *files_read(struct service *s, struct peer *p, const struct wire_frame *frame)
{
	struct peer_file *f = NULL;
	struct hv_err *err = find_file(p, frame->handle, &f);
	uint64_t pos;

	if (!err && hv_span_u64(frame->data, 0, &pos) && pos != f->pos)
		err = seek_to(s, p, f, pos);
	if (!err)
		err = read_some(p, frame->handle, frame->arg);
	return wait_or(p, frame, err);
}

struct hv_err *files_ready(struct service *s hv_unused, struct peer *p,
			   const struct wire_frame *frame)
{
	return wait_or(p, frame, be_ready(p, frame->handle));
}

static void end_wait(struct peer *p, size_t index, struct hv_err *err)
{
	p->tag = p->waits[index].tag;
	peer_drop_wait(p, index);
	if (err)
		peer_answer_error(p, err);
}

struct hv_err *files_cancel(struct service *s hv_unused, struct peer *p,
			    const struct wire_frame *frame)
{
	for (size_t i = p->nr_waits; i-- > 0;)
		if (p->waits[i].tag == frame->arg)
			end_wait(p, i, hv_err_new(EINTR, "interrupted"));
	p->tag = frame->tag;
	answer_ok(p);
	return NULL;
}

void files_retry(struct service *s, struct peer *p, uint64_t now_ns)
{
	for (size_t i = 0; i < p->nr_waits && s->state == SERVE_RUNS;) {
		const struct peer_wait w = p->waits[i];
		struct hv_err *err;

		/* While an answer is not sent completely, the other requests wait: the buffer holds
		 * one answer. */
		if (p->gone || peer_has_output(p))
			return;
		p->tag = w.tag;
		err = w.kind == WIRE_READ ? read_some(p, w.handle, w.want_bytes)
					  : be_ready(p, w.handle);
		if (err && err->code == EAGAIN && now_ns < w.until_ns) {
			hv_err_free(err);
			i++;
			continue;
		}
		end_wait(p, i, err);
	}
}

void files_end_waits(struct peer *p, const struct hv_err *why)
{
	while (p->nr_waits) {
		end_wait(p, 0, why ? hv_err_copy(why) : NULL);
		if (!why)
			peer_answer_bytes(p, NULL, 0);
	}
}

static bool is_named(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	return strcmp(slash ? slash + 1 : path, name) == 0;
}

struct hv_err *files_write(struct service *s, struct peer *p, const struct wire_frame *frame)
{
	struct trail_step step;
	struct peer_file *f = NULL;
	size_t taken;
	struct hv_err *err = find_file(p, frame->handle, &f);

	if (!err && !f->file)
		err = hv_err_new(EBADF, "%s: not open for writing", f->path);
	if (err)
		return err;
	step = trail_begin(s);
	if (frame->arg)
		err = write_all(f->file, frame->data, &taken);
	else
		err = hv_file_write(f->file, frame->data.data, frame->data.len_bytes, &taken);
	trail_change(s, &p->who, f->path, &step, TRAIL_WRITTEN);
	if (err)
		return is_named(f->path, "current_tracer") ? name_readers(s, err) : err;
	if (is_named(f->path, "set_ftrace_pid"))
		log_missing_tasks(s);
	peer_answer(p, &(struct wire_frame){.kind = WIRE_OK, .arg = (uint32_t)taken});
	return NULL;
}

/* Ends requests that wait for a file that is being closed. */
static void end_waits_for(struct peer *p, uint32_t handle)
{
	uint32_t tag = p->tag;

	for (size_t i = p->nr_waits; i-- > 0;)
		if (p->waits[i].handle == handle)
			end_wait(p, i, hv_err_new(EINTR, "closed"));
	p->tag = tag;
}

static void file_deinit(struct peer_file *f)
{
	if (f->again)
		hv_file_abandon(f->again);
	hv_shared_text_drop(f->text);
	free(f->path);
	*f = (struct peer_file){0};
}

static struct hv_err *close_tree_file(struct service *s, struct peer *p, struct peer_file *f)
{
	struct trail_step step;
	struct hv_err *err;

	if (!f->file)
		return NULL;
	step = trail_begin(s);
	err = hv_file_close(hv_take(f->file));
	trail_change(s, &p->who, f->path, &step,
		     (f->flags & O_ACCMODE) == O_RDONLY ? TRAIL_MAYBE : TRAIL_PUBLISHED);
	if (err)
		audit_log(&s->audit, "%s: close: %s", f->path, err->message);
	return err;
}

static struct hv_err *close_file(struct service *s, struct peer *p, struct peer_file *f)
{
	struct hv_err *err = close_tree_file(s, p, f);

	file_deinit(f);
	return err;
}

struct hv_err *files_close(struct service *s, struct peer *p, const struct wire_frame *frame)
{
	struct peer_file *f = NULL;
	struct hv_err *err = find_file(p, frame->handle, &f);

	if (err)
		return err;
	end_waits_for(p, frame->handle);
	err = close_file(s, p, f);
	if (!err)
		answer_ok(p);
	return err;
}

/* Closes the file, which publishes, and reopens it. If that fails, the handle has no file. */
struct hv_err *files_publish(struct service *s, struct peer *p, const struct wire_frame *frame)
{
	struct peer_file *f = NULL;
	struct hv_err *err = find_file(p, frame->handle, &f);

	if (err)
		return err;
	err = close_tree_file(s, p, f);
	/* Reads also restart at the beginning. */
	if (f->again)
		hv_file_abandon(hv_take(f->again));
	f->pos = 0;
	hv_err_keep_first(&err, hv_tree_open(s->tree, &p->may, f->path,
					     (f->flags & ~O_TRUNC) | O_APPEND, &f->file));
	if (err)
		return err;
	answer_ok(p);
	return NULL;
}

static void abandon_file(struct peer_file *f)
{
	if (f->file)
		hv_file_abandon(f->file);
	file_deinit(f);
}

struct hv_err *files_abandon(struct service *s hv_unused, struct peer *p,
			     const struct wire_frame *frame)
{
	struct peer_file *f = NULL;
	struct hv_err *err = find_file(p, frame->handle, &f);

	if (err)
		return err;
	end_waits_for(p, frame->handle);
	abandon_file(f);
	answer_ok(p);
	return NULL;
}

void files_abandon_all(struct peer *p)
{
	for (size_t i = 0; i < p->nr_files; i++)
		if (p->files[i].path)
			abandon_file(&p->files[i]);
}

/* -- things that belong to a connection ------------------------------------------------------- */

/* Logs a persistent error once, when the client disconnects. An event can be used by an instance
 * that is removed later. */
static void remove_orphans(struct service *s, bool first)
{
	struct made_things *m = &s->made;

	for (size_t i = m->nr; i-- > 0;) {
		const struct made_thing *made = &m->list[i];
		HV_AUTO_ERR struct hv_err *err = NULL;

		if (made->peer)
			continue;
		err = made->kind == MADE_DIR ? remove_dir(s, &made->who, &made->may, made->name)
					     : remove_event(s, &made->who, &made->may, made->name);
		if (err && first)
			audit_log(&s->audit, "its client has gone: %s", err->message);
		if (!err || err->code == ENOENT)
			drop(m, i);
	}
}

void made_things_orphan(struct service *s, const struct peer *peer)
{
	bool any = false;

	for (size_t i = 0; i < s->made.nr; i++) {
		if (s->made.list[i].peer != peer)
			continue;
		s->made.list[i].peer = NULL;
		any = true;
	}
	if (any)
		remove_orphans(s, true);
}

void made_things_retry(struct service *s)
{
	remove_orphans(s, false);
}

void made_things_forget(struct made_things *m)
{
	while (m->nr)
		drop(m, 0);
	free(m->list);
	*m = (struct made_things){0};
}
