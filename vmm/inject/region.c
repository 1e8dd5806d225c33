/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Creates the region of a guest that is accessed by injection, or finds it again. Also creates the
 * pin's file, which blocks migration of the domain. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "vmm/inject/state.h"
#include "vmm/process/maps.h"
#include "vmm/shared_memory.h"

#define SLOT_TRIES 4
#define BITS_MIN   36
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1, 7d8faaf15545 */
#endif

/* Tries other slots if one is in use. They do not help if KVM rejects the address (ERANGE). */
static struct hv_err *make_at(struct hv_inject *j, uint32_t nr_slots, struct hv_gpa gpa)
{
	struct hv_err *err = NULL;

	for (unsigned i = 1; i <= SLOT_TRIES && (!err || err->code == EEXIST); i++) {
		j->kvm.region =
			(struct hv_fd_link){.kind = HV_FD_REGION, .slot = nr_slots - i, .gpa = gpa};
		hv_err_free(err);
		err = hv_inject_stop(j);
		if (!err)
			err = hv_inject_go_on(j, hv_kvm_make_region(&j->kvm, j->keeper,
								    HV_INJECT_REGION_BYTES,
								    &j->region_hva));
		if (!err)
			return NULL;
	}
	return err;
}

static struct hv_err *make_new(struct hv_inject *j, unsigned bits)
{
	uint32_t nr_slots = hv_kvm_nr_slots();
	struct hv_err *err =
		hv_err_new(ENOSPC, "inject: no free guest-physical addresses for the region");

	for (; bits >= BITS_MIN; bits--) {
		struct hv_gpa gpa = {0};

		hv_err_free(err);
		err = j->vmm.ops->find_free_gpa(j->vmm.self, bits, HV_INJECT_REGION_BYTES, &gpa);
		if (err && err->code == ENOSPC)
			continue;
		if (!err)
			err = make_at(j, nr_slots, gpa);
		if (!err || (err->code != EEXIST && err->code != ERANGE))
			return err;
	}
	return err;
}

static struct hv_err *make_region(struct hv_inject *j)
{
	unsigned bits = 0;
	struct hv_err *err = hv_inject_stop(j);

	if (!err)
		err = hv_inject_go_on(j, hv_kvm_phys_bits(&j->kvm, j->keeper, &bits));
	return err ? err : make_new(j, bits);
}

/* Creates the region at another address if KVM rejects the old one: an earlier hvtrace that was
 * killed may have left a file with such an address. */
static struct hv_err *find_again(struct hv_inject *j)
{
	struct hv_err *err = hv_inject_stop(j);

	if (err)
		return err;
	err = hv_inject_go_on(
		j, hv_kvm_make_region(&j->kvm, j->keeper, HV_INJECT_REGION_BYTES, &j->region_hva));
	if (!err || err->code != ERANGE)
		return err;
	hv_err_free(err);
	return make_region(j);
}

static struct hv_err *map_region(struct hv_inject *j)
{
	struct hv_vmm_file file = HV_VMM_FILE_NONE;
	struct hv_err *err =
		hv_vmm_file_take(j->vmm.process->pid, j->vmm.pidfd, j->kvm.region_fd, &file);
	HV_AUTO_FD int fd = file.fd;
	uint8_t *host = NULL;

	if (!err && file.len_bytes != HV_INJECT_REGION_BYTES)
		err = hv_err_new(EPROTO, "its file has %" PRIu64 " bytes instead of %llu",
				 file.len_bytes, HV_INJECT_REGION_BYTES);
	if (err)
		return hv_err_in(err, "inject: the region");
	err = hv_shared_map(fd, 0, HV_INJECT_REGION_BYTES, PROT_READ | PROT_WRITE, &host);
	if (err)
		return hv_err_in(err, "inject: mapping the region");
	/* Prevents truncation, unless the VMM has forbidden new seals (EPERM). */
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	/* The keeper, which can outlive this process for a moment, does not need the mapping. */
	madvise(host, HV_INJECT_REGION_BYTES, MADV_DONTFORK);
	j->region = (struct hv_region){
		.gpa = j->kvm.region.gpa,
		.host = host,
		.len_bytes = HV_INJECT_REGION_BYTES,
		.fd = hv_take_fd(&fd),
	};
	return NULL;
}

struct hv_err *hv_inject_region(struct hv_inject *j)
{
	struct hv_err *err;

	if (j->region.host)
		return NULL;
	err = j->kvm.region_fd >= 0 ? find_again(j) : make_region(j);
	return err ? err : map_region(j);
}

void hv_inject_drop_region(struct hv_inject *j)
{
	if (!j->region.host)
		return;
	hv_shared_unmap(j->region.host, j->region.len_bytes);
	hv_close_at(&j->region.fd);
	j->region = (struct hv_region){.fd = -1};
}

void hv_inject_want_huge(const struct hv_inject *j)
{
	const volatile uint8_t *host = j->region.host;

	/* Read a byte of each range to allocate a page: the kernel does not collapse empty ranges
	 * to huge pages. */
	for (uint64_t at = 0; host && at < HV_INJECT_REGION_BYTES; at += HV_REGION_ALIGN)
		(void)host[at];
	if (host)
		(void)madvise((void *)(uintptr_t)host, HV_INJECT_REGION_BYTES, MADV_COLLAPSE);
}

/* ---- the pin ---- */

static bool is_pin_file(int fd)
{
	char path[40], target[80];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	len = readlink(path, target, sizeof(target) - 1);
	target[len < 0 ? 0 : len] = '\0';
	return hv_fd_link_parse(target).kind == HV_FD_PIN;
}

static struct hv_err *fill_pin_file(const struct hv_inject *j)
{
	struct hv_vmm_file file = HV_VMM_FILE_NONE;
	struct hv_err *err =
		hv_vmm_file_take(j->vmm.process->pid, j->vmm.pidfd, j->kvm.pin_fd, &file);
	HV_AUTO_FD int fd = file.fd;
	uint8_t image[HV_VMM_PIN_BYTES_MAX];
	size_t len_bytes;

	if (err)
		return hv_err_in(err, "inject: the pin");
	len_bytes = j->vmm.ops->pin_image(image);
	if (!is_pin_file(fd))
		return hv_err_new(EBADF, "inject: file %d of the VMM is not the pin's",
				  j->kvm.pin_fd);
	if (pwrite(fd, image, len_bytes, 0) != (ssize_t)len_bytes)
		return hv_err_new(errno, "inject: file %d of the VMM: %s", j->kvm.pin_fd,
				  strerror(errno));
	return NULL;
}

/* The VMM opens the file by its own descriptor in /proc, the only path to it. */
struct hv_err *hv_inject_pin(struct hv_inject *j)
{
	bool is_set = false;
	struct hv_err *err = j->vmm.ops->pin_is_set(j->vmm.self, &is_set);
	char path[40];

	if (!err && is_set)
		return NULL;
	if (!err && j->kvm.pin_fd < 0) {
		err = hv_inject_stop(j);
		if (!err)
			err = hv_inject_go_on(j, hv_kvm_make_pin_file(&j->kvm, j->keeper));
	}
	if (!err)
		err = fill_pin_file(j);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", j->kvm.pin_fd);
	if (!err)
		err = j->vmm.ops->pin_set(j->vmm.self, path);
	return hv_err_in(err, "cannot prevent the domain's migration while it is traced");
}
