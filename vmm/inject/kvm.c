/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The VMM's KVM files: finds them, makes memory with them, and reads the vCPUs' registers. */
#include "vmm/inject/kvm.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/kvm.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/guard.h"
#include "base/prefix.h"
#include "vmm/inject/shadow.h"
#include "vmm/process/maps.h"

/* -- names of files ---------------------------------------------------------------------------- */

#define REGION_WORD "memfd:hvtrace-region-"

struct hv_fd_link hv_fd_link_parse(const char *target)
{
	struct hv_fd_link link = {0};
	const char *at = strstr(target, REGION_WORD);

	if (hv_starts_with(target, "anon_inode:kvm-vm") && !target[17])
		link.kind = HV_FD_VM;
	else if (sscanf(target, "anon_inode:kvm-vcpu:%u", &link.vcpu) == 1)
		link.kind = HV_FD_VCPU;
	else if (at && sscanf(at + strlen(REGION_WORD), "%" SCNu32 "-%" SCNx64, &link.slot,
			      &link.gpa.v) == 2)
		link.kind = HV_FD_REGION;
	else if (!strcmp(target, "/memfd:" HV_PIN_FILE " (deleted)"))
		link.kind = HV_FD_PIN;
	return link;
}

void hv_region_name(uint32_t slot, struct hv_gpa gpa, char ret[HV_REGION_NAME_LEN])
{
	snprintf(ret, HV_REGION_NAME_LEN, "hvtrace-region-%" PRIu32 "-%" PRIx64, slot, gpa.v);
}

void hv_shadow_name(const struct hv_shadow *s, char ret[HV_SHADOW_NAME_LEN])
{
	snprintf(ret, HV_SHADOW_NAME_LEN,
		 HV_SHADOW_FILE "%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%d-%" PRIx64, s->start.v,
		 s->len_bytes, s->hva, s->ram_fd, s->ram_off);
}

bool hv_shadow_parse(const char *target, struct hv_shadow *ret)
{
	struct hv_shadow s = *ret;
	const char *at = strstr(target, "memfd:" HV_SHADOW_FILE);

	if (!at || sscanf(at + strlen("memfd:" HV_SHADOW_FILE),
			  "%" SCNx64 "-%" SCNx64 "-%" SCNx64 "-%d-%" SCNx64, &s.start.v,
			  &s.len_bytes, &s.hva, &s.ram_fd, &s.ram_off) != 5)
		return false;
	*ret = s;
	return true;
}

/* -- the files --------------------------------------------------------------------------------- */

#define NR_SLOTS_DEFAULT 512

/* Whether descriptor FD is open for reading and writing. Only the pin's own descriptor is; the
 * block node's, for the same file, is open for reading (inject.h). */
static bool vmm_can_write(pid_t pid, int fd)
{
	unsigned flags = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)pid, fd);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fscanf(f, "pos: %*d flags: %o", &flags) != 1)
		flags = O_RDONLY;
	fclose(f);
	return (flags & O_ACCMODE) == O_RDWR;
}

static void take_link(struct hv_kvm *k, int fd, const char *target, unsigned *nr_vms)
{
	struct hv_fd_link link = hv_fd_link_parse(target);

	if (link.kind == HV_FD_VM) {
		k->vm_fd = fd;
		(*nr_vms)++;
	} else if (link.kind == HV_FD_VCPU && link.vcpu < HV_VCPUS_MAX) {
		while (k->nr_vcpus <= link.vcpu) {
			k->vcpu_fds = hv_realloc_array(k->vcpu_fds, k->nr_vcpus + 1, sizeof(int));
			k->run_hvas = hv_realloc_array(k->run_hvas, k->nr_vcpus + 1,
						       sizeof(*k->run_hvas));
			k->run_hvas[k->nr_vcpus] = 0;
			k->vcpu_fds[k->nr_vcpus++] = -1;
		}
		k->vcpu_fds[link.vcpu] = fd;
	} else if (link.kind == HV_FD_REGION) {
		k->region_fd = fd;
		k->region = link;
	} else if (link.kind == HV_FD_PIN && vmm_can_write(k->pid, fd)) {
		k->pin_fd = fd;
	}
}

/* Finds each vCPU's struct kvm_run, a page that KVM shares with the VMM, in the VMM's mappings. */
static struct hv_err *find_runs(struct hv_kvm *k)
{
	HV_AUTO_MAPS struct hv_maps maps = {0};
	struct hv_err *err = hv_maps_read(k->pid, &maps);

