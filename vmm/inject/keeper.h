/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keeper: a helper (vmm/helper.h) that stops the VMM's vCPU threads with ptrace(2), makes them
 * execute system calls, and always resumes them: when the service dies, when a hold exceeds MAX_NS,
 * and on any unexpected event. If the keeper is killed, the kernel resumes them. Between holds it
 * traces no thread. kvm.h chooses threads and calls.
 *
 * The keeper makes a call only in a thread all of whose seccomp filters allow it (proof.h): in a
 * vCPU thread if possible, otherwise in another thread of the VMM, which it stops until the end of
 * the hold. It tries the main thread first. */
#pragma once

#include "vmm/held_writes.h"
#include "vmm/inject/call.h"
#include "vmm/process/process.h"

#define HV_KEEPER_THREADS_MAX 1024
#define HV_KEEPER_CALLS_MAX   64

struct hv_keeper;

/* Starts the keeper for the process VMM, whose pidfd is PIDFD. */
struct hv_err *hv_keeper_start(const struct hv_process *vmm, int pidfd,
			       const struct hv_call_code *code, struct hv_keeper **ret) hv_must_use;
/* Ends the current hold, if any, and the process. */
void hv_keeper_free(struct hv_keeper *k);
bool hv_keeper_is_alive(const struct hv_keeper *k);
pid_t hv_keeper_pid(const struct hv_keeper *k);

/* Whether every vCPU thread is in KVM_RUN in a hold. */
enum hv_vcpus_are { HV_VCPUS_ANYWHERE, HV_VCPUS_IN_RUN };

/* Stops threads TIDS, at least one of them where it can make calls. Fails with EPERM if the VMM's
 * rights have changed (hv_process_check_rights()). On error no thread is stopped, and the keeper has
 * ended. *RET_FROM_NS is the time at which MAX_NS began (hv_now_ns). *RET_ALL_IN_RUN: all threads
 * are in KVM_RUN. */
struct hv_err *hv_keeper_hold(struct hv_keeper *k, const pid_t *tids, size_t nr, uint64_t max_ns,
			      uint64_t *ret_from_ns, bool *ret_all_in_run) hv_must_use;
/* Chooses the thread for a sequence of calls: one that may make all of CALLS, in which the arguments
 * that are not known yet are marked (struct hv_call). Later calls in this hold are made in this
 * thread. Include the calls that undo the sequence. Fails with EPERM if no thread may make all of
 * them; the message names the call, a thread and its filter. */
struct hv_err *hv_keeper_prove(struct hv_keeper *k, const struct hv_call *calls,
			       size_t nr) hv_must_use;
/* Makes a thread execute CALLS (call.h): the thread of hv_keeper_prove(), or one that may make all
 * of them. Fails with EPERM like hv_keeper_prove(), or ETIMEDOUT if the hold had timed out. */
struct hv_err *hv_keeper_calls(struct hv_keeper *k, struct hv_call *calls, size_t nr, void *data,
			       size_t len_bytes) hv_must_use;
/* Makes WRITES (held_writes.h) while the threads are stopped. Fails with ETIMEDOUT if the hold had
 * timed out or times out during the call. */
struct hv_err *hv_keeper_write(struct hv_keeper *k,
			       const struct hv_held_writes *writes) hv_must_use;
/* Resumes the threads. *RET_NS is the time from the first stop to the last resume. Fails with
 * ETIMEDOUT if the hold had timed out. */
struct hv_err *hv_keeper_release(struct hv_keeper *k, uint64_t *ret_ns) hv_must_use;
