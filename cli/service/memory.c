/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/confine.h"

#define BUFFERS_SHARE 2 /* buffers may use 1/BUFFERS_SHARE of the free memory */

struct hv_err *memory_limit(void)
{
	uint64_t free_bytes = (uint64_t)sysconf(_SC_AVPHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	return hv_limit_memory(MEMORY_SESSION_BYTES + free_bytes / BUFFERS_SHARE);
}

/* The kernel charges a mapping when it is created, used or not. */
struct hv_err *memory_check(void)
{
	void *kept = mmap(NULL, MEMORY_KEPT_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (kept == MAP_FAILED)
		return hv_err_new(ENOMEM,
				  "the session has less than %llu MiB of memory left, which it "
				  "keeps for itself: make buffers smaller, or remove instances",
				  (unsigned long long)(MEMORY_KEPT_BYTES >> 20));
	munmap(kept, MEMORY_KEPT_BYTES);
	return NULL;
}
