/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/alloc.h"

#include <stdlib.h>
#include <string.h>

void *lib_alloc(size_t len_bytes)
{
	return calloc(1, len_bytes ? len_bytes : 1);
}

void *lib_realloc_array(void *p, size_t nr, size_t size)
{
	return reallocarray(p, nr ? nr : 1, size);
}

char *lib_strndup(const char *s, size_t len_bytes)
{
	char *copy = lib_alloc(len_bytes + 1);

	if (copy && len_bytes)
		memcpy(copy, s, len_bytes);
	return copy;
}

char *lib_strdup(const char *s)
{
	return lib_strndup(s, strlen(s));
}
