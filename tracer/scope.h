/* Whose calls are recorded: of which tasks, on which vCPUs, and whether any at all. The guest obeys
 * from the moment it is set, if nothing else is said.
 * Leaves to others: of which functions (site_stubs.h). One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct hv_scope;
struct hv_tracee;

/* Borrows T. */
struct hv_scope *hv_scope_new(struct hv_tracee *t);
void hv_scope_free(struct hv_scope *scope);

void hv_scope_set_recording(struct hv_scope *scope, unsigned on);
/* As set, or as the guest did it by an action (actions.h). */
unsigned hv_scope_recording(const struct hv_scope *scope);

/* Nothing is recorded on the vCPUs for which MUTED has not 0, a byte each; NULL: on all it is. */
void hv_scope_mute_cpus(struct hv_scope *scope, const uint8_t *muted);

/* Only the pids of ONLY (NR_ONLY 0: all), without those of NOT; both ascending. A pid beyond what a
 * kernel can have is nobody's. */
struct hv_err *hv_scope_filter_pids(struct hv_scope *scope, const uint32_t *only, size_t nr_only,
				    const uint32_t * not, size_t nr_not) hv_must_use;
/* The pids that are recorded, or those that are not, as the guest has them now, ascending; at most
 * HV_SCOPE_PIDS_MAX of them. RET is the caller's to free. */
enum hv_pid_kind { HV_PIDS_RECORDED, HV_PIDS_NOT_RECORDED };
#define HV_SCOPE_PIDS_MAX 65536
size_t hv_scope_pids(const struct hv_scope *scope, enum hv_pid_kind kind, uint32_t **ret);

/* Whether a task that another one makes is recorded as that one, and what becomes of pids whose
 * task has ended: nobody's of those that are recorded alone, everybody's of those that are not.
 * From the next hv_site_stubs_set on. EOPNOTSUPP: the kernel does not say. */
enum hv_forks { HV_FORKS_NOT, HV_FORKS_OF_ONLY, HV_FORKS_OF_OTHERS };
struct hv_err *hv_scope_follow_forks(struct hv_scope *scope, enum hv_forks how) hv_must_use;
/* What a call of the function at IP does to the pids for that: HV_SLOT_PID_* (ringbuf/abi.h). */
unsigned hv_scope_task_bits(const struct hv_scope *scope, uint64_t ip);