	for (size_t i = 0; !err && i < maps.nr; i++) {
		const struct hv_vma *vma = &maps.list[i];
		unsigned id;

		if (sscanf(vma->name, "anon_inode:kvm-vcpu:%u", &id) == 1 && id < k->nr_vcpus &&
		    !vma->file_off)
			k->run_hvas[id] = vma->start;
	}
	return err;
}

/* vCPU ids can have gaps (sockets with 3 cores); vCPU N has the N-th id. When a vCPU is unplugged,
 * QEMU keeps its file for the next vCPU with that id (kvm_park_vcpu), but unmaps its memory. */
static void close_gaps(struct hv_kvm *k)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < k->nr_vcpus; i++) {
		if (k->vcpu_fds[i] < 0 || !k->run_hvas[i])
			continue;
		k->run_hvas[nr] = k->run_hvas[i];
		k->vcpu_fds[nr++] = k->vcpu_fds[i];
	}
	k->nr_vcpus = nr;
}

struct hv_err *hv_kvm_find(pid_t pid, struct hv_kvm *ret)
{
	struct hv_kvm k = {.pid = pid, .vm_fd = -1, .region_fd = -1, .pin_fd = -1};
	char path[64], target[PATH_MAX];
	struct dirent *entry;
	unsigned nr_vms = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return hv_err_new(errno, "%s: %s", path, strerror(errno));
	while ((entry = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		if (len <= 0)
			continue;
		target[len] = '\0';
		take_link(&k, atoi(entry->d_name), target, &nr_vms);
	}
	closedir(dir);
	find_runs(&k);
	close_gaps(&k);
	if (nr_vms == 1 && k.nr_vcpus) {
		*ret = k;
		return NULL;
	}
	free(k.vcpu_fds);
	free(k.run_hvas);
	return hv_err_new(nr_vms > 1 ? ENOTUNIQ : ENOENT,
			  "process %d has %u KVM virtual machines and %u vCPUs; exactly one "
			  "machine is supported",
			  (int)pid, nr_vms, k.nr_vcpus);
}

void hv_kvm_deinit(struct hv_kvm *k)
{
	free(k->vcpu_fds);
	free(k->run_hvas);
	*k = (struct hv_kvm){.vm_fd = -1, .region_fd = -1, .pin_fd = -1};
}

struct hv_err *hv_kvm_find_vcpus(struct hv_kvm *k)
{
	struct hv_kvm found;
	struct hv_err *err = hv_kvm_find(k->pid, &found);

	if (err)
		return err;
	free(k->vcpu_fds);
	free(k->run_hvas);
	k->vcpu_fds = found.vcpu_fds;
	k->run_hvas = found.run_hvas;
	k->nr_vcpus = found.nr_vcpus;
	return NULL;
}

struct hv_call hv_kvm_ioctl(int fd, unsigned long request, uint64_t data_off)
{
	return (struct hv_call){
		.nr = SYS_ioctl,
		.args = {(uint64_t)fd, request, data_off},
		.data_args = 1u << 2,
	};
}

struct hv_err *hv_kvm_failed(const struct hv_call *c, const char *what)
{
	int code = hv_err_code(-(uint64_t)c->result); /* from the VMM's system call */

	return hv_err_new(code, "inject: %s: %s", what, strerror(code));
}

/* ---- memory ---- */

uint32_t hv_kvm_nr_slots(void)
{
	HV_AUTO_FD int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	int nr = fd < 0 ? 0 : ioctl(fd, KVM_CHECK_EXTENSION, KVM_CAP_NR_MEMSLOTS);

	return nr > 0 ? (uint32_t)nr : NR_SLOTS_DEFAULT;
}

static struct hv_err *make_file(struct hv_keeper *keeper, char *name, size_t len_bytes, int *ret_fd)
{
	struct hv_call call = {
		.nr = SYS_memfd_create,
		.args = {0, MFD_CLOEXEC | MFD_ALLOW_SEALING},
		.data_args = 1,
	};
	struct hv_err *err = hv_keeper_calls(keeper, &call, 1, name, len_bytes);

	if (err)
		return err;
	if (call.result < 0)
		return hv_kvm_failed(&call, "memfd_create");
	*ret_fd = (int)call.result;
	return NULL;
}

static struct hv_err *make_region_file(struct hv_kvm *k, struct hv_keeper *keeper)
{
	char name[HV_REGION_NAME_LEN];

