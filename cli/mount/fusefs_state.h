/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a mounted tree: its names, its open files, and pending requests to the service. One
 * thread. fusefs_ask.h sends requests, fusefs_dir.h handles names and directories, fusefs_file.h
 * files, fusefs_inspector.h their closing, and fusefs.h has the main loop. */
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "cli/mount/fusefs.h"
#include "cli/mount/inspector.h"

/* A path for which the kernel knows a name. Its inode number for libfuse is the node's address. */
struct node {
	char *path; /* owned; "" is the top */
	uint64_t nr_lookups;
};

/* An open file. */
struct file {
	struct fusefs *fs;
	struct file *next;
	unsigned nr_refs; /* the kernel's reference, and one per pending request */
	char *path;	  /* owned */
	int flags;
	uint32_t handle;
	bool is_released;
	/* Reading. Reads of a stream consume it, so data cannot be read again. */
	bool is_stream;
	uint64_t pos;
	unsigned nr_reads;   /* pending */
	struct ask *orphan;  /* the read whose caller was interrupted */
	struct hv_text late; /* data of that read */
	struct fuse_pollhandle *poll;
	bool watches; /* the service will report readiness */
	/* Writing, and the writers. */
	bool wrote;	/* a write was accepted */
	bool cut_short; /* the last write was accepted partly, and the rest was not written again */
	bool to_publish; /* written since the last publish */
	pid_t pid;	 /* last thread that used it, as FUSE names it */
	pid_t writer;	 /* last thread that wrote */
	bool waited_for; /* its user is dead, but the kernel did not close it in time */
	enum closer_state closed_by;
	/* O_DIRECT, for splice(2). */
	pid_t opener;
	uint64_t direct_id; /* id of the pending request to the inspector, which may have the file
			       open; 0: no request */
	uint64_t direct_at_ns; /* time of the next request; 0: never */
	uint64_t direct_wait_ns;
};

/* A request to the service. */
struct ask {
	struct fusefs *fs;
	struct ask *next;
	fuse_req_t req;	   /* NULL: already answered, or the kernel did not ask */
	struct file *file; /* a reference, or NULL */
	char *path;	   /* owned, or NULL */
	/* ANSWER: WIRE_OK or WIRE_ERROR. */
	void (*done)(struct ask *a, const struct wire_frame *answer);
	/* For close_look(). */
	void (*seen)(struct ask *a, const struct inspector_view *view);
	uint32_t tag; /* 0: not sent */
	uint64_t interrupted_ns;
	struct wire_frame frame;
	struct hv_text data;  /* the frame's data while the ask is deferred */
	uint64_t deferred_ns; /* start of the deferral; 0: never deferred */
	uint64_t deferred_until_ns;
	uint64_t look_id;     /* id of the request about the closing process; 0: not asked */
	uint64_t look_end_ns; /* deadline for the inspector */
	uint64_t until_ns;    /* deadline for an answer to the kernel; 0: no limit */
	uint32_t want_bytes;
	int flags;
};

struct fusefs {
	struct fuse_session *session;
	struct link *link;
	void *nodes; /* tree of tsearch(3), sorted by path */
	struct node top;
	struct file *files;
	struct ask *asks;
	time_t started;
	int fuse_fd;
	struct inspector inspector;
	struct inspector lost; /* the previous inspector, until it has ended */
	uint64_t lost_id;      /* its last request */
	uint64_t next_look_id;
};
