/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keeper: a helper (vmm/helper.h) that stops the VMM's vCPU threads with ptrace(2), makes them
 * execute system calls, and always resumes them. It resumes them when the service has died, when a
 * hold has lasted MAX_NS, and when anything unexpected happens. When the keeper is killed, the
 * kernel resumes them. Between holds it traces no thread. Leaves to others: which threads and calls
 * (kvm.h). */
#pragma once

#include "vmm/held_writes.h"
#include "vmm/inject/call.h"

#define HV_KEEPER_THREADS_MAX 1024
#define HV_KEEPER_CALLS_MAX   64

struct hv_keeper;

/* Starts the keeper for the VMM that is process PID, whose pidfd is PIDFD. */
struct hv_err *hv_keeper_start(pid_t pid, int pidfd, const struct hv_call_code *code,
			       struct hv_keeper **ret) hv_must_use;
/* Ends the hold, if there is one, and the process. */
void hv_keeper_free(struct hv_keeper *k);
bool hv_keeper_is_alive(const struct hv_keeper *k);
pid_t hv_keeper_pid(const struct hv_keeper *k);

/* Stops threads TIDS, at least one of them where it can make calls. On error no thread is stopped,
 * and the keeper has ended. *RET_FROM_NS: when MAX_NS began to count (hv_now_ns).
 * *RET_ALL_IN_RUN: all of them are in KVM_RUN. */
struct hv_err *hv_keeper_hold(struct hv_keeper *k, const pid_t *tids, size_t nr, uint64_t max_ns,
			      uint64_t *ret_from_ns, bool *ret_all_in_run) hv_must_use;
/* Makes one of the stopped threads execute CALLS (call.h). ETIMEDOUT: the hold had ended by itself.
 */
struct hv_err *hv_keeper_calls(struct hv_keeper *k, struct hv_call *calls, size_t nr, void *data,
			       size_t len_bytes) hv_must_use;
/* Makes WRITES (held_writes.h) while the threads are stopped. ETIMEDOUT: the hold had ended by
 * itself, or ended meanwhile. */
struct hv_err *hv_keeper_write(struct hv_keeper *k,
			       const struct hv_held_writes *writes) hv_must_use;
/* Resumes the threads. *RET_NS: from when the first was stopped until the last was resumed.
 * ETIMEDOUT: the hold had ended by itself. */
struct hv_err *hv_keeper_release(struct hv_keeper *k, uint64_t *ret_ns) hv_must_use;
