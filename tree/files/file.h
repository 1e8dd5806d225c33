/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An open file, and the state of the tree. Nodes implement files; tree.h reads and writes them. */
#pragma once

#include <fcntl.h>

#include "base/shared_text.h"
#include "tree/files/node.h"
#include "tree/instance/core/instance.h"

struct hv_tree {
	struct hv_instances *instances; /* owned */
	const struct hv_node *root;
	size_t nr_open;		      /* number of open files */
	struct hv_shared_texts texts; /* long texts of open files */
	unsigned ending;	      /* files closed from now on publish nothing */
	uint32_t lacks; /* the right that the last refused client lacked; 0: none was refused */
};

struct hv_file {
	struct hv_path at;
	const struct hv_rights *rights; /* borrowed; of the client that opened the file */
	char *path;			/* owned; for messages */
	int flags;			/* as for open(2) */
	void *state;			/* owned; state of the node's operations (state_bytes) */
	struct hv_text text;		/* output of the node */
	const struct hv_shared_text *shared; /* owned; replaces TEXT if it is long; or NULL */
	size_t text_pos;		     /* bytes of TEXT already read */
	unsigned nr_fills;		     /* number of times that the node filled TEXT */
	size_t asked_bytes;		     /* size of the read that TEXT was filled for */
	unsigned has_logged; /* the failing write has already reported to error_log */
};

/* Makes an open file; the caller calls the node's open(). PATH is copied. */
struct hv_file *hv_file_new(const struct hv_path *at, const struct hv_rights *rights,
			    const char *path, int flags) hv_must_use;
/* Calls the node's release(), not its close(). */
void hv_file_free(struct hv_file *f);

/* EACCES: RIGHTS are not sufficient for NEED at AT (rights.h). */
struct hv_err *hv_path_check(const struct hv_path *at, const struct hv_rights *rights,
			     uint32_t need) hv_must_use;
/* Like hv_path_check(), for the client that opened F. Files call it after parsing a write. */
static inline hv_must_use struct hv_err *hv_file_check(const struct hv_file *f, uint32_t need)
{
	return hv_path_check(&f->at, f->rights, need);
}

static inline bool hv_file_writes(const struct hv_file *f)
{
	return (f->flags & O_ACCMODE) != O_RDONLY;
}

static inline bool hv_file_reads(const struct hv_file *f)
{
	return (f->flags & O_ACCMODE) != O_WRONLY;
}

/* Returns whether F was opened for writing with O_TRUNC. */
static inline bool hv_file_truncates(const struct hv_file *f)
{
	return hv_file_writes(f) && (f->flags & O_TRUNC);
}

static inline struct hv_instances *hv_file_instances(const struct hv_file *f)
{
	return hv_instance_all(f->at.instance);
}

static inline struct hv_session *hv_file_session(const struct hv_file *f)
{
	return hv_instance_session(f->at.instance);
}

/* Write operation of files that ignore their input. */
struct hv_err *hv_file_take_anything(struct hv_file *f, const char *buf, size_t len_bytes,
				     size_t *ret_len) hv_must_use;
/* Reports in error_log that F refused the write of BUF with ERR. */
void hv_file_log_error(struct hv_file *f, const struct hv_err *err, const char *buf,
		       size_t len_bytes);
/* Reports an error at character AT of COMMAND, as the kernel does (tracing_log_err): WHERE is the
 * subsystem and WHY the reason. The current write is not reported again. */
void hv_file_log_fault(struct hv_file *f, const char *where, const char *why, const char *command,
		       size_t at);
