/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names and directories of a mounted tree: operations of libfuse (fuse_lowlevel_ops). */
#pragma once

#include "cli/mount/fusefs_state.h"

struct node *node_of(struct fusefs *fs, fuse_ino_t ino);
void nodes_deinit(struct fusefs *fs);

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
