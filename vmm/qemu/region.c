/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The region of a guest that is accessed through its monitor: the memory of its ivshmem device, BAR
 * 2 of a PCI device 1af4:1110 (QEMU docs/specs/ivshmem-spec.txt). */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "vmm/qemu/machine.h"
#include "vmm/shared_memory.h"

#define REGION_MIN_BYTES (16ull << 20)
#define REGION_MAX_BYTES (1ull << 30) /* hv_machine_reserve_region() allocates all of it */

#define COSTS "the device blocks migration and saving the domain while it is there"

static struct hv_err *no_device(const struct hv_machine *m, const struct hv_vmm_ivshmem *found)
{
	if (!found->has_bus)
		return hv_err_new(ENODEV, "no ivshmem device, and no PCI bus to put one on "
					  "(a microvm machine has one with pcie=on)");
	if (m->qmp_dir)
		return hv_err_new(
			ENODEV, "no ivshmem device; start QEMU with -object memory-backend-memfd,"
				"id=hvtrace,size=64M,share=on -device ivshmem-plain,memdev=hvtrace "
				"(" COSTS ")");
	return hv_err_new(ENODEV,
			  "no ivshmem device; add <shmem name='hvtrace-%s'><model "
			  "type='ivshmem-plain'/><size unit='M'>64</size></shmem> to <devices> and "
			  "restart the domain (" COSTS ")",
			  m->name);
}

/* Rejects several devices, because it is unknown which one may be used. */
static struct hv_err *check_device(const struct hv_machine *m, const struct hv_vmm_ivshmem *d)
{
	if (!d->nr)
		return no_device(m, d);
	if (d->nr > 1)
		return hv_err_new(ENOTUNIQ,
				  "%u ivshmem devices: cannot tell which one is for tracing",
				  d->nr);
	if (!d->is_on)
		return hv_err_new(ENXIO,
				  "ivshmem device %s: the guest has switched its memory off or not "
				  "given it an address yet",
				  d->where);
	if (d->len_bytes < REGION_MIN_BYTES)
		return hv_err_new(ENOSPC,
				  "ivshmem device %s: %" PRIu64 " MiB, at least %llu needed",
				  d->where, d->len_bytes >> 20, REGION_MIN_BYTES >> 20);
	if (d->len_bytes > REGION_MAX_BYTES)
		return hv_err_new(E2BIG,
				  "ivshmem device %s: %" PRIu64 " MiB, at most %llu possible",
				  d->where, d->len_bytes >> 20, REGION_MAX_BYTES >> 20);
	return NULL;
}

/* Checks that the file contains only the region: the service receives the whole file, writable. */
static struct hv_err *check_file(const struct hv_piece *piece, const struct hv_vmm_ivshmem *d)
{
	struct stat st;

	if (fstat(piece->fd, &st) < 0)
		return hv_err_new(errno, "its file: %s", strerror(errno));
	if (piece->file_off || (uint64_t)st.st_size != d->len_bytes)
		return hv_err_new(ENXIO,
				  "its file has %" PRIu64
				  " bytes more than the device: give it a separate file",
				  (uint64_t)st.st_size - d->len_bytes);
	return NULL;
}

static struct hv_err *map_bar(struct hv_machine *m, const struct hv_vmm_ivshmem *d)
{
	struct hv_piece piece;
	uint64_t hva = 0;
	struct hv_err *err = hv_parser_hva(m->monitor, d->start, &hva);

	if (err && err->code == EFAULT) {
		hv_err_free(err);
		return hv_err_new(ENXIO, "ivshmem device %s: the guest has switched its memory off",
				  d->where);
	}
	if (!err)
		err = hv_process_memory_piece(m->memory, hva, d->len_bytes, &piece);
	if (err)
		return hv_err_in(err, "ivshmem device %s", d->where);
	if (!piece.host || piece.len_bytes != d->len_bytes)
		return hv_err_new(ENXIO,
				  "ivshmem device %s: the VMM's memory for it is not one shared "
				  "mapping (share=on)",
				  d->where);
	err = check_file(&piece, d);
	if (err)
		return hv_err_in(err, "ivshmem device %s", d->where);
	hv_process_memory_keep(m->memory, &piece);
	m->region = (struct hv_region){
		.gpa = d->start,
		.host = piece.host,
		.len_bytes = d->len_bytes,
		.fd = piece.fd,
		.file_off = piece.file_off,
	};
	return NULL;
}

/* Asks the VMM each time, because the guest can move the BAR. */
struct hv_err *hv_machine_region(struct hv_machine *m, struct hv_region *ret)
{
	struct hv_vmm_ivshmem device = {0};
	struct hv_err *err = hv_parser_ivshmem(m->monitor, &device);

	if (!err)
		err = check_device(m, &device);
	if (!err)
		err = map_bar(m, &device);
	if (err)
		return err;
	*ret = m->region;
	return NULL;
}

static struct hv_err *no_room(const struct hv_machine *m, uint64_t free_bytes)
{
	return hv_err_new(ENOSPC,
			  "ivshmem memory: its file system has %" PRIu64 " MiB free, %" PRIu64
			  " MiB needed (is /dev/shm full?)",
			  free_bytes >> 20, m->region.len_bytes >> 20);
}

struct hv_err *hv_machine_region_has_room(struct hv_machine *m)
{
	struct statvfs fs;
	struct stat file;
	uint64_t free_bytes;

	if (!m->region.host || fstatvfs(m->region.fd, &fs) < 0 || fstat(m->region.fd, &file) < 0)
		return NULL;
	if (!fs.f_blocks) /* the file system of memfds has no limit */
		return NULL;
	free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (free_bytes + (uint64_t)file.st_blocks * 512 >= m->region.len_bytes)
		return NULL;
	return no_room(m, free_bytes);
}

struct hv_err *hv_machine_reserve_region(struct hv_machine *m)
{
	struct hv_err *err = hv_machine_region_has_room(m);

	if (err)
		return err;
	if (!m->region.host)
		return NULL;
	/* Otherwise, if /dev/shm is full, the first access would kill the VMM with SIGBUS. */
	if (fallocate(m->region.fd, 0, (off_t)m->region.file_off, (off_t)m->region.len_bytes) < 0 &&
	    errno != EOPNOTSUPP)
		return hv_err_new(errno, "ivshmem memory: no room for %" PRIu64 " MiB: %s%s",
				  m->region.len_bytes >> 20, strerror(errno),
				  errno == ENOSPC ? " (is /dev/shm full?)" : "");
	return NULL;
}

struct hv_err *hv_machine_remap_region(struct hv_machine *m, uint64_t off, uint64_t len_bytes)
{
	return hv_err_in(hv_region_drop_pages(&m->region, off, len_bytes), "ivshmem memory");
}
