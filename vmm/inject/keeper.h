/* The keeper: a helper (vmm/helper.h) that stops the VMM's vCPU threads and has them make calls, so
 * that they always run on. It is their ptracer: it lets them go when the service has died, when a
 * hold has lasted MAX_NS, and when anything happens that it did not expect. When it is killed, the
 * kernel lets them go. It holds nothing between holds.
 * Leaves to others: which threads and calls (kvm.h). */
#pragma once

#include "vmm/inject/call.h"

#define HV_KEEPER_THREADS_MAX 1024
#define HV_KEEPER_CALLS_MAX   64

struct hv_keeper;

/* Of process PID. */
struct hv_err *hv_keeper_start(pid_t pid, const struct hv_call_code *code,
			       struct hv_keeper **ret) hv_must_use;
/* Lets go of what is held and ends the process. */
void hv_keeper_free(struct hv_keeper *k);
bool hv_keeper_is_alive(const struct hv_keeper *k);
pid_t hv_keeper_pid(const struct hv_keeper *k);

/* Stops threads TIDS, one of them where it can make calls. On error none is held, and the keeper
 * has ended. *RET_ALL_IN_RUN: they all stand in KVM_RUN. */
struct hv_err *hv_keeper_hold(struct hv_keeper *k, const pid_t *tids, size_t nr, uint64_t max_ns,
			      bool *ret_all_in_run) hv_must_use;
/* Has one of the held threads make CALLS (call.h). ETIMEDOUT: the hold had ended by itself. */
struct hv_err *hv_keeper_calls(struct hv_keeper *k, struct hv_call *calls, size_t nr, void *data,
			       size_t len_bytes) hv_must_use;
/* *RET_NS: from the first stop to the last going on. ETIMEDOUT: it had ended by itself. */
struct hv_err *hv_keeper_release(struct hv_keeper *k, uint64_t *ret_ns) hv_must_use;
