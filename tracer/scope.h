/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose calls are recorded: of which tasks, on which vCPUs, and whether any at all. The guest obeys
 * a change at once, unless a function says otherwise.
 * Leaves to others: which functions are recorded (site_stubs.h). One thread. */
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
/* Returns the value as it was set, or as an action (actions.h) in the guest has changed it. */
unsigned hv_scope_recording(const struct hv_scope *scope);
/* Records nothing until ON is 0 again. Actions switch recording meanwhile as ever. */
void hv_scope_set_paused(struct hv_scope *scope, unsigned on);

/* Stops recording on the vCPUs whose byte of MUTED is not 0. NULL: records on all. */
void hv_scope_mute_cpus(struct hv_scope *scope, const uint8_t *muted);

/* Records only the pids of ONLY (NR_ONLY 0: all) without those of EXCEPT. Both are ascending. A pid
 * beyond those that a kernel can have is ignored. */
struct hv_err *hv_scope_filter_pids(struct hv_scope *scope, const uint32_t *only, size_t nr_only,
				    const uint32_t *except, size_t nr_except) hv_must_use;
/* Returns the number of pids that are recorded, or that are not, as the guest has them now; at most
 * HV_SCOPE_PIDS_MAX. *RET, owned by the caller, lists them in ascending order. */
enum hv_pid_kind { HV_PIDS_RECORDED, HV_PIDS_NOT_RECORDED };
#define HV_SCOPE_PIDS_MAX 65536
size_t hv_scope_pids(const struct hv_scope *scope, enum hv_pid_kind kind, uint32_t **ret);

/* Chooses whether a new task is recorded as the task that made it, and what happens to the pid of a
 * task that has ended: it leaves the recorded pids (HV_FORKS_OF_ONLY), or the pids that are not
 * recorded (HV_FORKS_OF_OTHERS). Takes effect with the next hv_site_stubs_set. EOPNOTSUPP: the
 * kernel has no functions that tell of this. */
enum hv_forks { HV_FORKS_NOT, HV_FORKS_OF_ONLY, HV_FORKS_OF_OTHERS };
struct hv_err *hv_scope_follow_forks(struct hv_scope *scope, enum hv_forks how) hv_must_use;
/* Returns what a call of the function at IP does to the pids for that: HV_SLOT_PID_*
 * (ringbuf/abi.h). */
unsigned hv_scope_task_bits(const struct hv_scope *scope, uint64_t ip);
