/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The backend for a mounted tree. */
#include "tests/conformance/backend.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int backend_begin(const char *where)
{
	return chdir(where);
}

/* Returns the path of a file of the tree. */
static const char *below(const char *path)
{
	path += strspn(path, "/");
	return *path ? path : ".";
}

int backend_open(const char *path, int flags)
{
	return open(below(path), flags);
}

ssize_t backend_read(int handle, void *buf, size_t len_bytes)
{
	return read(handle, buf, len_bytes);
}

ssize_t backend_write(int handle, const void *buf, size_t len_bytes)
{
	return write(handle, buf, len_bytes);
}

int backend_close(int handle)
{
	return close(handle);
}

int backend_rewind(int handle)
{
	return lseek(handle, 0, SEEK_SET) < 0 ? -1 : 0;
}

static int not_dots(const struct dirent *d)
{
	return strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0;
}

int backend_list(const char *path, char *ret, size_t size)
{
	struct dirent **names;
	int nr = scandir(below(path), &names, not_dots, alphasort);
	size_t at = 0;

	if (nr < 0)
		return -1;
	for (int i = 0; i < nr; i++) {
		int n = snprintf(ret + at, size - at, "%s%s\n", names[i]->d_name,
				 names[i]->d_type == DT_DIR ? "/" : "");

		at += (size_t)n < size - at ? (size_t)n : 0;
		free(names[i]);
	}
	free(names);
	ret[at] = '\0';
	return 0;
}

int backend_mkdir(const char *path)
{
	return mkdir(below(path), 0750);
}

int backend_rmdir(const char *path)
{
	return rmdir(below(path));
}

int backend_stat(const char *path, unsigned *ret_mode, unsigned *ret_is_dir)
{
	struct stat st;

	if (stat(below(path), &st) != 0)
		return -1;
	*ret_mode = st.st_mode & 07777;
	*ret_is_dir = S_ISDIR(st.st_mode);
	return 0;
}
