/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/shared_memory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include "vmm/guest.h"

#define PAGE_BYTES 4096
#define HUGE_BYTES (2ull << 20)
#define RANGES_MAX 1024
#define LEN_MAX	   ((uint64_t)INT64_MAX / 2) /* of a range and of its offset; more overflows */

/* The signal handler can read a range at any time, so START is set last and cleared first. */
struct range {
	const uint8_t *start; /* NULL: unused */
	uint64_t len_bytes;
	uint64_t page_bytes;
	uint8_t *volatile lost; /* its last page that was replaced after a fault; NULL: none */
};
static struct range ranges[RANGES_MAX];

/* This thread's current copy. */
static __thread struct {
	const uint8_t *volatile from; /* NULL if there is no copy */
	volatile size_t len_bytes;
	sigjmp_buf on_fault;
} copy;

static struct range *find(const uint8_t *at)
{
	for (size_t i = 0; i < RANGES_MAX; i++) {
		const uint8_t *start = __atomic_load_n(&ranges[i].start, __ATOMIC_ACQUIRE);

		if (start && (uint64_t)(at - start) < ranges[i].len_bytes)
			return &ranges[i];
	}
	return NULL;
}

static void on_bus_error(int signo, siginfo_t *info, void *context)
{
	uint8_t *at = info->si_addr, *page;
	int code = errno;
	struct range *r = find(at);
	uint64_t page_bytes = r ? r->page_bytes : PAGE_BYTES;

	(void)context;
	/* For a broken page the kernel may report the start of the page as the address. */
	if (copy.from && at + page_bytes > copy.from && at < copy.from + copy.len_bytes)
		siglongjmp(copy.on_fault, 1);
	page = at - (uintptr_t)at % page_bytes;
	if (r && mmap(page, page_bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page)
		r->lost = page;
	else
		signal(signo, SIG_DFL); /* the access is repeated and then ends the process */
	errno = code;
}

static void install(void)
{
	struct sigaction action = {.sa_sigaction = on_bus_error,
				   .sa_flags = SA_SIGINFO | SA_NODEFER};

	sigaction(SIGBUS, &action, NULL);
}

static uint64_t page_bytes_of(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) == 0 && fs.f_type == HUGETLBFS_MAGIC && fs.f_bsize > PAGE_BYTES)
		return (uint64_t)fs.f_bsize;
	return PAGE_BYTES;
}

static struct range *find_unused(void)
{
	for (size_t i = 0; i < RANGES_MAX; i++)
		if (!ranges[i].start)
			return &ranges[i];
	return NULL;
}

/* Reserves address space. Address and offset in the file are equal modulo 2 MiB, so that the kernel
 * can map huge pages. Returns MAP_FAILED if there is no room. */
static uint8_t *reserve(uint64_t off, uint64_t len_bytes)
{
	uint8_t *room = mmap(NULL, len_bytes + HUGE_BYTES, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t before = (off - (uint64_t)(uintptr_t)room) % HUGE_BYTES;

	if (room == MAP_FAILED)
		return room;
	if (before)
		munmap(room, before);
	munmap(room + before + len_bytes, HUGE_BYTES - before);
	return room + before;
}

struct hv_err *hv_shared_map(int fd, uint64_t off, uint64_t len_bytes, int prot, uint8_t **ret)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct range *r = find_unused();
	uint64_t page_bytes = page_bytes_of(fd);
	struct hv_err *err;
	void *start, *room = MAP_FAILED;

	pthread_once(&once, install);
	if (!len_bytes || len_bytes > LEN_MAX || off > LEN_MAX || off % PAGE_BYTES)
		return hv_err_new(EINVAL,
				  "cannot map the guest's memory: no file can have %" PRIu64
				  " bytes at offset %" PRIu64,
				  len_bytes, off);
	if (!r)
		return hv_err_new(ENOSPC, "more than %u mappings of other processes' memory",
				  RANGES_MAX);
	/* The kernel itself aligns mappings of hugetlbfs, whose pages can be larger. */
	if (page_bytes == PAGE_BYTES && len_bytes >= HUGE_BYTES && len_bytes % PAGE_BYTES == 0)
		room = reserve(off, len_bytes);
	start = room == MAP_FAILED
			? mmap(NULL, len_bytes, prot, MAP_SHARED, fd, (off_t)off)
			: mmap(room, len_bytes, prot, MAP_SHARED | MAP_FIXED, fd, (off_t)off);
	if (start == MAP_FAILED) {
		err = hv_err_new(errno, "cannot map the guest's memory: mmap: %s", strerror(errno));
		if (room != MAP_FAILED)
			munmap(room, len_bytes);
		return err;
	}
	r->len_bytes = len_bytes;
	r->page_bytes = page_bytes;
	r->lost = NULL;
	__atomic_store_n(&r->start, start, __ATOMIC_RELEASE);
	*ret = start;
	return NULL;
}

void hv_shared_unmap(const uint8_t *start, uint64_t len_bytes)
{
	for (size_t i = 0; start && i < RANGES_MAX; i++)
		if (ranges[i].start == start && ranges[i].len_bytes == len_bytes)
			__atomic_store_n(&ranges[i].start, NULL, __ATOMIC_RELEASE);
	if (start)
		munmap((void *)(uintptr_t)start, len_bytes);
}

bool hv_shared_is_lost(const uint8_t *start, uint64_t len_bytes)
{
	for (size_t i = 0; i < RANGES_MAX; i++)
		if (ranges[i].start && ranges[i].lost &&
		    (uint64_t)(ranges[i].lost - start) < len_bytes)
			return true;
	return false;
}

struct hv_err *hv_shared_read(void *to, const uint8_t *from, size_t len_bytes)
{
	bool is_whole = false;

	if (sigsetjmp(copy.on_fault, 0) == 0) {
		copy.len_bytes = len_bytes;
		copy.from = from;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		memcpy(to, from, len_bytes);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		is_whole = true;
	}
	copy.from = NULL;
	if (is_whole)
		return NULL;
	return hv_err_new(
		EFAULT,
		"hvtrace's mapping of its memory is gone (SIGBUS: a truncated or full file, or a "
		"broken page)");
}

/* Removing a page from the file unmaps it in the VMM. Then KVM drops its second-stage mapping of
 * the page and, if it had one, flushes all translations of every vCPU (kvm_unmap_gfn_range,
 * kvm_flush_remote_tlbs). So one page that the guest has accessed is enough. Removing all pages of
 * a fully written 64 MiB region took more than 2 s under nested KVM. */
struct hv_err *hv_region_drop_pages(const struct hv_region *r, uint64_t off, uint64_t len_bytes)
{
	HV_AUTO_FREE uint8_t *contents = NULL;

	if (!r->host)
		return hv_err_new(ENODEV, "the region is not mapped");
	if (off > r->len_bytes || len_bytes > r->len_bytes - off)
		return hv_err_new(EINVAL, "offset 0x%" PRIx64 " is outside the region", off);
	contents = hv_alloc(len_bytes);
	memcpy(contents, r->host + off, len_bytes);
	if (fallocate(r->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(r->file_off + off),
		      (off_t)len_bytes) < 0)
		return hv_err_new(errno, "unmapping at 0x%" PRIx64 ": %s", off, strerror(errno));
	memcpy(r->host + off, contents, len_bytes);
	return NULL;
}