	hv_region_name(k->region.slot, k->region.gpa, name);
	return make_file(keeper, name, sizeof(name), &k->region_fd);
}

struct hv_err *hv_kvm_make_pin_file(struct hv_kvm *k, struct hv_keeper *keeper)
{
	char name[HV_REGION_NAME_LEN] = HV_PIN_FILE;

	return k->pin_fd < 0 ? make_file(keeper, name, sizeof(name), &k->pin_fd) : NULL;
}

struct hv_err *hv_kvm_make_shadow_file(struct hv_keeper *keeper, const struct hv_shadow *s,
				       int *ret_fd)
{
	char name[HV_SHADOW_NAME_LEN];

	hv_shadow_name(s, name);
	return make_file(keeper, name, sizeof(name), ret_fd);
}

/* Finds the mapping of the whole region in the VMM, by the inode of the region's file. *RET is 0 if
 * it is not mapped. */
static struct hv_err *find_mapping(const struct hv_kvm *k, uint64_t len_bytes, uint64_t *ret)
{
	HV_AUTO_MAPS struct hv_maps maps = {0};
	struct hv_err *err;
	struct stat st;
	char path[64];

	*ret = 0;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)k->pid, k->region_fd);
	if (stat(path, &st) < 0)
		return NULL;
	err = hv_maps_read(k->pid, &maps);
	for (size_t i = 0; !err && i < maps.nr; i++) {
		const struct hv_vma *vma = &maps.list[i];

		if (!*ret && strstr(vma->name, "memfd:hvtrace-region-") &&
		    vma->inode == st.st_ino && !vma->file_off && vma->end - vma->start == len_bytes)
			*ret = vma->start;
	}
	return err;
}

static struct hv_call call_mmap(const struct hv_kvm *k, uint64_t hint, uint64_t len_bytes)
{
	return (struct hv_call){
		.nr = SYS_mmap,
		.args = {hint, len_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			 (uint64_t)k->region_fd, 0},
	};
}

/* Maps the region again at an aligned hint a little below HVA, so that the VMM's and KVM's page
 * tables can use huge pages. The kernel uses another address if that range is in use, and any
 * address works. */
static struct hv_err *align_mapping(struct hv_kvm *k, struct hv_keeper *keeper, uint64_t hva,
				    uint64_t len_bytes, uint64_t *ret_hva)
{
	struct hv_call calls[] = {
		{.nr = SYS_munmap, .args = {hva, len_bytes}},
		call_mmap(k, hva & ~(HV_REGION_ALIGN - 1), len_bytes),
	};
	struct hv_err *err = hv_keeper_calls(keeper, calls, 2, NULL, 0);

	if (err)
		return err;
	for (unsigned i = 0; i < 2; i++)
		if (calls[i].result < 0 && calls[i].result > -4096)
			return hv_kvm_failed(&calls[i], i ? "mmap" : "munmap");
	*ret_hva = (uint64_t)calls[1].result;
	return NULL;
}

static struct hv_err *make_mapping(struct hv_kvm *k, struct hv_keeper *keeper, uint64_t len_bytes,
				   uint64_t *ret_hva)
{
	struct hv_call calls[] = {
		{.nr = SYS_ftruncate, .args = {(uint64_t)k->region_fd, len_bytes}},
		call_mmap(k, 0, len_bytes),
	};
	struct hv_err *err = hv_keeper_calls(keeper, calls, 2, NULL, 0);

	if (err)
		return err;
	if (calls[0].result < 0)
		return hv_kvm_failed(&calls[0], "ftruncate");
	if (calls[1].result < 0 && calls[1].result > -4096)
		return hv_kvm_failed(&calls[1], "mmap");
	*ret_hva = (uint64_t)calls[1].result;
	return *ret_hva % HV_REGION_ALIGN ? align_mapping(k, keeper, *ret_hva, len_bytes, ret_hva)
					  : NULL;
}

/* Undoes the steps for a region that has no slot. */
static struct hv_err *unmake(struct hv_kvm *k, struct hv_keeper *keeper, uint64_t hva,
			     uint64_t len_bytes)
{
	struct hv_call calls[] = {
		{.nr = SYS_munmap, .args = {hva, len_bytes}},
		{.nr = SYS_close, .args = {(uint64_t)k->region_fd}},
	};
	struct hv_err *err = hv_keeper_calls(keeper, calls, 2, NULL, 0);

	k->region_fd = -1;
	return err;
}

