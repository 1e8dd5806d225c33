/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Selects whose calls are recorded: which tasks, which vCPUs, and whether any. Changes take effect
 * in the guest immediately, unless documented otherwise.
 *
 * site_trampolines.h selects the functions. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/switch.h"

struct hv_scope;
struct hv_tracee;

/* Borrows T. */
struct hv_scope *hv_scope_new(struct hv_tracee *t);
void hv_scope_free(struct hv_scope *scope);

void hv_scope_set_recording(struct hv_scope *scope, enum hv_switch to);
/* Returns the present value, which an action in the guest (actions.h) may have changed. */
unsigned hv_scope_recording(const struct hv_scope *scope);
/* Suspends recording (HV_ON) or resumes it (HV_OFF). Actions still switch recording as usual. */
void hv_scope_set_paused(struct hv_scope *scope, enum hv_switch to);

/* Stops recording on the vCPUs whose byte in MUTED is not 0. NULL: records on all. */
void hv_scope_mute_cpus(struct hv_scope *scope, const uint8_t *muted);

/* Records only the pids in ONLY (NR_ONLY 0: all) except those in EXCEPT. Both are ascending. Pids
 * above the kernel's maximum are ignored. */
struct hv_err *hv_scope_filter_pids(struct hv_scope *scope, const uint32_t *only, size_t nr_only,
				    const uint32_t *except, size_t nr_except) hv_must_use;
/* Returns the number of pids that the guest records, or does not record, at present; at most
 * HV_SCOPE_PIDS_MAX. *RET, owned by the caller, lists them in ascending order. */
enum hv_pid_kind { HV_PIDS_RECORDED, HV_PIDS_NOT_RECORDED };
#define HV_SCOPE_PIDS_MAX 65536
size_t hv_scope_pids(const struct hv_scope *scope, enum hv_pid_kind kind, uint32_t **ret);

/* Sets whether a new task is recorded like its parent, and from which list the pid of an ended task
 * is removed: the recorded pids (HV_FORKS_OF_ONLY) or the pids that are not recorded
 * (HV_FORKS_OF_OTHERS). Takes effect with the next hv_site_trampolines_set. EOPNOTSUPP: the kernel
 * lacks the necessary functions. */
enum hv_forks { HV_FORKS_NOT, HV_FORKS_OF_ONLY, HV_FORKS_OF_OTHERS };
struct hv_err *hv_scope_follow_forks(struct hv_scope *scope, enum hv_forks how) hv_must_use;
/* Returns how a call of the function at IP changes the pids when forks are followed: HV_DOES_PID_*
 * (ringbuf/abi.h). */
unsigned hv_scope_task_bits(const struct hv_scope *scope, uint64_t ip);
