/* What the parts of the inject way share. Internal to vmm/inject*.c. */
#pragma once

#include "vmm/inject/shadow.h"
#include "vmm/inject/sync.h"
#include "vmm/qemu/machine.h"

#define HV_INJECT_REGION_BYTES (64ull << 20)

struct hv_inject {
	struct hv_machine *m; /* its region is ours, not the ivshmem device's */
	struct hv_call_code code;
	struct hv_kvm kvm;
	struct hv_keeper *keeper;
	uint64_t region_hva;
	uint64_t held_ns;
	struct hv_sync sync;
	pid_t *tids;		   /* owned; of the vCPUs that KVM, SYNC and REGS are about */
	struct hv_vcpu_regs *regs; /* owned; of the hold under way, if HAS_REGS */
	bool has_regs;
	struct hv_shadow shadow;
};

/* refusal.c: why the VMM's threads may not be stopped or made to make calls. */
struct hv_err *hv_inject_check_rights(const struct hv_inject *j) hv_must_use;
/* Seccomp filters, shadow stacks. */
struct hv_err *hv_inject_check_filters(const struct hv_inject *j) hv_must_use;
/* A line of a thread's status in /proc: it has a shadow stack of user mode. */
bool hv_status_line_has_shadow_stack(const char *line);
struct hv_err *hv_inject_check_debugger(const struct hv_inject *j) hv_must_use;

/* inject.c: a stop for one request, and going on after it: ERR, or that of going on. */
struct hv_err *hv_inject_stop(struct hv_inject *j) hv_must_use;
struct hv_err *hv_inject_go_on(struct hv_inject *j, struct hv_err *err) hv_must_use;

/* region.c: makes the region or finds it again, once; the machine's region afterwards. */
struct hv_err *hv_inject_region(struct hv_inject *j) hv_must_use;
void hv_inject_drop_region(struct hv_inject *j);
/* The first touch of each page of the region is an exit of the guest's: of 2 MiB instead of 4 KiB
 * where the kernel makes huge pages on request, whatever it does by itself (madvise(2)). What is in
 * the region stays. */
void hv_inject_want_huge(const struct hv_inject *j);
/* Keeps the machine where it is (pin.h). */
struct hv_err *hv_inject_pin(struct hv_inject *j) hv_must_use;
