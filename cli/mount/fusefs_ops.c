/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/mount/fusefs_ops.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <search.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/prefix.h"

/* -- names and directories -------------------------------------------------------------------- */

/* How long the kernel may cache a name. It does not cache missing names. */
#define SYNTHETIC      "events/synthetic" /* users define and remove events there */
#define TTL_FIXED_S    3600.0
#define TTL_EVENTS_S   60.0 /* events come and go with the guest's modules */
#define TTL_INSTANCE_S 0.0  /* clients of the socket also create and remove instances */
#define TTL_TOP_S      1.0  /* so that users of the mount soon see that it is dead */
#define EVENTS	       "events/"
#define INSTANCES      "instances/"

static int compare_nodes(const void *a, const void *b)
{
	return strcmp(((const struct node *)a)->path, ((const struct node *)b)->path);
}

static struct node *node_of(struct fusefs *fs, fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? &fs->top : (struct node *)(uintptr_t)ino;
}

/* Counts one more lookup by the kernel. */
static struct node *node_get(struct fusefs *fs, const char *path)
{
	struct node key = {.path = (char *)path};
	struct node **found = tfind(&key, &fs->nodes, compare_nodes);
	struct node *n;

	if (found) {
		(*found)->nr_lookups++;
		return *found;
	}
	n = hv_alloc(sizeof(*n));
	n->path = hv_strdup(path);
	n->nr_lookups = 1;
	if (!tsearch(n, &fs->nodes, compare_nodes))
		abort();
	return n;
}

static void node_put(struct fusefs *fs, struct node *n, uint64_t nr)
{
	if (n == &fs->top)
		return;
	n->nr_lookups -= nr < n->nr_lookups ? nr : n->nr_lookups;
	if (n->nr_lookups)
		return;
	tdelete(n, &fs->nodes, compare_nodes);
	free(n->path);
	free(n);
}

static void free_node(void *node)
{
	struct node *n = node;

	free(n->path);
	free(n);
}

void nodes_deinit(struct fusefs *fs)
{
	tdestroy(fs->nodes, free_node);
}

static char *path_in(const struct node *dir, const char *name)
{
	HV_AUTO_TEXT struct hv_text t = {0};

	hv_text_printf(&t, "%s%s%s", dir->path, *dir->path ? "/" : "", name);
	return hv_text_take(&t);
}

#define TOP_MODE   (S_IFDIR | 0700)
#define DIR_MODES  0755u
#define FILE_MODES 0664u

/* A tree has only directories and regular files, without special mode bits. */
static bool is_mode_of_tree(uint32_t mode)
{
	if (S_ISDIR(mode))
		return !(mode & ~(S_IFDIR | DIR_MODES));
	return S_ISREG(mode) && !(mode & ~(S_IFREG | FILE_MODES));
}

/* Extracts the mode of a path from the service's untrusted answer. False: the answer is an error or
 * invalid, and the kernel received an error. */
static bool has_mode(struct ask *a, const struct wire_frame *answer, mode_t *ret)
{
	if (ask_failed(a, answer) || !a->req)
		return false;
	if (is_mode_of_tree(answer->arg)) {
		*ret = answer->arg;
		return true;
	}
	ask_fail(a, EIO);
	return false;
}

/* Hashes the path (FNV-1a), so that a path keeps its number as long as it exists. */
static ino_t inode_number(const char *path)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (; *path; path++)
		hash = (hash ^ (unsigned char)*path) * 0x100000001b3ull;
	return hash ? hash : 1;
}

static struct stat stat_of(const struct fusefs *fs, const char *path, mode_t mode)
{
	return (struct stat){
		.st_ino = inode_number(path),
		.st_mode = mode,
		.st_nlink = S_ISDIR(mode) ? 2 : 1,
		.st_blksize = 4096,
		.st_atim.tv_sec = fs->started,
		.st_mtim.tv_sec = fs->started,
		.st_ctim.tv_sec = fs->started,
	};
}

/* If an instance disappears, the kernel notices when it resolves any path below it. So names below
 * an instance can be cached as long as those below the top. */
