/* Between fusefs.c and fusefs_*.c: what a mounted tree knows. One thread. */
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include "cli/mount/fusefs.h"
#include "cli/mount/holder.h"

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
	enum holder_state closed_by;
	/* O_DIRECT, for splice(2). */
	pid_t opener;
	uint64_t direct_id;    /* of the question to the holder, who may have it open; 0: none */
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
	uint32_t tag; /* 0: not sent yet */
	uint64_t interrupted_ns;
	struct wire_frame frame;
	struct hv_text data; /* of the frame, while it is kept back */
	uint64_t held_ns;    /* since when it is kept back; 0: never was */
	uint64_t held_until_ns;
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
	struct holder holder;
	struct holder lost; /* the one before, until it has ended */
	uint64_t lost_id;   /* the last that it was asked */
	uint64_t next_look_id;
};

struct ask *ask_new(struct fusefs *fs, fuse_req_t req,
		    void (*done)(struct ask *a, const struct wire_frame *answer));
void ask_send(struct ask *a, const struct wire_frame *frame);
/* As ask_send, once the files of processes that have died are closed: the kernel does that behind
 * their back, so that who waited for them could come first. */
void ask_send_settled(struct ask *a, const struct wire_frame *frame);
void ask_send_path(struct ask *a, enum wire_kind kind, const char *path, uint32_t arg);
/* Answers the asker with an error, if there still is one. */
void ask_fail(struct ask *a, int code);
/* True: ANSWER is an error, with which the asker was answered. */
bool ask_failed(struct ask *a, const struct wire_frame *answer);

struct node *node_of(struct fusefs *fs, fuse_ino_t ino);
void nodes_deinit(struct fusefs *fs);

/* How a flush goes on; VIEW NULL: it could not be found out in time. */
void flush_seen(struct ask *a, const struct holder_view *view);
/* The holder is asked how PID fares, which closes A's file; flush_seen() follows, perhaps at once.
 */
void close_look(struct ask *a, pid_t pid);
/* Closing by the holder itself, which waits for us while others wait for it. */
bool close_is_of_holder(const struct fusefs *fs, pid_t pid);
/* A's look took too long. */
void holder_is_late(struct ask *a);
void holder_died(struct fusefs *fs);
/* Takes its answers, asks again what is due. */
void see_to_holder(struct fusefs *fs);

/* O_DIRECT for what OPENER has just opened. */
void direct_begin(struct file *f, pid_t opener);
/* Until something is due; -1: nothing is. */
int direct_timeout_ms(const struct fusefs *fs);
/* Ends an ask that was never sent. */
void ask_free(struct ask *a);

void file_put(struct file *f);
bool file_writes(const struct file *f);
/* Somebody may be about to close it: dead, and it was not told yet. */
bool file_is_closing(const struct file *f);
/* The read of a stream that nobody waits for any more. */
void file_orphan_read(struct ask *a);

void fusefs_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fusefs_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void fusefs_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
		  struct fuse_file_info *fi);
void fusefs_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fusefs_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fusefs_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
		 struct fuse_pollhandle *ph);
void fusefs_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned cmd, void *arg,
		  struct fuse_file_info *fi, unsigned flags, const void *in_buf, size_t in_size,
		  size_t out_size);

/* Operations of libfuse. */
void fusefs_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void fusefs_forget(fuse_req_t req, fuse_ino_t ino, uint64_t nr);
void fusefs_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fusefs_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		    struct fuse_file_info *fi);
void fusefs_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void fusefs_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void fusefs_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void fusefs_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to,
		   const char *to_name, unsigned flags);
void fusefs_symlink(fuse_req_t req, const char *to, fuse_ino_t parent, const char *name);
void fusefs_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name);
void fusefs_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
		   struct fuse_file_info *fi);
void fusefs_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev);
void fusefs_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fusefs_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi);
void fusefs_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fusefs_statfs(fuse_req_t req, fuse_ino_t ino);
