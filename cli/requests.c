#include "cli/requests.h"

#include <fcntl.h>
#include <json-c/json.h>
#include <limits.h>
#include <string.h>

#include "cli/duration.h"

/* Says what a request changed in the guest, if it did. */
static void audit_change(struct service *s, const struct peer *p, const char *path,
			 const struct hv_session_stat *before)
{
	struct audit_actor who = audit_actor_peer(&p->cred);
	struct hv_session_stat now;

	hv_session_stat(s->session, &now);
	if (now.nr_patched == before->nr_patched && now.nr_holds == before->nr_holds)
		return;
	audit_line(&s->audit, &who, "change",
		   "file='%s' patched=%zu->%zu refused=%zu holds=%llu hold_last_us=%llu "
		   "hold_max_us=%llu",
		   path, before->nr_patched, now.nr_patched, now.nr_refused,
		   (unsigned long long)(now.nr_holds - before->nr_holds),
		   (unsigned long long)(now.hold_last_ns / 1000),
		   (unsigned long long)(now.hold_max_ns / 1000));
}

static struct hv_err *get_path(const struct wire_frame *frame, char **ret)
{
	if (!wire_string(frame->data, PATH_MAX, ret))
		return hv_err_new(ENAMETOOLONG, "path of %zu bytes is not one",
				  frame->data.len_bytes);
	return NULL;
}

static struct hv_err *do_list(struct service *s, struct peer *p, const struct wire_frame *frame)
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

static struct hv_err *do_open(struct service *s, struct peer *p, const struct wire_frame *frame)
{
	int flags = (int)frame->arg & (O_ACCMODE | O_TRUNC | O_APPEND | O_NONBLOCK);
	HV_AUTO_FREE char *path = NULL;
	struct hv_session_stat before;
	struct hv_file *file;
	struct hv_err *err = get_path(frame, &path);
	int handle;

	if (err)
		return err;
	hv_session_stat(s->session, &before);
	err = hv_tree_open(s->tree, path, flags, &file);
	if (err)
		return err;
	handle = peer_add_file(p, file, path);
	if (handle < 0) {
		hv_err_free(hv_file_close(file));
		return hv_err_new(EMFILE, "%d files are open on this connection", PEER_FILES_MAX);
	}
	audit_change(s, p, path, &before);
	peer_answer(p, &(struct wire_frame){.kind = WIRE_OK, .handle = (uint32_t)handle});
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

/* *RET_NOTHING: the file has nothing now, as trace_pipe may. */
static struct hv_err *read_some(struct peer *p, uint32_t handle, uint32_t want_bytes,
				bool *ret_nothing)
{
	size_t len = want_bytes < WIRE_DATA_MAX ? want_bytes : WIRE_DATA_MAX;
	HV_AUTO_FREE char *buf = hv_alloc(len);
	struct peer_file *f = NULL;
	struct hv_err *err = find_file(p, handle, &f);

	*ret_nothing = false;
	if (err)
		return err;
	err = hv_file_read(f->file, buf, len, &len);
	if (err) {
		*ret_nothing = err->code == EAGAIN;
		return err;
	}
	peer_answer_bytes(p, buf, len);
	return NULL;
}

static struct hv_err *do_read(struct peer *p, const struct wire_frame *frame)
{
	bool nothing;
	struct hv_err *err = read_some(p, frame->handle, frame->arg, &nothing);

	if (!nothing || frame->wait_ms == 0)
		return err;
	hv_err_free(err);
	p->wait = (struct peer_wait){
		.active = true,
		.handle = frame->handle,
		.want_bytes = frame->arg,
		.until_ns = frame->wait_ms == WIRE_WAIT_FOREVER
				    ? UINT64_MAX
				    : monotonic_ns() + frame->wait_ms * 1000000ull,
	};
	return NULL;
}

void request_retry_read(struct service *s, struct peer *p, uint64_t now_ns)
{
	struct hv_err *err;
	bool nothing;

	if (!p->wait.active || p->gone || s->state != SERVE_RUNS)
		return;
	err = read_some(p, p->wait.handle, p->wait.want_bytes, &nothing);
	if (nothing && now_ns < p->wait.until_ns) {
		hv_err_free(err);
		return;
	}
	p->wait.active = false;
	if (err)
		peer_answer_error(p, err);
}

static struct hv_err *do_write(struct service *s, struct peer *p, const struct wire_frame *frame)
{
	struct hv_session_stat before;
	struct peer_file *f = NULL;
	size_t taken;
	struct hv_err *err = find_file(p, frame->handle, &f);

	if (err)
		return err;
	hv_session_stat(s->session, &before);
	err = hv_file_write(f->file, frame->data.data, frame->data.len_bytes, &taken);
	audit_change(s, p, f->path, &before);
	if (err)
		return err;
	peer_answer(p, &(struct wire_frame){.kind = WIRE_OK, .arg = (uint32_t)taken});
	return NULL;
}

static struct hv_err *close_file(struct service *s, struct peer *p, struct peer_file *f)
{
	struct hv_session_stat before;
	struct hv_err *err;

	hv_session_stat(s->session, &before);
	err = hv_file_close(f->file);
	audit_change(s, p, f->path, &before);
	if (err)
		audit_log(&s->audit, "%s: close: %s", f->path, err->message);
	free(f->path);
	*f = (struct peer_file){0};
	return err;
}

static struct hv_err *do_close(struct service *s, struct peer *p, const struct wire_frame *frame)
{
	struct peer_file *f = NULL;
	struct hv_err *err = find_file(p, frame->handle, &f);