static double ttl_s(const char *path)
{
	if (hv_starts_with(path, INSTANCES)) {
		path = strchr(path + strlen(INSTANCES), '/');
		if (!path)
			return TTL_INSTANCE_S;
		path++;
	}
	if (hv_starts_with(path, SYNTHETIC))
		return TTL_INSTANCE_S;
	return hv_starts_with(path, EVENTS) ? TTL_EVENTS_S : TTL_FIXED_S;
}

/* Returns how long the kernel may cache attributes. They never change. But the top directory's,
 * which the kernel needs for every path, expire soon, so that users of the mount see when it is
 * dead. */
static double attr_ttl_s(const char *path)
{
	return *path ? TTL_FIXED_S : TTL_TOP_S;
}

static void found(struct ask *a, const struct wire_frame *answer)
{
	struct fuse_entry_param e = {0};
	struct node *n;
	mode_t mode;

	if (!has_mode(a, answer, &mode))
		return;
	n = node_get(a->fs, a->path);
	e.ino = (uintptr_t)n;
	e.entry_timeout = ttl_s(a->path);
	e.attr_timeout = attr_ttl_s(a->path);
	e.attr = stat_of(a->fs, a->path, mode);
	if (fuse_reply_entry(a->req, &e) != 0)
		node_put(a->fs, n, 1);
	a->req = NULL;
}

static void look_up(fuse_req_t req, char *path)
{
	struct ask *a = ask_new(fuse_req_userdata(req), req, found);

	a->path = path;
	ask_send_path(a, WIRE_LOOK, path, 0);
}

static void fusefs_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	look_up(req, path_in(node_of(fuse_req_userdata(req), parent), name));
}

static void fusefs_forget(fuse_req_t req, fuse_ino_t ino, uint64_t nr)
{
	struct fusefs *fs = fuse_req_userdata(req);

	node_put(fs, node_of(fs, ino), nr);
	fuse_reply_none(req);
}

static void has_attributes(struct ask *a, const struct wire_frame *answer)
{
	struct stat st;
	mode_t mode;

	if (!has_mode(a, answer, &mode))
		return;
	st = stat_of(a->fs, a->path, mode);
	fuse_reply_attr(a->req, &st, attr_ttl_s(a->path));
	a->req = NULL;
}

/* Answers without the service, so that users of the mount and of other mounts do not wait for
 * it. */
static void top_attributes(const struct fusefs *fs, fuse_req_t req)
{
	struct stat st = stat_of(fs, "", TOP_MODE);

	fuse_reply_attr(req, &st, attr_ttl_s(""));
}

static void fusefs_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi hv_unused)
{
	struct fusefs *fs = fuse_req_userdata(req);
	struct ask *a;

	if (ino == FUSE_ROOT_ID) {
		top_attributes(fs, req);
		return;
	}
	a = ask_new(fs, req, has_attributes);
	a->path = hv_strdup(node_of(fs, ino)->path);
	ask_send_path(a, WIRE_LOOK, a->path, 0);
}

/* truncate(2) and utimes(2) change nothing, as in tracefs. */
static void fusefs_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr hv_unused, int to_set,
			   struct fuse_file_info *fi)
{
	if (to_set & (FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID))
		fuse_reply_err(req, EPERM);
	else
		fusefs_getattr(req, ino, fi);
}

static void made(struct ask *a, const struct wire_frame *answer)
{
	if (ask_failed(a, answer) || !a->req)
		return;
	look_up(a->req, hv_take(a->path));
	a->req = NULL;
}

static void fusefs_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode hv_unused)
{
	struct fusefs *fs = fuse_req_userdata(req);
	struct ask *a = ask_new(fs, req, made);

	a->path = path_in(node_of(fs, parent), name);
	ask_send_path(a, WIRE_MKDIR, a->path, 0);
}

static void removed(struct ask *a, const struct wire_frame *answer)
{
	if (ask_failed(a, answer) || !a->req)
		return;
	fuse_reply_err(a->req, 0);
	a->req = NULL;
}

static void fusefs_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fusefs *fs = fuse_req_userdata(req);
	struct ask *a = ask_new(fs, req, removed);
	const char *path = a->path = path_in(node_of(fs, parent), name);

	ask_send_settled(a, &(struct wire_frame){.kind = WIRE_RMDIR,
						 .data = {(const uint8_t *)path, strlen(path)}});
}

