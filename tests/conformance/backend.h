/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree on which the player runs a script: a directory, or a service's tree over its socket. A
 * program is linked with one of these two backends. The functions behave like the system calls of
 * their names: if they fail, they return -1 and set errno. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Called once, before all others. WHERE: a directory, or a socket. */
int backend_begin(const char *where);

/* Returns a handle, which is a small number, or -1. FLAGS: O_*. */
int backend_open(const char *path, int flags);
ssize_t backend_read(int handle, void *buf, size_t len_bytes);
ssize_t backend_write(int handle, const void *buf, size_t len_bytes);
int backend_close(int handle);
/* Goes back to the beginning of the file. */
int backend_rewind(int handle);

/* Lists the names in PATH, one a line, sorted. Directory names end with '/'. */
int backend_list(const char *path, char *ret, size_t size);
int backend_mkdir(const char *path);
int backend_rmdir(const char *path);
/* Returns the permission bits, and whether PATH is a directory (0 or 1). */
int backend_stat(const char *path, unsigned *ret_mode, unsigned *ret_is_dir);
