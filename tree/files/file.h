/* An open file, and what files know of the tree in which they stand.
 * Leaves to others: what a file says and does (its node), reading and writing (tree.h). */
#pragma once

#include <fcntl.h>

#include "tree/files/node.h"
#include "tree/instance/instance.h"

struct hv_tree {
	struct hv_instances instances;
	const struct hv_node *root;
	size_t nr_open;	 /* files */
	unsigned ending; /* what is closed from now on is not published */
};

struct hv_file {
	struct hv_place at;
	char *path;	     /* owned; for messages */
	int flags;	     /* open(2)'s */
	void *state;	     /* owned; the node's (state_bytes) */
	struct hv_text text; /* made */
	size_t text_pos;     /* how much of TEXT was read */
	unsigned nr_fills;   /* how often TEXT was made */
	size_t asked_bytes;  /* by the read that made TEXT necessary */
};

/* PATH is copied. The node's open() was not called yet. */
struct hv_file *hv_file_new(const struct hv_place *at, const char *path, int flags) hv_must_use;
/* Calls the node's release(), not its close(). */
void hv_file_free(struct hv_file *f);

static inline bool hv_file_writes(const struct hv_file *f)
{
	return (f->flags & O_ACCMODE) != O_RDONLY;
}

static inline bool hv_file_reads(const struct hv_file *f)
{
	return (f->flags & O_ACCMODE) != O_WRONLY;
}

/* Opened for writing with O_TRUNC. */
static inline bool hv_file_truncates(const struct hv_file *f)
{
	return hv_file_writes(f) && (f->flags & O_TRUNC);
}

static inline struct hv_session *hv_file_session(const struct hv_file *f)
{
	return f->at.instance->all->session;
}

/* The write operation of files that take anything and do nothing with it. */
struct hv_err *hv_file_take_anything(struct hv_file *f, const char *buf, size_t len_bytes,
				     size_t *ret_len) hv_must_use;
/* Puts into error_log that BUF, which was written to F, was refused with ERR. */
void hv_file_log_error(struct hv_file *f, const struct hv_err *err, const char *buf,
		       size_t len_bytes);