static void fusefs_unlink(fuse_req_t req, fuse_ino_t parent hv_unused, const char *name hv_unused)
{
	fuse_reply_err(req, EPERM);
}

static void fusefs_rename(fuse_req_t req, fuse_ino_t parent hv_unused, const char *name hv_unused,
			  fuse_ino_t to hv_unused, const char *to_name hv_unused,
			  unsigned flags hv_unused)
{
	fuse_reply_err(req, EPERM);
}

static void fusefs_symlink(fuse_req_t req, const char *to hv_unused, fuse_ino_t parent hv_unused,
			   const char *name hv_unused)
{
	fuse_reply_err(req, EPERM);
}

static void fusefs_link(fuse_req_t req, fuse_ino_t ino hv_unused, fuse_ino_t parent hv_unused,
			const char *name hv_unused)
{
	fuse_reply_err(req, EPERM);
}

static void fusefs_create(fuse_req_t req, fuse_ino_t parent hv_unused, const char *name hv_unused,
			  mode_t mode hv_unused, struct fuse_file_info *fi hv_unused)
{
	fuse_reply_err(req, EACCES);
}

static void fusefs_mknod(fuse_req_t req, fuse_ino_t parent hv_unused, const char *name hv_unused,
			 mode_t mode hv_unused, dev_t rdev hv_unused)
{
	fuse_reply_err(req, EPERM);
}

/* An open directory keeps the names from when it was opened. */

static void add_entry(struct fusefs *fs, fuse_req_t req, const char *dir, const char *name,
		      mode_t mode, struct hv_text *ret)
{
	struct node at = {.path = (char *)dir};
	HV_AUTO_FREE char *path = path_in(&at, name);
	struct stat st = stat_of(fs, path, mode);
	size_t len = fuse_add_direntry(req, NULL, 0, name, NULL, 0);
	HV_AUTO_FREE char *entry = hv_alloc(len);

	fuse_add_direntry(req, entry, len, name, &st, (off_t)(ret->len_bytes + len));
	hv_text_add_bytes(ret, entry, len);
}

static bool is_name(const char *name)
{
	size_t len = strlen(name);

	return len && len <= NAME_MAX && !strchr(name, '/') && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0;
}

/* Appends entries for the names in LIST, which are lines; a directory's name ends with '/'. Returns
 * false if a line is not a valid name. */
static bool add_entries(struct ask *a, char *list, struct hv_text *ret)
{
	for (char *name; (name = strsep(&list, "\n"));) {
		size_t len = strlen(name);
		bool is_dir = len && name[len - 1] == '/';

		if (!list && !len)
			break; /* after the last line */
		if (is_dir)
			name[len - 1] = '\0';
		if (!is_name(name))
			return false;
		add_entry(a->fs, a->req, a->path, name, is_dir ? S_IFDIR : S_IFREG, ret);
	}
	return true;
}

static void free_entries(struct hv_text *entries)
{
	hv_text_deinit(entries);
	free(entries);
}

/* Returns false if the text contains a NUL. The caller owns *RET. */
static bool take_text(const struct wire_frame *answer, char **ret)
{
	size_t len = answer->data.len_bytes;

	if (memchr(answer->data.data, '\0', len))
		return false;
	*ret = hv_format("%.*s", (int)len, (const char *)answer->data.data);
	return true;
}

static void listed(struct ask *a, const struct wire_frame *answer)
{
	struct fuse_file_info fi = {.flags = a->flags};
	HV_AUTO_FREE char *list = NULL;
	struct hv_text *entries;

	if (ask_failed(a, answer) || !a->req)
		return;
	entries = hv_alloc(sizeof(*entries));
	add_entry(a->fs, a->req, a->path, ".", S_IFDIR, entries);
	add_entry(a->fs, a->req, a->path, "..", S_IFDIR, entries);
	if (!take_text(answer, &list) || !add_entries(a, list, entries)) {
		free_entries(entries);
		ask_fail(a, EIO);
		return;
	}
	fi.fh = (uintptr_t)entries;
	if (fuse_reply_open(a->req, &fi) != 0)
		free_entries(entries);
	a->req = NULL;
}

