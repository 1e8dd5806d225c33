/* A tree of files to play a script on: below a directory, or over a service's socket. A program is
 * linked with one of the two. Calls behave as the system calls of their names: -1 and errno. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Once, first. WHERE: a directory, or a socket. */
int backend_begin(const char *where);

/* Handles are small numbers, or -1. FLAGS: O_*. */
int backend_open(const char *path, int flags);
ssize_t backend_read(int handle, void *buf, size_t len_bytes);
ssize_t backend_write(int handle, const void *buf, size_t len_bytes);
int backend_close(int handle);
/* To the beginning of the file. */
int backend_rewind(int handle);

/* Names in PATH, one a line, sorted, directories with a trailing '/'. */
int backend_list(const char *path, char *ret, size_t size);
int backend_mkdir(const char *path);
int backend_rmdir(const char *path);
/* Permission bits, whether it is a directory (0 or 1). */
int backend_stat(const char *path, unsigned *ret_mode, unsigned *ret_is_dir);
