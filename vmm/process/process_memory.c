/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/process/process_memory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bisect.h"
#include "vmm/process/maps.h"
#include "vmm/process/vmm_file.h"
#include "vmm/shared_memory.h"

struct mapping {
	struct hv_vma vma;
	uint8_t *host;
	struct hv_vmm_file file;
	bool is_gone;
	bool is_used; /* part of it was requested since the last look */
	bool is_kept;
};

struct hv_process_memory {
	pid_t pid;
	int pidfd; /* borrowed */
	int fd;	   /* the VMM's memory; -1: it cannot be read */
	/* The mappings at the last look; empty: read them for each request. */
	struct hv_maps maps;
	struct mapping *mappings;
	size_t nr_mappings;
};

/* Call this after reading /proc/PID: if the VMM has not ended, the pid was not reused, so the data
 * is the VMM's. */
static struct hv_err *has_not_ended(pid_t pid, int pidfd)
{
	if (poll(&(struct pollfd){pidfd, POLLIN, 0}, 1, 0) == 0)
		return NULL;
	return hv_err_new(ESRCH, "process %d has ended", (int)pid);
}

int hv_process_memory_open(pid_t pid, int pidfd, int flags)
{
	HV_AUTO_ERR struct hv_err *err = NULL;
	HV_AUTO_FD int fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		return -1;
	err = has_not_ended(pid, pidfd);
	if (!err)
		return hv_take_fd(&fd);
	errno = err->code;
	return -1;
}

struct hv_process_memory *hv_process_memory_new(pid_t pid, int pidfd)
{
	struct hv_process_memory *pm = hv_alloc(sizeof(*pm));

	pm->pid = pid;
	pm->pidfd = pidfd;
	pm->fd = hv_process_memory_open(pid, pidfd, O_RDONLY);
	return pm;
}

int hv_process_memory_fd(const struct hv_process_memory *pm)
{
	return pm->fd;
}

static void unmap(struct mapping *m)
{
	hv_shared_unmap(m->host, m->vma.end - m->vma.start);
	hv_close_at(&m->file.fd);
}

void hv_process_memory_free(struct hv_process_memory *pm)
{
	if (!pm)
		return;
	for (size_t i = 0; i < pm->nr_mappings; i++)
		unmap(&pm->mappings[i]);
	free(pm->mappings);
	hv_maps_deinit(&pm->maps);
	hv_close_at(&pm->fd);
	free(pm);
}

static struct hv_err *read_maps(const struct hv_process_memory *pm, struct hv_maps *ret)
{
	struct hv_maps maps = {0};
	struct hv_err *err = hv_maps_read(pm->pid, &maps);

	if (!err)
		err = has_not_ended(pm->pid, pm->pidfd);
	if (err)
		hv_maps_deinit(&maps);
	else
		*ret = maps;
	return err;
}

static const struct hv_vma *vma_at(const struct hv_maps *maps, uint64_t hva)
{
	size_t at = HV_BISECT(i, maps->nr, maps->list[i].end <= hva);

	return at < maps->nr && hva >= maps->list[at].start ? &maps->list[at] : NULL;
}

static struct hv_err *find_vma(struct hv_process_memory *pm, uint64_t hva, struct hv_vma *ret)
{
	HV_AUTO_MAPS struct hv_maps now = {0};
	const struct hv_vma *vma;
	struct hv_err *err = pm->maps.nr ? NULL : read_maps(pm, &now);

	if (err)
		return err;
	vma = vma_at(pm->maps.nr ? &pm->maps : &now, hva);
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

/* Maps the file of a shared mapping through the VMM's own descriptor. Returns false if that is
 * impossible; the memory is then read like private memory. */
static bool map_shared(struct hv_process_memory *pm, const struct hv_vma *vma, struct mapping *ret)
{
	HV_AUTO_ERR struct hv_err *err = NULL;
	struct mapping m = {.vma = *vma, .file = HV_VMM_FILE_NONE, .is_used = true};

	if (!vma->shared || !vma->has_file || !hv_vmm_file_of(pm->pid, pm->pidfd, vma, &m.file))
		return false;
	err = hv_shared_map(m.file.fd, vma->file_off, vma->end - vma->start, PROT_READ | PROT_WRITE,
			    NULL, &m.host);
	if (err) {
		hv_close_at(&m.file.fd);
		return false;
	}
	/* A helper can outlive this process and does not need it. */
	madvise(m.host, vma->end - vma->start, MADV_DONTFORK);
	*ret = m;
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
		.fd = m->file.fd,
		.vmm_fd = m->file.vmm_fd,
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
		.vmm_fd = -1,
	};
	return NULL;
}

/* Whether VMA maps part of M's file at the same addresses. */
static bool is_of(const struct hv_vma *vma, const struct mapping *m)
{
	return vma->shared && vma->dev == m->vma.dev && vma->inode == m->vma.inode &&
	       vma->start < m->vma.end && vma->end > m->vma.start &&
	       vma->start - vma->file_off == m->vma.start - m->vma.file_off;
}

/* Inode numbers are enough to identify files: the open descriptor prevents reuse of the number. */
struct hv_err *hv_process_memory_look_again(struct hv_process_memory *pm)
{
	struct hv_maps maps = {0};
	struct hv_err *err = read_maps(pm, &maps);

	if (err)
		return err;
	hv_maps_deinit(&pm->maps);
	pm->maps = maps;
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
		struct mapping *m = &pm->mappings[i];

		if (m->is_used || m->is_kept)
			pm->mappings[nr++] = *m;
		else
			unmap(m);
	}
	pm->nr_mappings = nr;
}

void hv_process_memory_end_look(struct hv_process_memory *pm)
{
	hv_maps_deinit(&pm->maps);
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

struct hv_err *hv_process_memory_read(struct hv_process_memory *pm, uint64_t hva, void *buf,
				      size_t len_bytes)
{
	size_t done = 0;
	ssize_t nr = 1;

	while (done < len_bytes && nr > 0) {
		nr = pread(pm->fd, (char *)buf + done, len_bytes - done, (off_t)(hva + done));
		done += nr > 0 ? (size_t)nr : 0;
	}
	if (done == len_bytes)
		return NULL;
	if (nr < 0 && errno != EIO)
		return hv_err_new(errno, "process %d: reading %zu bytes at 0x%" PRIx64 ": %s",
				  (int)pm->pid, len_bytes, hva, strerror(errno));
	return hv_err_new(EFAULT, "process %d: reading %zu bytes at 0x%" PRIx64 ": only %zu",
			  (int)pm->pid, len_bytes, hva, done);
}
