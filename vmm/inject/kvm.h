/* A VMM's KVM files, used by the VMM itself: registers, guest-physical memory, translations.
 * Leaves to others: stopping (keeper.h), where the memory goes (place.h). */
#pragma once

#include "vmm/guest.h"
#include "vmm/inject/keeper.h"
#include "vmm/inject/place.h"

/* Of a huge page: what the region's mappings are aligned to, where that is possible. */
#define HV_REGION_ALIGN (2ull << 20)

struct hv_kvm {
	pid_t pid;
	int vm_fd;	    /* the VMM's numbers */
	int *vcpu_fds;	    /* by vCPU id, owned */
	uint64_t *run_hvas; /* where the VMM has each one's struct kvm_run, owned */
	unsigned nr_vcpus;
	int region_fd; /* of an earlier hvtrace or ours; -1: none */
	struct hv_fd_link region;
	int pin_fd; /* with the image of vmm/qemu/pin.h; -1: none */
};

/* From /proc/PID/fd and maps; vCPUs that the VMM has unplugged are left out. ENOTUNIQ, ENOENT: not
 * one VM. */
struct hv_err *hv_kvm_find(pid_t pid, struct hv_kvm *ret) hv_must_use;
void hv_kvm_deinit(struct hv_kvm *k);
/* The same machine's vCPUs anew. */
struct hv_err *hv_kvm_find_vcpus(struct hv_kvm *k) hv_must_use;

/* Under a hold. RET: room for nr_vcpus. */
struct hv_err *hv_kvm_registers(const struct hv_kvm *k, struct hv_keeper *keeper,
				const struct hv_arch *arch, struct hv_vcpu_regs *ret) hv_must_use;
/* Bits of guest-physical addresses that both guest and host have. */
struct hv_err *hv_kvm_phys_bits(const struct hv_kvm *k, struct hv_keeper *keeper,
				unsigned *ret) hv_must_use;

/* Makes the region where K->region says, or finishes what an earlier hvtrace began; each step does
 * nothing when it was done already. EEXIST: the slot or the place is taken, nothing is left of the
 * try. *RET_HVA: in the VMM. */
struct hv_err *hv_kvm_make_region(struct hv_kvm *k, struct hv_keeper *keeper, uint64_t len_bytes,
				  uint64_t *ret_hva) hv_must_use;
/* An empty file for the image of vmm/qemu/pin.h, unless there is one. */
struct hv_err *hv_kvm_make_pin_file(struct hv_kvm *k, struct hv_keeper *keeper) hv_must_use;
struct hv_shadow;
/* An empty file with the name of S; *RET_FD: the VMM's number. */
struct hv_err *hv_kvm_make_shadow_file(struct hv_keeper *keeper, const struct hv_shadow *s,
				       int *ret_fd) hv_must_use;
/* Whether the VMM's file FD is open for reading and writing. */
bool hv_vmm_can_write(pid_t pid, int fd);
/* The number of slots of this host's KVM. */
uint32_t hv_kvm_nr_slots(void);

/* Unmaps [HVA, HVA + LEN) in the VMM: KVM drops what maps it and flushes every vCPU. */
struct hv_err *hv_kvm_unmap(struct hv_keeper *keeper, uint64_t hva, uint64_t len_bytes) hv_must_use;
