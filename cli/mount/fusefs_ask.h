/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a mounted tree (its names, its open files, pending requests), and the requests to
 * the service and to the inspector process. One thread. fusefs_ops.h handles the kernel's requests,
 * and fusefs.h has the main loop. */
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/mount/fusefs.h"
#include "cli/mount/inspector.h"
#include "cli/mount/link.h"
#include "cli/mount/mount_errands.h"

/* -- the state -------------------------------------------------------------------------------- */

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
	struct errand helper; /* starts inspectors, and unmounts */
	struct inspector inspector;
	struct inspector lost; /* the previous inspector, until it has ended */
	uint64_t lost_id;      /* its last request */
	uint64_t next_look_id;
};

/* -- requests to the service ------------------------------------------------------------------ */

/* Requests to the service on behalf of the kernel (asks). They hold references to open files. The
 * callers choose the request and interpret the answer. */

#define ASK_GIVE_UP_NS (5 * HV_NS_PER_S) /* timeout for a peer that does not answer */

/* REQ may be NULL: the kernel did not ask. DONE receives the answer; the ask is freed
 * afterwards. */
struct ask *ask_new(struct fusefs *fs, fuse_req_t req,
		    void (*done)(struct ask *a, const struct wire_frame *answer));
void ask_send(struct ask *a, const struct wire_frame *frame);
/* Like ask_send(), but first waits until the files of dead processes are closed. The kernel closes
 * them in the background, so otherwise a program that has waited for such a process could still
 * find its files open. */
void ask_send_settled(struct ask *a, const struct wire_frame *frame);
void ask_send_path(struct ask *a, enum wire_kind kind, const char *path, uint32_t arg);
/* Ends an ask that was never sent. */
void ask_free(struct ask *a);

/* Answers the kernel's request with an error, if it is still pending. */
void ask_fail(struct ask *a, int code);
/* True: ANSWER is an error and was forwarded to the kernel. */
bool ask_failed(struct ask *a, const struct wire_frame *answer);

/* Returns whether ask_send_settled() has deferred A. */
bool ask_is_deferred(const struct ask *a);
bool asks_any_deferred(const struct fusefs *fs);
/* Sends deferred asks if no dead process has files to close, or if that takes too long. */
void asks_send_deferred(struct fusefs *fs);

/* Drops a reference; the last one frees the file. */
void file_put(struct file *f);
bool file_writes(const struct file *f);

/* -- requests to the inspector ---------------------------------------------------------------- */

/* Requests to the inspector process (inspector.h) for a mounted tree: how a process came to close a
 * file, and setting O_DIRECT on streams. fusefs_ops.c acts on the answers. */

/* Asks the inspector about PID, which closes A's file. Calls SEEN, possibly before it returns; VIEW
 * NULL: the inspector did not answer in time. */
void close_look(struct ask *a, pid_t pid,
		void (*seen)(struct ask *a, const struct inspector_view *view));
/* Returns whether PID is the inspector or its predecessor, which closes its own copy of a file.
 * Answer such a close immediately: the inspector cannot examine itself while the close blocks
 * it. */
bool close_is_of_inspector(const struct fusefs *fs, pid_t pid);

/* Sets O_DIRECT for the file that OPENER has just opened. */
void direct_begin(struct file *f, pid_t opener);
/* Returns the time until the next action is due; -1: no action is due. */
int direct_timeout_ms(const struct fusefs *fs);

/* Called when the answer for A is late. */
void inspector_is_late(struct ask *a);
void inspector_died(struct fusefs *fs);
/* Handles the inspector's answers, and repeats requests that are due. */
void see_to_inspector(struct fusefs *fs);
