/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state that the files of this folder share. */
#pragma once

#include "vmm/inject/inject.h"
#include "vmm/inject/kvm.h"
#include "vmm/inject/shadow.h"

#define HV_INJECT_REGION_BYTES (64ull << 20)

struct hv_inject {
	struct hv_vmm vmm;
	struct hv_region region; /* host NULL: not mapped yet */
	bool is_held;
	struct hv_call_code code;
	struct hv_kvm kvm;
	struct hv_keeper *keeper;
	uint64_t region_hva;
	uint64_t held_ns;
	uint64_t held_from_ns; /* when MAX_NS of the last hold began */
	struct hv_sync sync;
	pid_t *tids;		   /* owned; of the vCPUs that KVM, SYNC and REGS describe */
	struct hv_vcpu_regs *regs; /* owned; of the current hold, if HAS_REGS */
	bool has_regs;
	struct hv_shadow shadow;
};

/* refusal.c: checks whether the VMM's threads may be stopped and made to execute calls. */
struct hv_err *hv_inject_check_rights(const struct hv_inject *j) hv_must_use;
struct hv_err *hv_inject_check_shadow_stacks(const struct hv_inject *j) hv_must_use;
/* Fails with EPERM if the VMM's seccomp filters do not allow the calls for a region. If the VMM has
 * filters that are not known, starts the keeper and holds the guest for the proof. */
struct hv_err *hv_inject_check_filters(struct hv_inject *j) hv_must_use;
/* Whether LINE of a thread's status in /proc shows a user-mode shadow stack. */
bool hv_status_line_has_shadow_stack(const char *line);
struct hv_err *hv_inject_check_debugger(const struct hv_inject *j) hv_must_use;

/* hold.c: fails with EBUSY unless KVM's files show NR vCPUs, the number that the monitor reports. */
struct hv_err *hv_inject_check_vcpus(const struct hv_inject *j, unsigned nr) hv_must_use;
/* Starts the keeper for holds, if it does not run. */
struct hv_err *hv_inject_need_keeper(struct hv_inject *j) hv_must_use;
/* Begins a hold of at most MAX_NS. */
struct hv_err *hv_inject_hold(struct hv_inject *j, uint64_t max_ns) hv_must_use;
/* Begins and ends a hold for one request. hv_inject_go_on() takes ERR and returns it or its own
 * error. */
struct hv_err *hv_inject_stop(struct hv_inject *j) hv_must_use;
struct hv_err *hv_inject_go_on(struct hv_inject *j, struct hv_err *err) hv_must_use;

/* region.c: creates or finds the region, once, and maps it as J->region. */
struct hv_err *hv_inject_region(struct hv_inject *j) hv_must_use;
void hv_inject_drop_region(struct hv_inject *j);
/* Converts the region's memory to huge pages if the kernel supports this on request (madvise(2),
 * MADV_COLLAPSE): the guest's first access to each page is an exit, and 2 MiB pages cause fewer of
 * them. The region keeps its contents. */
void hv_inject_want_huge(const struct hv_inject *j);
/* Keeps the guest from being migrated (hv_guest_pin()). */
struct hv_err *hv_inject_pin(struct hv_inject *j) hv_must_use;
