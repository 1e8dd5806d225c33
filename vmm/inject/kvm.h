/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The VMM's KVM files: their names, and what hvtrace does with them (registers, guest-physical
 * memory, cached translations). It uses them through calls that the VMM is made to execute;
 * registers also come from the vCPUs' pages. keeper.h stops the guest. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "vmm/guest.h"
#include "vmm/inject/keeper.h"

/* -- names of files ---------------------------------------------------------------------------- */

/* Decodes the /proc links of the VMM's KVM files, and the names of files that hvtrace creates in
 * it. Pure: text and numbers in, values out. inject.h finds the region's address. */

/* The decoded /proc link of a file descriptor. */
enum hv_fd_kind { HV_FD_OTHER, HV_FD_VM, HV_FD_VCPU, HV_FD_REGION, HV_FD_PIN };
struct hv_fd_link {
	enum hv_fd_kind kind;
	unsigned vcpu; /* id; of HV_FD_VCPU */
	uint32_t slot; /* this and gpa: of HV_FD_REGION */
	struct hv_gpa gpa;
};
struct hv_fd_link hv_fd_link_parse(const char *target);
/* The name of the region's memfd. A later hvtrace reads the region's address from it. */
#define HV_REGION_NAME_LEN 64
#define HV_PIN_FILE	   "hvtrace-pin" /* the name of the memfd with the image of the pin */
void hv_region_name(uint32_t slot, struct hv_gpa gpa, char ret[HV_REGION_NAME_LEN]);

/* The name of the shadow file (shadow.h), which encodes all properties of its range. */
struct hv_shadow;
#define HV_SHADOW_FILE	   "hvtrace-shadow-"
#define HV_SHADOW_NAME_LEN 160
void hv_shadow_name(const struct hv_shadow *s, char ret[HV_SHADOW_NAME_LEN]);
/* Decodes TARGET, the link of a file descriptor. Returns false if it is not a shadow file's. */
bool hv_shadow_parse(const char *target, struct hv_shadow *ret);

/* -- the files --------------------------------------------------------------------------------- */

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
	int pin_fd; /* has the image of the pin (inject.h); -1: none */
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

/* In a hold: reads the registers of all vCPUs. RET has room for K->nr_vcpus. */
struct hv_err *hv_kvm_registers(const struct hv_kvm *k, struct hv_keeper *keeper,
				const struct hv_arch *arch, struct hv_vcpu_regs *ret) hv_must_use;
/* In a hold: returns the maximum size in bits of guest-physical addresses that guest and host
 * support. Fails with ENOTSUP if injection does not support this kind of virtual machine. */
struct hv_err *hv_kvm_phys_bits(const struct hv_kvm *k, struct hv_keeper *keeper,
				unsigned *ret) hv_must_use;

/* In a hold: fails with EPERM unless the VMM's seccomp filters allow a thread to make all calls for
 * a region of LEN bytes (hv_keeper_prove()). */
struct hv_err *hv_kvm_prove_region(const struct hv_kvm *k, struct hv_keeper *keeper,
				   uint64_t len_bytes) hv_must_use;
/* Creates the region at K->region, or completes what an earlier hvtrace began: finished steps are
 * skipped. *RET_HVA is its address in the VMM. Fails with EEXIST if the slot or the address is in
 * use, or ERANGE if the address is out of the guest's range; then the VMM has no mapping and no
 * file of the region. Proves all calls before the first one. */
struct hv_err *hv_kvm_make_region(struct hv_kvm *k, struct hv_keeper *keeper, uint64_t len_bytes,
				  uint64_t *ret_hva) hv_must_use;
/* Creates an empty file for the image of the pin (inject.h) unless it exists. */
struct hv_err *hv_kvm_make_pin_file(struct hv_kvm *k, struct hv_keeper *keeper) hv_must_use;
/* Creates an empty file with the name of S. *RET_FD is the VMM's descriptor. */
struct hv_err *hv_kvm_make_shadow_file(struct hv_keeper *keeper, const struct hv_shadow *s,
				       int *ret_fd) hv_must_use;
/* The number of memory slots of this host's KVM. */
uint32_t hv_kvm_nr_slots(void);

/* Unmaps the pages of [HVA, HVA + LEN) in the VMM, so that KVM flushes every vCPU's translations.
 * Fails with EINVAL if the VMM has locked them. */
struct hv_err *hv_kvm_unmap(struct hv_keeper *keeper, uint64_t hva, uint64_t len_bytes) hv_must_use;

/* -- registers without calls ------------------------------------------------------------------- */

/* Reads registers of vCPUs without injected calls. Each time KVM_RUN returns, KVM stores them in
 * the vCPU's page, which the VMM has mapped, if kvm_valid_regs in that page requests them
 * (Documentation/virt/kvm/api.rst, sync regs). They are requested immediately before the vCPU
 * threads are stopped, and cancelled afterwards. If this process dies in between, each return of
 * KVM_RUN takes a microsecond longer from then on. hv_kvm_registers() handles vCPUs whose thread
 * was not in KVM_RUN. */

struct hv_sync {
	pid_t pid;
	int fd;		     /* the VMM's memory, read-write; valid if page_hvas is set */
	uint64_t *page_hvas; /* by vCPU, owned; NULL: this KVM does not support it */
	unsigned nr_vcpus;
};

/* In a hold: whether a vCPU, *RET, is in system management mode. Then its registers and page tables
 * belong to the firmware, and those of the kernel, where it will continue, are unknown. */
bool hv_sync_is_in_smm(const struct hv_kvm *k, unsigned *ret);

/* PIDFD is K->pid's. On a KVM without sync regs, hv_sync_take() always returns false. */
void hv_sync_init(struct hv_sync *s, const struct hv_kvm *k, int pidfd);
void hv_sync_deinit(struct hv_sync *s);

/* Requests the registers; call this immediately before the stop. */
void hv_sync_ask(const struct hv_sync *s);
/* Cancels the request after a failed stop. */
void hv_sync_cancel(const struct hv_sync *s);
/* Cancels the request and reads the registers; call this in each hold. Returns true if RET
 * contains every vCPU's registers, which needs all vCPUs in KVM_RUN. */
bool hv_sync_take(const struct hv_sync *s, const struct hv_arch *arch, enum hv_vcpus_are vcpus,
		  struct hv_vcpu_regs *ret);
