/* Scoped ownership: an owning local carries one of these; leaving its scope is an explicit take.
 * Leaves to others: what is owned. */
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

/* An fd starts at -1. */
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

/* Gives the pointer away: the local becomes NULL, its cleanup then does nothing. */
#define hv_take(p) ((__typeof__(p))hv_take_ptr_at(&(p)))

/* Allocation failure ends the program: a host tool of a few MiB has nothing better to do, and every
 * hold ends with its owner (vmm/qemu/guardian.h). */
void *hv_alloc(size_t len_bytes) hv_must_use __attribute__((malloc, alloc_size(1)));
void *hv_realloc_array(void *p, size_t nr, size_t size) hv_must_use;
char *hv_strdup(const char *s) hv_must_use;
char *hv_format(const char *fmt, ...) hv_must_use hv_printf(1, 2);
char *hv_vformat(const char *fmt, va_list args) hv_must_use __attribute__((format(printf, 1, 0)));
