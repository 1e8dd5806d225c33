/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/process/process_memory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bisect.h"
#include "vmm/process/maps.h"
#include "vmm/process/mounts.h"
#include "vmm/shared_memory.h"

/* -- memory of the process --------------------------------------------------------------------- */

/* Limit for the files that are searched among the VMM's descriptors in one look, because each search
 * can take milliseconds and a hostile VMM can map RAM page by page. */
#define SEARCHES_MAX 512

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
	struct hv_mounts mounts; /* read after the maps, when first needed; empty: not read */
	struct mapping *mappings;
	size_t nr_mappings;
	unsigned nr_searches; /* since the last look */
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
	hv_process_memory_end_look(pm);
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

/* Refuses files that a program of the VMM may serve. The name and the inode number of a mapping are
 * no evidence, because the VMM chooses them. */
static struct hv_err *check_device(struct hv_process_memory *pm, const struct hv_vma *vma)
{
	HV_AUTO_MOUNTS struct hv_mounts now = {0};
	struct hv_mounts *mounts = pm->maps.nr ? &pm->mounts : &now;
	struct hv_err *err = NULL;

	if (!vma->dev)
		return NULL; /* anonymous memory */
	if (!mounts->nr)
		err = hv_mounts_read(pm->pid, mounts);
	if (!err)
		err = hv_mounts_check(mounts, vma->dev, vma->name);
	return hv_err_in(err, "process %d", (int)pm->pid);
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
	err = check_device(pm, vma);
	if (err)
		return err;
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

	if (!vma->shared || !vma->has_file || (pm->maps.nr && pm->nr_searches++ >= SEARCHES_MAX) ||
	    !hv_vmm_file_of(pm->pid, pm->pidfd, vma, &m.file))
		return false;
	err = hv_shared_map(m.file.fd, vma->file_off, vma->end - vma->start, PROT_READ | PROT_WRITE,
			    &m.host);
	if (err) {
		hv_close_at(&m.file.fd);
		return false;
	}
	/* Helpers, which can outlive this process, do not need the mapping. */
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
	hv_process_memory_end_look(pm);
	pm->maps = maps;
	pm->nr_searches = 0;
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
	hv_mounts_deinit(&pm->mounts);
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

/* -- guest RAM --------------------------------------------------------------------------------- */

/* Limit for the part of a RAM file that firmware hides from the guest: the memory under the VGA
 * window and SMRAM, 16 MiB on q35 unless an option sets another size. */
#define HIDDEN_MAX_BYTES (64ull << 20)

struct hv_err *hv_ram_add(struct hv_ram *ram, struct hv_gpa start, uint64_t len_bytes, uint64_t hva)
{
	struct hv_err *err = NULL;

	for (uint64_t off = 0; !err && off < len_bytes;) {
		struct hv_piece piece;

		err = hv_process_memory_piece(ram->process, hva + off, len_bytes - off, &piece);
		if (err)
			break;
		if (!(ram->nr_ranges & (ram->nr_ranges - 1))) /* a power of two, or 0 */
			ram->ranges = hv_realloc_array(ram->ranges, 2 * ram->nr_ranges + 1,
						       sizeof(*ram->ranges));
		ram->ranges[ram->nr_ranges++] = (struct hv_ram_range){
			.start = hv_gpa_add(start, off),
			.len_bytes = piece.len_bytes,
			.hva = piece.hva,
			.host = piece.host,
			.fd = piece.fd,
			.file_off = piece.file_off,
		};
		ram->len_bytes += piece.len_bytes;
		ram->mapped_bytes += piece.host ? piece.len_bytes : 0;
		off += piece.len_bytes;
	}
	return hv_err_in(err, "RAM at guest physical 0x%" PRIx64, start.v);
}

void hv_ram_deinit(struct hv_ram *ram)
{
	free(ram->ranges);
	*ram = (struct hv_ram){.process = ram->process};
}

static const struct hv_ram_range *find(const struct hv_ram *ram, struct hv_gpa gpa)
{
	const struct hv_ram_range *r = ram->ranges;
	size_t nr = HV_BISECT(i, ram->nr_ranges, r[i].start.v <= gpa.v);

	return nr && gpa.v - r[nr - 1].start.v < r[nr - 1].len_bytes ? &r[nr - 1] : NULL;
}

static size_t room_in(const struct hv_ram_range *r, struct hv_gpa gpa, size_t len_bytes)
{
	uint64_t room = r->len_bytes - (gpa.v - r->start.v);

	return len_bytes < room ? len_bytes : (size_t)room;
}

bool hv_ram_covers(const struct hv_ram *ram, struct hv_gpa gpa, uint64_t len_bytes)
{
	while (len_bytes) {
		const struct hv_ram_range *r = find(ram, gpa);
		size_t part;

		if (!r)
			return false;
		part = room_in(r, gpa, len_bytes);
		gpa = hv_gpa_add(gpa, part);
		len_bytes -= part;
	}
	return true;
}

static struct hv_err *no_ram(struct hv_gpa gpa, size_t len_bytes)
{
	return hv_err_new(EFAULT, "no RAM at guest physical 0x%" PRIx64 " (%zu bytes)", gpa.v,
			  len_bytes);
}

struct hv_err *hv_ram_read(const struct hv_ram *ram, struct hv_gpa gpa, void *buf, size_t len_bytes)
{
	uint8_t *to = buf;

