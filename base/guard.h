/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ownership that ends with a scope. A local variable that owns something has one of these cleanup
 * attributes; hv_take and hv_take_fd pass the ownership on. Also what allocates memory. */
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

/* A variable for an fd is -1 while it owns none. */
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

/* Passes the pointer on: the local becomes NULL, and its cleanup then does nothing. */
#define hv_take(p) ((__typeof__(p))hv_take_ptr_at(&(p)))

/* These end the program when there is no memory: hvtrace needs only a few MiB, and a hold also ends
 * when the process that took it dies (vmm/qemu/guardian.h). */
void *hv_alloc(size_t len_bytes) hv_must_use __attribute__((malloc, alloc_size(1)));
void *hv_realloc_array(void *p, size_t nr, size_t size) hv_must_use;
/* Gets the memory of the whole pages among the LEN_BYTES at BYTES, which will all be written, from
 * the host at once: that takes half as long as a fault for each. Where the host cannot do that
 * (before 5.14), it changes nothing. */
void hv_populate(void *bytes, size_t len_bytes);
char *hv_strdup(const char *s) hv_must_use;
char *hv_format(const char *fmt, ...) hv_must_use hv_printf(1, 2);
char *hv_vformat(const char *fmt, va_list args) hv_must_use __attribute__((format(printf, 1, 0)));
