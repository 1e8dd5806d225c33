/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handles the kernel's requests about names, directories and open files of a mounted tree. */
#pragma once

#include "cli/mount/fusefs_ask.h"

/* The operations of libfuse. */
extern const struct fuse_lowlevel_ops fusefs_operations;

void nodes_deinit(struct fusefs *fs);
/* Ends a read of a stream whose caller was interrupted; the next read receives its data. */
void file_orphan_read(struct ask *a);
