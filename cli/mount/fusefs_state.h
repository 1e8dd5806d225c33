/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a mounted tree knows: its names, its open files, and what the service was asked. One thread.
 * Leaves to others: questions to the service (fusefs_ask.h), names and directories (fusefs_dir.h),
 * files (fusefs_file.h), who closes them (fusefs_inspector.h), the loop over all (fusefs.h). */
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "cli/mount/fusefs.h"
#include "cli/mount/inspector.h"

/* A path the kernel knows a name for. Its inode number for libfuse is its address. */
struct node {
	char *path; /* owned; "" is the top */
	uint64_t nr_lookups;
};

/* An open file. */
struct file {
	struct fusefs *fs;
	struct file *next;
	unsigned nr_refs; /* the kernel's one, and one of each request under way */
	char *path;	  /* owned */
	int flags;
	uint32_t handle;
	bool is_released;
	/* Reading. A stream is taken as it is read and cannot be read again. */
	bool is_stream;
	uint64_t pos;
	unsigned nr_reads;   /* under way */
	struct ask *orphan;  /* read whose asker was interrupted */
	struct hv_text late; /* what it brought */
	struct fuse_pollhandle *poll;
	bool watches; /* the service will tell when there is something */
	/* Writing, and who does. */
	bool wrote;	 /* something was taken */
	bool cut_short;	 /* and the rest of it not offered again yet */
	bool to_publish; /* written since the last time */
	pid_t pid;	 /* thread that used it last, as FUSE names it */
	pid_t writer;	 /* and that wrote last */
	bool waited_for; /* its user is dead and its release did not come in time */
	enum closer_state closed_by;
	/* O_DIRECT, for splice(2). */
	pid_t opener;
	uint64_t direct_id;    /* of the question to the inspector, which may have the file open; 0:
				  none */
	uint64_t direct_at_ns; /* when to ask again; 0: not */
	uint64_t direct_wait_ns;
};

/* Something the service was asked. */
struct ask {
	struct fusefs *fs;
	struct ask *next;
	fuse_req_t req;	   /* NULL: answered before its time, or the kernel did not ask */
	struct file *file; /* a reference, or NULL */
	char *path;	   /* owned, or NULL */
	/* ANSWER: WIRE_OK or WIRE_ERROR. */
	void (*done)(struct ask *a, const struct wire_frame *answer);
	/* Of close_look(). */
	void (*seen)(struct ask *a, const struct inspector_view *view);
	uint32_t tag; /* 0: not sent yet */
	uint64_t interrupted_ns;
	struct wire_frame frame;
	struct hv_text data;  /* of the frame, while it is kept back */
	uint64_t deferred_ns; /* since when it is kept back; 0: never was */
	uint64_t deferred_until_ns;
	uint64_t look_id;     /* of the question how its asker fares; 0: none */
	uint64_t look_end_ns; /* it is not waited for beyond that */
	uint64_t until_ns;    /* answered by then, one way or the other; 0: no limit */
	uint32_t want_bytes;
	int flags;
};

struct fusefs {
	struct fuse_session *session;
	struct link *link;
	void *nodes; /* of tsearch(3), by path */
	struct node top;
	struct file *files;
	struct ask *asks;
	time_t started;
	int fuse_fd;
	struct inspector inspector;
	struct inspector lost; /* the one before, until it has ended */
	uint64_t lost_id;      /* the last that it was asked */
	uint64_t next_look_id;
};