#define ARG(n) (1u << (n)) /* of struct hv_call: unknown_args */

/* All calls for the region, from its creation to a flush during detach. Those that undo the
 * creation are last. */
struct hv_err *hv_kvm_prove_region(const struct hv_kvm *k, struct hv_keeper *keeper,
				   uint64_t len_bytes)
{
	const struct hv_call calls[] = {
		{.nr = SYS_memfd_create,
		 .args = {0, MFD_CLOEXEC | MFD_ALLOW_SEALING},
		 .unknown_args = ARG(0)},
		{.nr = SYS_ftruncate, .args = {0, len_bytes}, .unknown_args = ARG(0)},
		{.nr = SYS_mmap,
		 .args = {0, len_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, 0, 0},
		 .unknown_args = ARG(0) | ARG(4)},
		{.nr = SYS_ioctl,
		 .args = {(uint64_t)k->vm_fd, KVM_SET_USER_MEMORY_REGION},
		 .unknown_args = ARG(2)},
		{.nr = SYS_madvise, .args = {0, 0, MADV_DONTNEED}, .unknown_args = ARG(0) | ARG(1)},
		{.nr = SYS_munmap, .args = {0, len_bytes}, .unknown_args = ARG(0)},
		{.nr = SYS_close, .unknown_args = ARG(0)},
	};
	unsigned done = k->region_fd >= 0; /* its file exists */

	return hv_keeper_prove(keeper, calls + done, HV_ARRAY_LEN(calls) - done);
}

static bool is_refusal(int64_t result)
{
	return result == -EINVAL || result == -EEXIST || result == -EFAULT;
}

/* KVM rejects a changed VMM address of an existing slot (EINVAL), a guest address that another slot
 * uses (EEXIST), and on arm64 an address out of the guest's range (EFAULT). Setting a slot again
 * with the same values changes nothing (__kvm_set_memory_region). */
struct hv_err *hv_kvm_make_region(struct hv_kvm *k, struct hv_keeper *keeper, uint64_t len_bytes,
				  uint64_t *ret_hva)
{
	struct kvm_userspace_memory_region slot = {
		.slot = k->region.slot,
		.guest_phys_addr = k->region.gpa.v,
		.memory_size = len_bytes,
	};
	struct hv_call call = hv_kvm_ioctl(k->vm_fd, KVM_SET_USER_MEMORY_REGION, 0);
	bool is_new = k->region_fd < 0;
	struct hv_err *err = hv_kvm_prove_region(k, keeper, len_bytes);
	uint64_t hva = 0;

	if (!err && is_new)
		err = make_region_file(k, keeper);
	if (!err)
		err = find_mapping(k, len_bytes, &hva);
	if (!err && !hva)
		err = make_mapping(k, keeper, len_bytes, &hva);
	if (err)
		return err;
	slot.userspace_addr = hva;
	err = hv_keeper_calls(keeper, &call, 1, &slot, sizeof(slot));
	if (err)
		return err;
	if (is_refusal(call.result) && (is_new || call.result == -EFAULT)) {
		err = unmake(k, keeper, hva, len_bytes);
		return err ? err
			   : hv_err_new(call.result == -EFAULT ? ERANGE : EEXIST,
					"inject: KVM_SET_USER_MEMORY_REGION: slot %" PRIu32
					", guest physical 0x%" PRIx64 ": %s",
					slot.slot, k->region.gpa.v, strerror((int)-call.result));
	}
	if (call.result < 0)
		return hv_kvm_failed(&call, "KVM_SET_USER_MEMORY_REGION");
	*ret_hva = hva;
	return NULL;
}

struct hv_err *hv_kvm_unmap(struct hv_keeper *keeper, uint64_t hva, uint64_t len_bytes)
{
	struct hv_call call = {.nr = SYS_madvise, .args = {hva, len_bytes, MADV_DONTNEED}};
	struct hv_err *err = hv_keeper_calls(keeper, &call, 1, NULL, 0);

	if (err)
		return err;
	return call.result < 0 ? hv_kvm_failed(&call, "madvise") : NULL;
}

/* -- registers --------------------------------------------------------------------------------- */

/* Reads the vCPUs' registers by injected calls: two calls per vCPU, or one call per register if KVM
 * supports nothing else (arm64). */

#define BATCH_VCPUS 8 /* vCPUs per batch of calls */

struct both_regs {
	struct kvm_regs regs;
	struct kvm_sregs sregs;
};

