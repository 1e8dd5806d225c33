/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An open file, and what files know about their tree.
 * Leaves to others: what a file shows and does (its node), reading and writing (tree.h). */
#pragma once

#include <fcntl.h>

#include "base/shared_text.h"
#include "tree/files/node.h"
#include "tree/instance/core/instance.h"

struct hv_tree {
	struct hv_instances instances;
	const struct hv_node *root;
	size_t nr_open;		      /* open files */
	struct hv_shared_texts texts; /* long ones of open files */
	unsigned ending;	      /* files that are closed from now on publish nothing */
	uint32_t lacks; /* the right that the last refused client lacked; 0: none was refused */
};

struct hv_file {
	struct hv_place at;
	const struct hv_rights *rights; /* borrowed; of the client that opened it */
	char *path;			/* owned; for messages */
	int flags;			/* of open(2) */
	void *state;	     /* owned; the state of the node's operations (state_bytes) */
	struct hv_text text; /* what the node has made last */
	const struct hv_shared_text *shared; /* owned; instead of TEXT, if that is long; or NULL */
	size_t text_pos;		     /* how much of TEXT was read */
	unsigned nr_fills;		     /* how often the node has made TEXT */
	size_t asked_bytes;  /* how much the read asked for, for which TEXT was made */
	unsigned has_logged; /* the write that is refused has told error_log why itself */
};

/* Makes an open file; the caller calls the node's open(). PATH is copied. */
struct hv_file *hv_file_new(const struct hv_place *at, const struct hv_rights *rights,
			    const char *path, int flags) hv_must_use;
/* Calls the node's release(), not its close(). */
void hv_file_free(struct hv_file *f);

/* EACCES: a client with RIGHTS may not do at AT what needs NEED (rights.h). */
struct hv_err *hv_place_check(const struct hv_place *at, const struct hv_rights *rights,
			      uint32_t need) hv_must_use;
/* Like hv_place_check(), for the client that opened F. Files call it after they have parsed what
 * the client wrote. */
static inline hv_must_use struct hv_err *hv_file_check(const struct hv_file *f, uint32_t need)
{
	return hv_place_check(&f->at, f->rights, need);
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

static inline struct hv_session *hv_file_session(const struct hv_file *f)
{
	return f->at.instance->all->session;
}

/* The write operation of files that accept anything and do nothing with it. */
struct hv_err *hv_file_take_anything(struct hv_file *f, const char *buf, size_t len_bytes,
				     size_t *ret_len) hv_must_use;
/* Adds to error_log that BUF, which was written to F, was refused with ERR. */
void hv_file_log_error(struct hv_file *f, const struct hv_err *err, const char *buf,
		       size_t len_bytes);
/* Adds it in the kernel's words: the character AT of COMMAND is wrong, which WHERE could not read
 * because of WHY (tracing_log_err). The write that is under way is not logged otherwise. */
void hv_file_log_fault(struct hv_file *f, const char *where, const char *why, const char *command,
		       size_t at);
