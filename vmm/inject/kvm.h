/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The VMM's KVM files, used through calls that the VMM is made to execute: registers,
 * guest-physical memory, cached translations. keeper.h stops the guest; place.h names the
 * memory. */
#pragma once

#include "vmm/guest.h"
#include "vmm/inject/keeper.h"
#include "vmm/inject/place.h"

/* The size of a huge page. The region's mappings are aligned to it if possible. */
#define HV_REGION_ALIGN (2ull << 20)

struct hv_kvm {
	pid_t pid;
	int vm_fd;	    /* file descriptors are the VMM's */
	int *vcpu_fds;	    /* by vCPU id, owned */
	uint64_t *run_hvas; /* by vCPU: where the VMM has mapped its struct kvm_run, owned */
	unsigned nr_vcpus;
	int region_fd; /* created by this or an earlier hvtrace; -1: none */
	struct hv_fd_link region;
	int pin_fd; /* has the image of the pin (vmm.h); -1: none */
};

/* Finds the KVM files of process PID in /proc/PID/fd and maps, without those of unplugged vCPUs.
 * Fails with ENOTUNIQ or ENOENT if the process does not have exactly one virtual machine with
 * vCPUs. */
struct hv_err *hv_kvm_find(pid_t pid, struct hv_kvm *ret) hv_must_use;
void hv_kvm_deinit(struct hv_kvm *k);
/* Finds the vCPUs of the same virtual machine again. */
struct hv_err *hv_kvm_find_vcpus(struct hv_kvm *k) hv_must_use;

/* Builds a call of ioctl(2) whose argument is at DATA_OFF of the call's data. */
struct hv_call hv_kvm_ioctl(int fd, unsigned long request, uint64_t data_off);
/* Returns the error of the failed call C. */
struct hv_err *hv_kvm_failed(const struct hv_call *c, const char *what);

/* registers.c: under a hold. RET has room for nr_vcpus. */
struct hv_err *hv_kvm_registers(const struct hv_kvm *k, struct hv_keeper *keeper,
				const struct hv_arch *arch, struct hv_vcpu_regs *ret) hv_must_use;
/* In a hold: returns the maximum size in bits of guest-physical addresses that guest and host
 * support. Fails with ENOTSUP if injection does not support this kind of virtual machine. */
struct hv_err *hv_kvm_phys_bits(const struct hv_kvm *k, struct hv_keeper *keeper,
				unsigned *ret) hv_must_use;

/* Creates the region at K->region, or completes what an earlier hvtrace began: finished steps are
 * skipped. *RET_HVA is its address in the VMM. Fails with EEXIST if the slot or the address is in
 * use, or ERANGE if the address is out of the guest's range; then the VMM has no mapping and no
 * file of the region. */
struct hv_err *hv_kvm_make_region(struct hv_kvm *k, struct hv_keeper *keeper, uint64_t len_bytes,
				  uint64_t *ret_hva) hv_must_use;
/* Creates an empty file for the image of the pin (vmm.h) unless it exists. */
struct hv_err *hv_kvm_make_pin_file(struct hv_kvm *k, struct hv_keeper *keeper) hv_must_use;
struct hv_shadow;
/* Creates an empty file with the name of S. *RET_FD is the VMM's descriptor. */
struct hv_err *hv_kvm_make_shadow_file(struct hv_keeper *keeper, const struct hv_shadow *s,
				       int *ret_fd) hv_must_use;
/* Whether the VMM's descriptor FD is open for reading and writing. */
bool hv_vmm_can_write(pid_t pid, int fd);
/* The number of memory slots of this host's KVM. */
uint32_t hv_kvm_nr_slots(void);

/* Unmaps the pages of [HVA, HVA + LEN) in the VMM, so that KVM flushes every vCPU's translations.
 * Fails with EINVAL if the VMM has locked them. */
struct hv_err *hv_kvm_unmap(struct hv_keeper *keeper, uint64_t hva, uint64_t len_bytes) hv_must_use;
