/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/minivm/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE_BYTES UINT64_C(4096)

static int open_to_read(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

struct hv_err *hv_minivm_memory_init(struct hv_minivm_memory *m, uint64_t len_bytes)
{
	uint64_t host_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGE_SIZE);
	void *host = MAP_FAILED;

	*m = (struct hv_minivm_memory){0};
	if (len_bytes < HV_MINIVM_MEMORY_MIN)
		return hv_err_new(EINVAL, "%llu KiB of memory: at least %llu MiB are needed",
				  (unsigned long long)(len_bytes >> 10),
				  (unsigned long long)(HV_MINIVM_MEMORY_MIN >> 20));
	if (len_bytes > host_bytes)
		return hv_err_new(EINVAL, "%llu MiB of memory: this host has %llu MiB",
				  (unsigned long long)(len_bytes >> 20),
				  (unsigned long long)(host_bytes >> 20));
	if (len_bytes % PAGE_BYTES)
		return hv_err_new(EINVAL, "%llu bytes of memory: this is not a multiple of 4 KiB",
				  (unsigned long long)len_bytes);
	m->fd = memfd_create("hvtrace-ram", MFD_CLOEXEC);
	if (m->fd >= 0 && ftruncate(m->fd, (off_t)len_bytes) == 0)
		host = mmap(NULL, len_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
			    m->fd, 0);
	if (host == MAP_FAILED) {
		struct hv_err *err =
			hv_err_new(errno, "%llu MiB of memory: %s",
				   (unsigned long long)(len_bytes >> 20), strerror(errno));

		if (m->fd >= 0)
			close(m->fd);
		return err;
	}
	/* A forked process inherits the file, but not this mapping. */
	madvise(host, len_bytes, MADV_DONTFORK);
	m->host = host;
	m->read_fd = open_to_read(m->fd);
	m->len_bytes = len_bytes;
	m->low_bytes = len_bytes < HV_MINIVM_HOLE ? len_bytes : HV_MINIVM_HOLE;
	return NULL;
}

void hv_minivm_memory_deinit(struct hv_minivm_memory *m)
{
	if (m->host) {
		munmap(m->host, m->len_bytes);
		close(m->fd);
		if (m->read_fd >= 0)
			close(m->read_fd);
	}
	*m = (struct hv_minivm_memory){0};
}

uint8_t *hv_minivm_memory_at(const struct hv_minivm_memory *m, struct hv_gpa gpa,
			     uint64_t len_bytes)
{
	uint64_t high_bytes = m->len_bytes - m->low_bytes;
	uint64_t off = gpa.v - HV_MINIVM_HOLE_END;

	if (gpa.v < m->low_bytes)
		return len_bytes <= m->low_bytes - gpa.v ? m->host + gpa.v : NULL;
	if (gpa.v < HV_MINIVM_HOLE_END || off >= high_bytes || len_bytes > high_bytes - off)
		return NULL;
	return m->host + m->low_bytes + off;
}

struct hv_gpa hv_minivm_memory_end(const struct hv_minivm_memory *m)
{
	return m->len_bytes > m->low_bytes
		       ? hv_gpa(HV_MINIVM_HOLE_END + m->len_bytes - m->low_bytes)
		       : hv_gpa(m->low_bytes);
}
