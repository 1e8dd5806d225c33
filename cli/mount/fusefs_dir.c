/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <limits.h>
#include <search.h>
#include <string.h>
#include <sys/stat.h>

#include "base/prefix.h"
#include "cli/mount/fusefs_ask.h"
#include "cli/mount/fusefs_dir.h"

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

struct node *node_of(struct fusefs *fs, fuse_ino_t ino)
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

/* How long the kernel may cache attributes. They never change, but every path needs those of the
 * top directory, so that users of the mount soon see when it is dead. */
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

void fusefs_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	look_up(req, path_in(node_of(fuse_req_userdata(req), parent), name));
}

void fusefs_forget(fuse_req_t req, fuse_ino_t ino, uint64_t nr)
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

void fusefs_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi hv_unused)
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
void fusefs_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr hv_unused, int to_set,
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

void fusefs_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode hv_unused)
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

void fusefs_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fusefs *fs = fuse_req_userdata(req);
	struct ask *a = ask_new(fs, req, removed);
	const char *path = a->path = path_in(node_of(fs, parent), name);

	ask_send_settled(a, &(struct wire_frame){.kind = WIRE_RMDIR,
						 .data = {(const uint8_t *)path, strlen(path)}});
}

void fusefs_unlink(fuse_req_t req, fuse_ino_t parent hv_unused, const char *name hv_unused)
{
	fuse_reply_err(req, EPERM);
}

void fusefs_rename(fuse_req_t req, fuse_ino_t parent hv_unused, const char *name hv_unused,
		   fuse_ino_t to hv_unused, const char *to_name hv_unused, unsigned flags hv_unused)
{
	fuse_reply_err(req, EPERM);
}

void fusefs_symlink(fuse_req_t req, const char *to hv_unused, fuse_ino_t parent hv_unused,
		    const char *name hv_unused)
{
	fuse_reply_err(req, EPERM);
}

void fusefs_link(fuse_req_t req, fuse_ino_t ino hv_unused, fuse_ino_t parent hv_unused,
		 const char *name hv_unused)
{
	fuse_reply_err(req, EPERM);
}

void fusefs_create(fuse_req_t req, fuse_ino_t parent hv_unused, const char *name hv_unused,
		   mode_t mode hv_unused, struct fuse_file_info *fi hv_unused)
{
	fuse_reply_err(req, EACCES);
}

void fusefs_mknod(fuse_req_t req, fuse_ino_t parent hv_unused, const char *name hv_unused,
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
	if (!wire_string(answer->data, WIRE_DATA_MAX, &list) || !add_entries(a, list, entries)) {
		free_entries(entries);
		ask_fail(a, EIO);
		return;
	}
	fi.fh = (uintptr_t)entries;
	if (fuse_reply_open(a->req, &fi) != 0)
		free_entries(entries);
	a->req = NULL;
}

void fusefs_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fusefs *fs = fuse_req_userdata(req);
	struct ask *a = ask_new(fs, req, listed);

	a->path = hv_strdup(node_of(fs, ino)->path);
	a->flags = fi->flags;
	ask_send_path(a, WIRE_LIST, a->path, 0);
}

/* OFF is an offset from add_entry: the start of the next entry. */
void fusefs_readdir(fuse_req_t req, fuse_ino_t ino hv_unused, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	const struct hv_text *entries = (const struct hv_text *)(uintptr_t)fi->fh;
	size_t left = (size_t)off < entries->len_bytes ? entries->len_bytes - (size_t)off : 0;

	/* The kernel ignores a truncated last entry and requests it again. */
	fuse_reply_buf(req, left ? entries->data + off : NULL, left < size ? left : size);
}

void fusefs_releasedir(fuse_req_t req, fuse_ino_t ino hv_unused, struct fuse_file_info *fi)
{
	free_entries((struct hv_text *)(uintptr_t)fi->fh);
	fuse_reply_err(req, 0);
}

void fusefs_statfs(fuse_req_t req, fuse_ino_t ino hv_unused)
{
	struct statvfs st = {.f_bsize = 4096, .f_frsize = 4096, .f_namemax = NAME_MAX};

	fuse_reply_statfs(req, &st);
}