static void fusefs_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fusefs *fs = fuse_req_userdata(req);
	struct ask *a = ask_new(fs, req, listed);

	a->path = hv_strdup(node_of(fs, ino)->path);
	a->flags = fi->flags;
	ask_send_path(a, WIRE_LIST, a->path, 0);
}

/* OFF is an offset from add_entry: the start of the next entry. */
static void fusefs_readdir(fuse_req_t req, fuse_ino_t ino hv_unused, size_t size, off_t off,
			   struct fuse_file_info *fi)
{
	const struct hv_text *entries = (const struct hv_text *)(uintptr_t)fi->fh;
	size_t left = (size_t)off < entries->len_bytes ? entries->len_bytes - (size_t)off : 0;

	/* The kernel ignores a truncated last entry and requests it again. */
	fuse_reply_buf(req, left ? entries->data + off : NULL, left < size ? left : size);
}

static void fusefs_releasedir(fuse_req_t req, fuse_ino_t ino hv_unused, struct fuse_file_info *fi)
{
	free_entries((struct hv_text *)(uintptr_t)fi->fh);
	fuse_reply_err(req, 0);
}

static void fusefs_statfs(fuse_req_t req, fuse_ino_t ino hv_unused)
{
	struct statvfs st = {.f_bsize = 4096, .f_frsize = 4096, .f_namemax = NAME_MAX};

	fuse_reply_statfs(req, &st);
}

/* -- open files: blocking reads, writes, and publishing --------------------------------------- */

#define PUBLISH_NS 5000000000ull /* limit for the answer to a close */

static struct file *file_of(const struct fuse_file_info *fi)
{
	return (struct file *)(uintptr_t)fi->fh;
}

static struct ask *ask_file(struct file *f, fuse_req_t req,
			    void (*done)(struct ask *a, const struct wire_frame *answer))
{
	struct ask *a = ask_new(f->fs, req, done);

	a->file = f;
	f->nr_refs++;
	return a;
}

