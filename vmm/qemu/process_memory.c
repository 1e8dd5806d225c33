/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/qemu/process_memory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "vmm/qemu/maps.h"
#include "vmm/shared_memory.h"

struct mapping {
	struct hv_vma vma;
	uint8_t *host;
	int fd;
	bool is_gone;
	bool is_used; /* a piece was asked for since the last look */
	bool is_kept;
};

struct hv_process_memory {
	pid_t pid;
	struct mapping *mappings;
	size_t nr_mappings;
};

struct hv_process_memory *hv_process_memory_new(pid_t pid)
{
	struct hv_process_memory *pm = hv_alloc(sizeof(*pm));

	pm->pid = pid;
	return pm;
}

static void unmap(const struct mapping *m)
{
	hv_shared_remove(m->host, m->vma.end - m->vma.start);
	munmap(m->host, m->vma.end - m->vma.start);
	close(m->fd);
}

void hv_process_memory_free(struct hv_process_memory *pm)
{
	if (!pm)
		return;
	for (size_t i = 0; i < pm->nr_mappings; i++)
		unmap(&pm->mappings[i]);
	free(pm->mappings);
	free(pm);
}

static struct hv_err *find_vma(struct hv_process_memory *pm, uint64_t hva, struct hv_vma *ret)
{
	HV_AUTO_MAPS struct hv_maps maps = {0};
	const struct hv_vma *vma = NULL;
	struct hv_err *err = hv_maps_read(pm->pid, &maps);

	if (err)
		return err;
	for (size_t i = 0; !vma && i < maps.nr; i++)
		if (hva >= maps.list[i].start && hva < maps.list[i].end)
			vma = &maps.list[i];
	if (!vma)
		return hv_err_new(EFAULT, "process %d: nothing is mapped at 0x%" PRIx64,
				  (int)pm->pid, hva);
	if (!vma->readable || !vma->writable)
		return hv_err_new(EFAULT,
				  "process %d: its memory at 0x%" PRIx64
				  " is not mapped for reading and writing",
				  (int)pm->pid, hva);
	*ret = *vma;
	ret->name = NULL;
	return NULL;
}

/* Maps the file of a shared mapping. It is opened by the link of the mapping in /proc, which works
 * for deleted files and memfds, too, and never finds another file of the same name. False: it
 * cannot be mapped. */
static bool map_shared(struct hv_process_memory *pm, const struct hv_vma *vma, struct mapping *ret)
{
	HV_AUTO_FD int fd = -1;
	char path[96];
	void *host;

	if (!vma->shared || !vma->has_file)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pm->pid,
		 vma->start, vma->end);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return false;
	host = mmap(NULL, vma->end - vma->start, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    (off_t)vma->file_off);
	if (host == MAP_FAILED)
		return false;
	/* a helper, which may outlive us, does not need it */
	madvise(host, vma->end - vma->start, MADV_DONTFORK);
	hv_shared_add(host, vma->end - vma->start, fd);
	*ret = (struct mapping){.vma = *vma, .host = host, .fd = hv_take_fd(&fd), .is_used = true};
	return true;
}

static struct hv_piece piece_of(const struct mapping *m, uint64_t hva, uint64_t len_bytes)
{
	uint64_t off = hva - m->vma.start;
	uint64_t room = m->vma.end - hva;

	return (struct hv_piece){
		.hva = hva,
		.len_bytes = len_bytes < room ? len_bytes : room,
		.host = m->host + off,
		.fd = m->fd,
		.file_off = m->vma.file_off + off,
	};
}

