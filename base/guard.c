/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/guard.h"

#include <stdint.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

void *hv_alloc(size_t len_bytes)
{
	void *p = calloc(1, len_bytes ? len_bytes : 1);

	if (!p)
		abort();
	return p;
}

void *hv_realloc_array(void *p, size_t nr, size_t size)
{
	void *grown = reallocarray(p, nr ? nr : 1, size);

	if (!grown)
		abort();
	return grown;
}

void hv_populate(void *bytes, size_t len_bytes)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t at = ((uintptr_t)bytes + page - 1) & ~(page - 1),
		  to = ((uintptr_t)bytes + len_bytes) & ~(page - 1);

	if (at < to)
		madvise((void *)at, to - at, MADV_POPULATE_WRITE);
}

void hv_trim_memory(void)
{
	malloc_trim(0);
}

char *hv_strdup(const char *s)
{
	char *copy = strdup(s);

	if (!copy)
		abort();
	return copy;
}

char *hv_format(const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	text = hv_vformat(fmt, args);
	va_end(args);
	return text;
}

char *hv_vformat(const char *fmt, va_list args)
{
	char *text = NULL;

	if (vasprintf(&text, fmt, args) < 0)
		abort();
	return text;
}
