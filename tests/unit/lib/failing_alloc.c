/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/lib/failing_alloc.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/alloc.h"

static unsigned nr_left = UINT_MAX;
static bool has_failed;

void failing_alloc_after(unsigned nr)
{
	nr_left = nr;
	has_failed = false;
}

int failing_alloc_has_failed(void)
{
	return has_failed;
}

static bool fails(void)
{
	if (has_failed || nr_left--)
		return false;
	has_failed = true;
	return true;
}

void *lib_alloc(size_t len_bytes)
{
	return fails() ? NULL : calloc(1, len_bytes ? len_bytes : 1);
}

void *lib_realloc_array(void *p, size_t nr, size_t size)
{
	return fails() ? NULL : reallocarray(p, nr ? nr : 1, size);
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
