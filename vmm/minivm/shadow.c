/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patches the text of an hvtrace machine by replacing its pages: copies of the pages are mapped
 * over the RAM in this process. KVM drops the old mapping and maps the copy when the guest accesses
 * it. The RAM's file keeps the old contents. docs/internals/inject.md describes the same method for
 * other guests. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vmm/minivm/machine.h"

#define PAGE_BYTES UINT64_C(4096)

enum { PAGE_OF_RAM, PAGE_PREPARED, PAGE_OF_COPY };

struct hv_err *hv_minivm_shadow_want(struct hv_minivm *o)
{
	struct hv_minivm_shadow *s = &o->shadow;

	s->fd = memfd_create("hvtrace-shadow", MFD_CLOEXEC);
	s->memory_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	if (s->fd < 0 || s->memory_fd < 0 || ftruncate(s->fd, (off_t)o->memory.len_bytes) < 0) {
		struct hv_err *err = hv_err_new(errno, "cannot copy pages of the kernel's text: %s",
						strerror(errno));

		hv_minivm_shadow_deinit(o);
		return err;
	}
	s->pages = hv_alloc(o->memory.len_bytes / PAGE_BYTES);
	return NULL;
}

/* Maps the page at OFF of FD over the current one. */
static struct hv_err *map_page(struct hv_minivm *o, int fd, uint64_t off)
{
	void *at = mmap(o->memory.host + off, PAGE_BYTES, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_FIXED, fd, (off_t)off);

	return at == MAP_FAILED ? hv_err_new(errno, "cannot copy pages of the kernel's text: %s",
					     strerror(errno))
				: NULL;
}

/* Copies the current page at OFF to FD, and maps that over it. */
static struct hv_err *change_page(struct hv_minivm *o, int fd, uint64_t off)
{
	ssize_t nr = pwrite(fd, o->memory.host + off, PAGE_BYTES, (off_t)off);

	if (nr != (ssize_t)PAGE_BYTES)
		return hv_err_new(nr < 0 ? errno : EIO,
				  "cannot copy pages of the kernel's text: %s",
				  strerror(nr < 0 ? errno : EIO));
	return map_page(o, fd, off);
}

/* A site can cross a page boundary. */
void hv_minivm_shadow_prepare(struct hv_minivm *o, struct hv_gpa gpa)
{
	const uint8_t *host = hv_minivm_memory_at(&o->memory, gpa, HV_SITE_LEN_MAX);

	for (unsigned i = 0; o->shadow.fd >= 0 && host && i < 2; i++) {
		uint64_t off = (uint64_t)(host - o->memory.host) + i * (HV_SITE_LEN_MAX - 1);
		uint8_t *page = &o->shadow.pages[off / PAGE_BYTES];

		if (*page == PAGE_OF_RAM)
			*page = PAGE_PREPARED;
	}
}

struct hv_err *hv_minivm_shadow_page(struct hv_minivm *o, uint64_t off)
{
	struct hv_minivm_shadow *s = &o->shadow;
	struct hv_err *err = NULL;

	if (s->fd < 0 || s->pages[off / PAGE_BYTES] != PAGE_PREPARED)
		return NULL;
	err = change_page(o, s->fd, off & ~(PAGE_BYTES - 1));
	if (!err)
		s->pages[off / PAGE_BYTES] = PAGE_OF_COPY;
	return err;
}

struct hv_err *hv_minivm_shadow_put_back(struct hv_minivm *o)
{
	struct hv_minivm_shadow *s = &o->shadow;
	struct hv_err *err;

	if (s->fd < 0)
		return NULL;
	err = hv_minivm_stop_vcpus(o);
	if (err)
		return err;
	for (uint64_t page = 0; !err && page < o->memory.len_bytes / PAGE_BYTES; page++) {
		if (s->pages[page] != PAGE_OF_COPY)
			continue;
		err = change_page(o, o->memory.fd, page * PAGE_BYTES);
		if (!err)
			s->pages[page] = PAGE_OF_RAM;
	}
	hv_minivm_resume_vcpus(o);
	if (!err)
		hv_minivm_shadow_deinit(o);
	return err;
}

void hv_minivm_shadow_deinit(struct hv_minivm *o)
{
	hv_close_at(&o->shadow.fd);
	hv_close_at(&o->shadow.memory_fd);
	free(o->shadow.pages);
	o->shadow = (struct hv_minivm_shadow){.fd = -1, .memory_fd = -1};
}
