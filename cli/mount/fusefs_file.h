/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Open files of a mounted tree: operations of libfuse (fuse_lowlevel_ops). */
#pragma once

#include "cli/mount/fusefs_state.h"

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

/* Ends a read of a stream whose caller was interrupted; the next read receives its data. */
void file_orphan_read(struct ask *a);