	while (len_bytes) {
		const struct hv_ram_range *r = find(ram, gpa);
		struct hv_err *err;
		uint64_t off;
		size_t part;

		if (!r)
			return no_ram(gpa, len_bytes);
		off = gpa.v - r->start.v;
		part = room_in(r, gpa, len_bytes);
		err = r->host ? hv_shared_read(to, r->host + off, part)
			      : hv_process_memory_read(ram->process, r->hva + off, to, part);
		if (err)
			return hv_err_in(err, "RAM at guest physical 0x%" PRIx64, gpa.v);
		to += part;
		len_bytes -= part;
		gpa = hv_gpa_add(gpa, part);
	}
	return NULL;
}

/* Whether FD contains only this guest's RAM, apart from a little memory that firmware hides. Only
 * then may the file be passed on: guests can share a file, and the receiver can read all of it. */
static bool is_its_own(const struct hv_ram *ram, int fd)
{
	uint64_t len_bytes = 0;
	struct stat st;

	for (size_t i = 0; i < ram->nr_ranges; i++)
		if (ram->ranges[i].host && ram->ranges[i].fd == fd)
			len_bytes += ram->ranges[i].len_bytes;
	return fstat(fd, &st) == 0 && (uint64_t)st.st_size <= len_bytes + HIDDEN_MAX_BYTES;
}

struct last_file {
	int fd;
	bool is_its_own;
};

static struct hv_ram_file file_of(const struct hv_ram *ram, const struct hv_ram_range *r,
				  enum hv_ram_by by, struct last_file *last)
{
	if (by == HV_RAM_BY_FILES && r->host && r->fd != last->fd)
		*last = (struct last_file){r->fd, is_its_own(ram, r->fd)};
	if (by == HV_RAM_BY_FILES && r->host && last->is_its_own)
		return (struct hv_ram_file){r->start, r->len_bytes, r->file_off, r->fd, false};
	return (struct hv_ram_file){r->start, r->len_bytes, r->hva,
				    hv_process_memory_fd(ram->process), true};
}

/* Whether B follows A both in guest memory and in the VMM's memory. */
static bool continues(const struct hv_ram_file *a, const struct hv_ram_file *b)
{
	return a->is_memory && b->is_memory && a->start.v + a->len_bytes == b->start.v &&
	       a->off + a->len_bytes == b->off;
}

/* Joins neighboring pieces that are read from the VMM's memory. */
size_t hv_ram_files(const struct hv_ram *ram, enum hv_ram_by by, struct hv_ram_file *ret,
		    size_t max)
{
	struct last_file last = {.fd = -1};
	size_t nr = 0;

	for (size_t i = 0; !ram->can_go && i < ram->nr_ranges; i++) {
		struct hv_ram_file file = file_of(ram, &ram->ranges[i], by, &last);

		if (file.fd < 0)
			continue;
		if (nr && continues(&ret[nr - 1], &file))
			ret[nr - 1].len_bytes += file.len_bytes;
		else if (nr < max)
			ret[nr++] = file;
	}
	return nr;
}

bool hv_ram_find(const struct hv_ram *ram, struct hv_gpa gpa, uint64_t *ret_hva,
		 uint64_t *ret_len_bytes)
{
	const struct hv_ram_range *r = find(ram, gpa);

	if (!r)
		return false;
	*ret_hva = r->hva + (gpa.v - r->start.v);
	*ret_len_bytes = r->len_bytes - (gpa.v - r->start.v);
	return true;
}