struct hv_err *hv_process_memory_piece(struct hv_process_memory *pm, uint64_t hva,
				       uint64_t len_bytes, struct hv_piece *ret)
{
	struct mapping m;
	struct hv_vma vma = {0};
	struct hv_err *err;

	for (size_t i = 0; i < pm->nr_mappings; i++) {
		struct mapping *at = &pm->mappings[i];

		if (at->is_gone || hva < at->vma.start || hva >= at->vma.end)
			continue;
		at->is_used = true;
		*ret = piece_of(at, hva, len_bytes);
		return NULL;
	}
	err = find_vma(pm, hva, &vma);
	if (err)
		return err;
	if (map_shared(pm, &vma, &m)) {
		pm->mappings = hv_realloc_array(pm->mappings, pm->nr_mappings + 1, sizeof(m));
		pm->mappings[pm->nr_mappings++] = m;
		*ret = piece_of(&m, hva, len_bytes);
		return NULL;
	}
	*ret = (struct hv_piece){
		.hva = hva,
		.len_bytes = len_bytes < vma.end - hva ? len_bytes : vma.end - hva,
		.fd = -1,
	};
	return NULL;
}

/* Whether VMA maps part of what M maps, at the same addresses. */
static bool is_of(const struct hv_vma *vma, const struct mapping *m)
{
	return vma->shared && vma->dev == m->vma.dev && vma->inode == m->vma.inode &&
	       vma->start < m->vma.end && vma->end > m->vma.start &&
	       vma->start - vma->file_off == m->vma.start - m->vma.file_off;
}

/* Inode numbers identify the files here: our descriptor keeps a file, so that no other file gets
 * its number. */
struct hv_err *hv_process_memory_look_again(struct hv_process_memory *pm)
{
	HV_AUTO_MAPS struct hv_maps maps = {0};
	struct hv_err *err = hv_maps_read(pm->pid, &maps);

	if (err)
		return err;
	for (size_t i = 0; i < pm->nr_mappings; i++) {
		pm->mappings[i].is_gone = true;
		pm->mappings[i].is_used = false;
	}
	for (size_t at = 0; at < maps.nr; at++)
		for (size_t i = 0; i < pm->nr_mappings; i++)
			if (is_of(&maps.list[at], &pm->mappings[i]))
				pm->mappings[i].is_gone = false;
	return NULL;
}

void hv_process_memory_drop_unused(struct hv_process_memory *pm)
{
	size_t nr = 0;

	for (size_t i = 0; i < pm->nr_mappings; i++) {
		const struct mapping *m = &pm->mappings[i];

		if (m->is_used || m->is_kept)
			pm->mappings[nr++] = *m;
		else
			unmap(m);
	}
	pm->nr_mappings = nr;
}

void hv_process_memory_keep(struct hv_process_memory *pm, const struct hv_piece *p)
{
	for (size_t i = 0; i < pm->nr_mappings; i++) {
		struct mapping *m = &pm->mappings[i];
		uint64_t off = (uint64_t)(p->host - m->host);

		if (p->host >= m->host && off < m->vma.end - m->vma.start)
			m->is_kept = true;
	}
}

static struct hv_err *copied(const struct hv_process_memory *pm, ssize_t done, uint64_t hva,
			     size_t len_bytes, const char *verb)
{
	if (done == (ssize_t)len_bytes)
		return NULL;
	if (done < 0 && errno != EFAULT)
		return hv_err_new(errno, "process %d: %s %zu bytes at 0x%" PRIx64 ": %s",
				  (int)pm->pid, verb, len_bytes, hva, strerror(errno));
	return hv_err_new(EFAULT, "process %d: %s %zu bytes at 0x%" PRIx64 ": only %zd",
			  (int)pm->pid, verb, len_bytes, hva, done < 0 ? 0 : done);
}

struct hv_err *hv_process_memory_read(struct hv_process_memory *pm, uint64_t hva, void *buf,
				      size_t len_bytes)
{
	struct iovec ours = {buf, len_bytes};
	struct iovec theirs = {(void *)(uintptr_t)hva, len_bytes};

	return copied(pm, process_vm_readv(pm->pid, &ours, 1, &theirs, 1, 0), hva, len_bytes,
		      "reading");
}