	if (err)
		return err;
	err = close_file(s, p, f);
	if (err)
		return err;
	peer_answer(p, &(struct wire_frame){.kind = WIRE_OK});
	return NULL;
}

void request_close_all(struct service *s, struct peer *p)
{
	for (size_t i = 0; i < PEER_FILES_MAX; i++)
		if (p->files[i].file)
			hv_err_free(close_file(s, p, &p->files[i]));
}

/* A one-line file of the tree, without its newline. */
static char *read_small(struct service *s, const char *path)
{
	struct hv_file *file;
	char buf[128];
	size_t len = 0;
	struct hv_err *err = hv_tree_open(s->tree, path, O_RDONLY, &file);

	if (!err) {
		err = hv_file_read(file, buf, sizeof(buf) - 1, &len);
		hv_err_free(hv_file_close(file));
	}
	buf[err ? 0 : len] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	hv_err_free(err);
	return hv_strdup(buf);
}

static void add_string(json_object *o, const char *key, const char *value)
{
	json_object_object_add(o, key, json_object_new_string(value));
}

static void add_number(json_object *o, const char *key, uint64_t value)
{
	json_object_object_add(o, key, json_object_new_uint64(value));
}

static const char *clock_name(enum hv_clock_kind kind)
{
	switch (kind) {
	case HV_CLOCK_TSC:
		return "tsc";
	case HV_CLOCK_PVCLOCK:
		return "pvclock";
	case HV_CLOCK_RAW:
		return "raw tsc";
	}
	return "unknown";
}

static void add_counts(struct service *s, json_object *o)
{
	json_object *sites = json_object_new_object();
	json_object *holds = json_object_new_object();
	json_object *memory = json_object_new_object();
	struct hv_session_stat stat;

	hv_session_stat(s->session, &stat);
	add_number(sites, "traceable", stat.nr_sites);
	add_number(sites, "patched", stat.nr_patched);
	add_number(sites, "refused", stat.nr_refused);
	json_object_object_add(o, "sites", sites);
	add_number(o, "events", stat.nr_events);
	add_number(o, "lost", stat.nr_lost);
	add_number(holds, "count", stat.nr_holds);
	add_number(holds, "last_ns", stat.hold_last_ns);
	add_number(holds, "max_ns", stat.hold_max_ns);
	json_object_object_add(o, "holds", holds);
	add_number(memory, "region_bytes", stat.region_bytes);
	add_number(memory, "ring_bytes", stat.ring_bytes);
	json_object_object_add(o, "memory", memory);
	add_number(o, "vcpus", stat.nr_cpus);
}

static void do_stat(struct service *s, struct peer *p)
{
	const struct hv_guest_info *info = hv_guest_info(s->guest);
	HV_AUTO_FREE char *tracer = read_small(s, "current_tracer");
	HV_AUTO_FREE char *on = read_small(s, "tracing_on");
	json_object *o = json_object_new_object();
	const char *text;

	add_string(o, "domain", info->name);
	add_string(o, "id", info->id);
	add_number(o, "vmm_pid", (uint64_t)info->pid);
	add_number(o, "service_pid", (uint64_t)getpid());
	add_number(o, "attached_ms", (monotonic_ns() - s->attached_ns) / 1000000);
	add_string(o, "kernel", s->kernel->release);
	add_string(o, "transport", info->transport);
	add_string(o, "clock", clock_name(hv_session_clock(s->session)));
	add_string(o, "current_tracer", tracer);
	json_object_object_add(o, "tracing_on", json_object_new_boolean(strcmp(on, "1") == 0));
	add_counts(s, o);
	add_number(o, "clients", s->nr_peers - 1);
	text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
							 JSON_C_TO_STRING_NOSLASHESCAPE);
	peer_answer_bytes(p, text, strlen(text));
	json_object_put(o);
}

void request_handle(struct service *s, struct peer *p, const struct wire_frame *frame)
{
	struct hv_err *err = NULL;

	if (frame->version != WIRE_VERSION)
		err = hv_err_new(EPROTO,
				 "the service (pid %d) speaks protocol %d, this hvtrace %u: use "
				 "the hvtrace that attached, or end the service with SIGTERM",
				 (int)getpid(), WIRE_VERSION, frame->version);
	else if (s->state != SERVE_RUNS)
		err = hv_err_new(EBUSY, "domain '%s': is being detached",
				 hv_guest_info(s->guest)->name);
	else if (frame->kind == WIRE_LIST)
		err = do_list(s, p, frame);
	else if (frame->kind == WIRE_OPEN)
		err = do_open(s, p, frame);
	else if (frame->kind == WIRE_READ)
		err = do_read(p, frame);
	else if (frame->kind == WIRE_WRITE)
		err = do_write(s, p, frame);
	else if (frame->kind == WIRE_CLOSE)
		err = do_close(s, p, frame);
	else if (frame->kind == WIRE_STAT)
		do_stat(s, p);
	else if (frame->kind == WIRE_DETACH)
		serve_begin_detach(s, p);
	else if (frame->kind == WIRE_OWN) {
		p->owns_session = true;
		peer_answer(p, &(struct wire_frame){.kind = WIRE_OK});
	} else {
		err = hv_err_new(ENOSYS, "request %u is not known", frame->kind);
	}
	if (err)
		peer_answer_error(p, err);
}