static bool is_stream(const char *path)
{
	static const char *const names[] = {"trace_pipe", "trace_pipe_raw"};
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < HV_ARRAY_LEN(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static bool file_reads(const struct file *f)
{
	return (f->flags & O_ACCMODE) != O_WRONLY;
}

static void file_used_by(struct file *f, pid_t pid)
{
	if (pid <= 0 || pid == f->pid)
		return;
	f->pid = pid;
	f->waited_for = false;
}

static void file_unlink(struct file *f)
{
	struct file **at = &f->fs->files;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
}

/* Open and release. */

static void send_close(struct file *f, enum wire_kind kind)
{
	link_send(f->fs->link, &(struct wire_frame){.kind = (uint16_t)kind, .handle = f->handle},
		  NULL, NULL);
}

static void release(struct file *f, enum wire_kind kind)
{
	f->is_released = true;
	send_close(f, kind);
	file_unlink(f);
	file_put(f);
}

static void opened(struct ask *a, const struct wire_frame *answer)
{
	struct fuse_file_info fi = {.flags = a->flags, .direct_io = 1};
	struct fusefs *fs = a->fs;
	struct file *f;

	if (ask_failed(a, answer))
		return;
	f = hv_alloc(sizeof(*f));
	*f = (struct file){
		.fs = fs,
		.next = fs->files,
		.nr_refs = 1,
		.path = hv_take(a->path),
		.flags = a->flags,
		.handle = answer->handle,
		.closed_by = CLOSER_UNKNOWN,
	};
	fs->files = f;
	f->is_stream = is_stream(f->path);
	fi.fh = (uintptr_t)f;
	fi.nonseekable = f->is_stream;
	/* Only closes of writers and of streams matter (fusefs_flush). */
	fi.noflush = !file_writes(f) && !f->is_stream;
	if (a->req)
		file_used_by(f, fuse_req_ctx(a->req)->pid);
	/* The kernel sends no release for an interrupted open. */
	if (!a->req || fuse_reply_open(a->req, &fi) != 0)
		release(f, WIRE_ABANDON);
	else if (f->is_stream && file_reads(f))
		direct_begin(f, f->pid);
	a->req = NULL;
}

static void fusefs_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fusefs *fs = fuse_req_userdata(req);
	struct ask *a = ask_new(fs, req, opened);
	const char *path = node_of(fs, ino)->path;

	a->flags = fi->flags;
	a->path = hv_strdup(path);
	ask_send_settled(a, &(struct wire_frame){
				    .kind = WIRE_OPEN,
				    .arg = (uint32_t)fi->flags,
				    .data = {(const uint8_t *)path, strlen(path)},
			    });
}

/* Whether the last close publishes pending writes. A process that exits has written all it wanted;
 * a process that a signal kills may be in the middle. If the reason is unknown, pending writes
 * count as incomplete if nothing was written, or if the rest of a partial write is missing. */
static bool is_complete(const struct file *f)
{
	switch (f->closed_by) {
	case CLOSER_LIVES:
	case CLOSER_EXITS:
		return true;
	case CLOSER_KILLED:
		return false;
	case CLOSER_UNKNOWN:
		return f->wrote && !f->cut_short;
	}
	return false;
}

static void fusefs_release(fuse_req_t req, fuse_ino_t ino hv_unused, struct fuse_file_info *fi)
{
	struct file *f = file_of(fi);

	release(f, file_writes(f) && !is_complete(f) ? WIRE_ABANDON : WIRE_CLOSE);
	fuse_reply_err(req, 0);
}

static void flushed(struct ask *a, const struct wire_frame *answer)
{
	if (!ask_failed(a, answer) && a->req)
		fuse_reply_err(a->req, 0);
	a->req = NULL;
}

/* A descriptor was closed, perhaps not the last one. tracefs publishes before the last close
 * returns, but FUSE sends the release only afterwards. So this publishes if the close seems to be
 * the last: by the thread that wrote, alive, in a process without another descriptor for the
 * file. */
static void flush_seen(struct ask *a, const struct inspector_view *view)
{
	struct file *f = a->file;

	a->look_id = 0;
	f->closed_by = view ? view->state : CLOSER_UNKNOWN;
	if (a->req && f->to_publish && !f->cut_short && view && view->state == CLOSER_LIVES &&
	    !view->has_open && fuse_req_ctx(a->req)->pid == f->writer) {
		f->to_publish = false;
		/* Until the close is answered, the closing process cannot be killed, nor inspected
		 * if it is in exec. */
		a->until_ns = hv_now_ns() + PUBLISH_NS;
		ask_send(a, &(struct wire_frame){.kind = WIRE_PUBLISH, .handle = f->handle});
		return;
	}
	ask_fail(a, 0);
	ask_free(a);
}

static void fusefs_flush(fuse_req_t req, fuse_ino_t ino hv_unused, struct fuse_file_info *fi)
{
	struct file *f = file_of(fi);
	pid_t pid = fuse_req_ctx(req)->pid;

	if ((!file_writes(f) && !f->direct_id) || close_is_of_inspector(f->fs, pid))
		fuse_reply_err(req, 0);
	else
		close_look(ask_file(f, req, flushed), pid, flush_seen);
}

/* Reads. */

/* Returns the data of an interrupted read. False: there is no such data. */
static bool give_late(struct file *f, fuse_req_t req, size_t want_bytes)
{
	size_t len = f->late.len_bytes < want_bytes ? f->late.len_bytes : want_bytes;

	if (!len)
		return false;
	fuse_reply_buf(req, f->late.data, len);
	memmove(f->late.data, f->late.data + len, f->late.len_bytes - len);
	f->late.len_bytes -= len;
	return true;
}

static void ask_read(struct file *f, fuse_req_t req, uint32_t want_bytes, int flags);

static void had_read(struct ask *a, const struct wire_frame *answer)
{
	struct file *f = a->file;
	fuse_req_t req = a->req;

	f->nr_reads--;
	if (f->orphan == a)
		f->orphan = NULL;
	if (answer->kind == WIRE_OK && f->is_stream) {
		/* Buffers the data first, so that the next read gets it if this caller is being
		 * interrupted. */
		if (answer->data.len_bytes)
			hv_text_add_bytes(&f->late, answer->data.data, answer->data.len_bytes);
		if (req && !give_late(f, req, a->want_bytes))
			fuse_reply_buf(req, NULL, 0);
		a->req = NULL;
		return;
	}
	if (a->interrupted_ns && req && f->is_stream) {
		/* The read was cancelled for one caller, and another caller took it over. */
		a->req = NULL;
		ask_read(f, req, a->want_bytes, a->flags);
		return;
	}
	if (ask_failed(a, answer))
		return;
	if (answer->data.len_bytes > a->want_bytes) {
		ask_fail(a, EIO); /* more than requested: the service is compromised */
		return;
	}
	f->pos += answer->data.len_bytes;
	if (req)
		fuse_reply_buf(req, (const char *)answer->data.data, answer->data.len_bytes);
	a->req = NULL;
}

static void ask_read(struct file *f, fuse_req_t req, uint32_t want_bytes, int flags)
{
	struct ask *a = ask_file(f, req, had_read);

	a->want_bytes = want_bytes;
	a->flags = flags;
	f->nr_reads++;
	ask_send(a, &(struct wire_frame){
			    .kind = WIRE_READ,
			    .handle = f->handle,
			    .arg = want_bytes,
			    .wait_ms = flags & O_NONBLOCK ? 0 : WIRE_WAIT_FOREVER,
		    });
}

void file_orphan_read(struct ask *a)
{
	ask_fail(a, EINTR);
	a->interrupted_ns = hv_now_ns();
	a->file->orphan = a;
	link_send(a->fs->link, &(struct wire_frame){.kind = WIRE_CANCEL, .arg = a->tag}, NULL,
		  NULL);
}

static void read_at(struct file *f, fuse_req_t req, uint32_t want_bytes, uint64_t off)
{
	struct ask *a = ask_file(f, req, had_read);

	a->want_bytes = want_bytes;
	/* While another read is pending, its end offset is unknown. */
	f->pos = off;
	f->nr_reads++;
	ask_send(a, &(struct wire_frame){
			    .kind = WIRE_READ,
			    .handle = f->handle,
			    .arg = want_bytes,
			    .data = {(const uint8_t *)&off, sizeof(off)},
		    });
}

static void fusefs_read(fuse_req_t req, fuse_ino_t ino hv_unused, size_t size, off_t off,
			struct fuse_file_info *fi)
{
	struct file *f = file_of(fi);
	uint32_t want = size < WIRE_DATA_MAX ? (uint32_t)size : WIRE_DATA_MAX;

	file_used_by(f, fuse_req_ctx(req)->pid);
	if (!f->is_stream) {
		read_at(f, req, want, (uint64_t)off);
	} else if (give_late(f, req, want)) {
		return;
	} else if (f->orphan && !f->orphan->req) {
		f->orphan->req = req;
		f->orphan->want_bytes = want;
		f->orphan->flags = fi->flags;
	} else {
		ask_read(f, req, want, fi->flags);
	}
}

/* Writes. */

static void had_written(struct ask *a, const struct wire_frame *answer)
{
	struct file *f = a->file;

	if (answer->kind == WIRE_OK) {
		f->wrote |= answer->arg > 0;
		f->to_publish = true;
		f->cut_short = answer->arg < a->want_bytes;
	} else {
		f->cut_short = false; /* the writer received the error */
	}
	if (ask_failed(a, answer))
		return;
	if (answer->arg > a->want_bytes) {
		ask_fail(a, EIO);
		return;
	}
	if (a->req)
		fuse_reply_write(a->req, answer->arg);
	a->req = NULL;
}

static void fusefs_write(fuse_req_t req, fuse_ino_t ino hv_unused, const char *buf, size_t size,
			 off_t off hv_unused, struct fuse_file_info *fi)
{
	struct file *f = file_of(fi);
	struct ask *a = ask_file(f, req, had_written);
	size_t len = size < WIRE_DATA_MAX ? size : WIRE_DATA_MAX;

	file_used_by(f, fuse_req_ctx(req)->pid);
	f->writer = fuse_req_ctx(req)->pid;
	a->want_bytes = (uint32_t)size;
	ask_send_settled(a, &(struct wire_frame){
				    .kind = WIRE_WRITE,
				    .handle = f->handle,
				    .data = {(const uint8_t *)buf, len},
			    });
}

/* poll(2). */

#define READABLE (POLLIN | POLLRDNORM)
#define WRITABLE (POLLOUT | POLLWRNORM)

static void wake_pollers(struct file *f)
{
	if (!f->poll)
		return;
	fuse_lowlevel_notify_poll(f->poll);
	fuse_pollhandle_destroy(f->poll);
	f->poll = NULL;
}

static void became_ready(struct ask *a, const struct wire_frame *answer hv_unused)
{
	a->file->watches = false;
	wake_pollers(a->file);
}

static void looked(struct ask *a, const struct wire_frame *answer)
{
	struct file *f = a->file;
	bool is_ready = answer->kind == WIRE_OK || answer->arg != EAGAIN;

	if (a->req)
		fuse_reply_poll(a->req, is_ready ? READABLE : 0);
	a->req = NULL;
	if (is_ready || !f->poll || f->watches || f->is_released)
		return;
	f->watches = true;
	ask_send(ask_file(f, NULL, became_ready),
		 &(struct wire_frame){
			 .kind = WIRE_READY, .handle = f->handle, .wait_ms = WIRE_WAIT_FOREVER});
}

static void fusefs_poll(fuse_req_t req, fuse_ino_t ino hv_unused, struct fuse_file_info *fi,
			struct fuse_pollhandle *ph)
{
	struct file *f = file_of(fi);

	if (ph) {
		if (f->poll)
			fuse_pollhandle_destroy(f->poll);
		f->poll = ph;
	}
	if (!f->is_stream || !file_reads(f)) {
		fuse_reply_poll(req, READABLE | WRITABLE);
		return;
	}
	file_used_by(f, fuse_req_ctx(req)->pid);
	if (f->late.len_bytes) {
		fuse_reply_poll(req, READABLE);
		return;
	}
	ask_send(ask_file(f, req, looked),
		 &(struct wire_frame){.kind = WIRE_READY, .handle = f->handle});
}

/* ioctl(fd, 0) of trace_pipe_raw wakes waiting readers. */
static void fusefs_ioctl(fuse_req_t req, fuse_ino_t ino hv_unused, unsigned cmd,
			 void *arg hv_unused, struct fuse_file_info *fi, unsigned flags hv_unused,
			 const void *in_buf hv_unused, size_t in_size hv_unused,
			 size_t out_size hv_unused)
{
	struct file *f = file_of(fi);

	if (cmd != 0 || !f->is_stream) {
		fuse_reply_err(req, ENOTTY);
		return;
	}
	for (struct ask *a = f->fs->asks; a; a = a->next) {
		if (a->file != f || a->done != had_read || !a->req || f->orphan)
			continue;
		fuse_reply_buf(a->req, NULL, 0);
		a->req = NULL;
		file_orphan_read(a);
	}
	wake_pollers(f);
	fuse_reply_ioctl(req, 0, NULL, 0);
}

/* -- the table -------------------------------------------------------------------------------- */

#define MAX_WRITE 131072

static void fs_init(void *fs hv_unused, struct fuse_conn_info *conn)
{
	/* O_TRUNC clears a file when it is opened, and read-ahead would consume pipe data. */
	conn->want |= conn->capable & FUSE_CAP_ATOMIC_O_TRUNC;
	conn->max_readahead = 0;
	conn->max_write = MAX_WRITE;
}

const struct fuse_lowlevel_ops fusefs_operations = {
	.init = fs_init,
	.lookup = fusefs_lookup,
	.forget = fusefs_forget,
	.getattr = fusefs_getattr,
	.setattr = fusefs_setattr,
	.mknod = fusefs_mknod,
	.mkdir = fusefs_mkdir,
	.unlink = fusefs_unlink,
	.rmdir = fusefs_rmdir,
	.rename = fusefs_rename,
	.symlink = fusefs_symlink,
	.link = fusefs_link,
	.create = fusefs_create,
	.open = fusefs_open,
	.read = fusefs_read,
	.write = fusefs_write,
	.flush = fusefs_flush,
	.release = fusefs_release,
	.poll = fusefs_poll,
	.ioctl = fusefs_ioctl,
	.opendir = fusefs_opendir,
	.readdir = fusefs_readdir,
	.releasedir = fusefs_releasedir,
	.statfs = fusefs_statfs,
};
