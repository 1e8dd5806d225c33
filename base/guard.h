/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cleanup attributes for local variables that own a resource, transfer of ownership (hv_take,
 * hv_take_fd), and memory allocation. */
#pragma once

#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#define hv_cleanup(fn)	__attribute__((cleanup(fn)))
#define hv_must_use	__attribute__((warn_unused_result))
#define hv_printf(f, a) __attribute__((format(printf, f, a)))
#define hv_unused	__attribute__((unused))

#define HV_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static inline void hv_free_at(void *at)
{
	free(*(void **)at);
}

/* An fd variable is -1 if it owns nothing. */
static inline void hv_close_at(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define HV_AUTO_FREE hv_cleanup(hv_free_at)
#define HV_AUTO_FD   hv_cleanup(hv_close_at)

static inline int hv_take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

static inline void *hv_take_ptr_at(void *at)
{
	void *taken = *(void **)at;

	*(void **)at = NULL;
	return taken;
}

/* Transfers ownership: returns the pointer and sets the local to NULL, so that its cleanup does
 * nothing. */
#define hv_take(p) ((__typeof__(p))hv_take_ptr_at(&(p)))

/* Allocation failure terminates the program. This is acceptable because hvtrace needs only a few
 * MiB, and because a hold ends when its process dies (vmm/qemu/gdb/guardian.h). */
void *hv_alloc(size_t len_bytes) hv_must_use __attribute__((malloc, alloc_size(1)));
void *hv_realloc_array(void *p, size_t nr, size_t size) hv_must_use;
/* Faults in all whole pages of the LEN_BYTES at BYTES with one system call, which takes half the
 * time of a fault per page. For memory that will be written completely. Has no effect before Linux
 * 5.14. */
void hv_populate(void *bytes, size_t len_bytes);
/* Returns freed memory to the host, as far as the C library can. Takes some ms. */
void hv_trim_memory(void);
char *hv_strdup(const char *s) hv_must_use;
char *hv_format(const char *fmt, ...) hv_must_use hv_printf(1, 2);
char *hv_vformat(const char *fmt, va_list args) hv_must_use __attribute__((format(printf, 1, 0)));