/* REGS and SREGS are complete, so decoding cannot fail. */
static void decode(const struct hv_arch *arch, struct hv_span regs, struct hv_span sregs,
		   struct hv_vcpu_regs *ret)
{
	bool is_decoded = arch->decode_kvm_registers(regs, sregs, ret);

	assert(is_decoded);
}

static struct hv_err *some_vcpus(const struct hv_kvm *k, struct hv_keeper *keeper,
				 const struct hv_arch *arch, unsigned first, unsigned nr,
				 struct hv_vcpu_regs *ret)
{
	struct both_regs data[BATCH_VCPUS];
	struct hv_call calls[2 * BATCH_VCPUS];
	struct hv_err *err;

	memset(data, 0, sizeof(data));
	for (unsigned i = 0; i < nr; i++) {
		uint64_t off = i * sizeof(data[0]);
		int fd = k->vcpu_fds[first + i];

		calls[2 * i] = hv_kvm_ioctl(fd, KVM_GET_REGS, off);
		calls[2 * i + 1] =
			hv_kvm_ioctl(fd, KVM_GET_SREGS, off + offsetof(struct both_regs, sregs));
	}
	err = hv_keeper_calls(keeper, calls, 2 * nr, data, nr * sizeof(data[0]));
	for (unsigned i = 0; !err && i < 2 * nr; i++)
		if (calls[i].result < 0)
			err = hv_kvm_failed(&calls[i], i % 2 ? "KVM_GET_SREGS" : "KVM_GET_REGS");
	for (unsigned i = 0; !err && i < nr; i++) {
		struct hv_span regs = {(const uint8_t *)&data[i].regs, sizeof(data[i].regs)};
		struct hv_span sregs = {(const uint8_t *)&data[i].sregs, sizeof(data[i].sregs)};

		decode(arch, regs, sregs, &ret[first + i]);
	}
	return err;
}

/* Data of the calls for one vCPU. KVM writes each value to the address in `asked`. */
struct one_by_one {
	uint64_t values[HV_KEEPER_CALLS_MAX];
	struct kvm_one_reg asked[HV_KEEPER_CALLS_MAX];
};
_Static_assert(sizeof(struct one_by_one) <= HV_CALL_DATA_MAX, "it fits");

static struct hv_err *one_vcpu(const struct hv_kvm *k, struct hv_keeper *keeper,
			       const struct hv_arch *arch, unsigned vcpu, struct hv_vcpu_regs *ret)
{
	struct hv_call calls[HV_KEEPER_CALLS_MAX];
	struct one_by_one data = {0};
	struct hv_err *err;
	unsigned nr = 0;

	for (; nr < HV_KEEPER_CALLS_MAX && arch->kvm_ids[nr]; nr++) {
		uint64_t off = offsetof(struct one_by_one, asked) + nr * sizeof(data.asked[0]);

		data.asked[nr] = (struct kvm_one_reg){arch->kvm_ids[nr],
						      offsetof(struct one_by_one, values) +
							      nr * sizeof(data.values[0])};
		calls[nr] = hv_kvm_ioctl(k->vcpu_fds[vcpu], KVM_GET_ONE_REG, off);
		calls[nr].pointer_off = (uint32_t)(off + offsetof(struct kvm_one_reg, addr));
	}
	err = hv_keeper_calls(keeper, calls, nr, &data, sizeof(data));
	for (unsigned i = 0; !err && i < nr; i++)
		if (calls[i].result < 0)
			err = hv_kvm_failed(&calls[i], "KVM_GET_ONE_REG");
	if (!err)
		decode(arch,
		       (struct hv_span){(const uint8_t *)data.values, nr * sizeof(data.values[0])},
		       (struct hv_span){0}, ret);
	return err;
}

struct hv_err *hv_kvm_registers(const struct hv_kvm *k, struct hv_keeper *keeper,
				const struct hv_arch *arch, struct hv_vcpu_regs *ret)
{
	unsigned batch = arch->kvm_ids ? 1 : BATCH_VCPUS;
	struct hv_err *err = NULL;

	for (unsigned first = 0; !err && first < k->nr_vcpus; first += batch) {
		unsigned left = k->nr_vcpus - first;

		err = arch->kvm_ids ? one_vcpu(k, keeper, arch, first, &ret[first])
				    : some_vcpus(k, keeper, arch, first,
						 left < batch ? left : batch, ret);
	}
	return err;
}
