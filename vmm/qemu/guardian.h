/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guardian: a helper (vmm/helper.h) that is the gdb stub's client and always resumes the guest.
 *
 *   service --socketpair--> guardian --unix socket--> gdb stub
 *
 * It has given up every right but its two sockets, since it reads what the VMM sends. The service
 * connects the socket that both have. It stops the guest (hold), reads registers, sends packets,
 * and resumes the guest (release). It resumes the guest by itself when the service has died, when
 * the hold has lasted MAX_NS, and before it ends. When the guardian dies during a hold, the service
 * resumes the guest by the monitor. When both are killed during a hold, the guest stays stopped
 * until hv_guest_let_run(). Leaves to others: what is written, starting and removing the gdb stub.
 *
 * What the gdb stub says is decoded by the guardian. The service gets values of fixed size, and
 * believes none: a guardian that answers out of form was taken over by the VMM, and is killed. What
 * a guardian in form can lie about is what a VMM can: whether the guest stands still, its
 * registers, and whether something was written. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "arch/arch.h"
#include "base/err.h"
#include "vmm/qemu/gdb_stub.h"

struct hv_guardian;

/* Connects to the gdb stub at SOCKET_PATH, which must be process VMM's. That stops the guest for a
 * moment; it runs again on return. ESRCH: the socket is of another process, to which nothing was
 * sent. */
struct hv_err *hv_guardian_start(const char *socket_path, pid_t vmm,
				 struct hv_guardian **ret) hv_must_use;
/* Ends the hold, if there is one, and the process. A guardian that has asked for a stop which has
 * not come yet is left running; it resumes the guest when the stop comes. */
void hv_guardian_free(struct hv_guardian *g);
bool hv_guardian_is_alive(const struct hv_guardian *g);
pid_t hv_guardian_pid(const struct hv_guardian *g);

enum hv_guardian_state {
	HV_GUARDIAN_UNREACHED, /* not connected to the stub, or no longer; or it has died */
	HV_GUARDIAN_RUNS,      /* the guest runs, as far as the guardian is concerned */
	HV_GUARDIAN_STOPPING,  /* asked for a stop that has not come; resumes the guest when it does
				*/
	HV_GUARDIAN_HOLDS,
	HV_NR_GUARDIAN_STATES,
};
enum hv_guardian_state hv_guardian_state(struct hv_guardian *g);
/* The stop that it has asked for will not come if it has not come yet, since the guest was stopped
 * by somebody else before. The next stop that comes is not its own. */
void hv_guardian_forget_stop(struct hv_guardian *g);

/* Stops the guest. *RET_FROM_NS (may be NULL): when MAX_NS began to count (hv_now_ns). */
struct hv_err *hv_guardian_hold(struct hv_guardian *g, uint64_t max_ns,
				uint64_t *ret_from_ns) hv_must_use;
/* A hold of a guest that sleeps (S3), whose vCPUs are stopped already: the guardian does not stop
 * it, and does not resume it at the end. When the guest wakes up meanwhile, the next packet stops
 * it. That packet is lost, the exchange ends with ETIMEDOUT, and the guardian resumes the guest. */
struct hv_err *hv_guardian_hold_asleep(struct hv_guardian *g, uint64_t max_ns,
				       uint64_t *ret_from_ns) hv_must_use;
/* The next four are called under a hold. ETIMEDOUT: it has ended by itself. */
/* To be called once, before the others. ENOTSUP: the gdb stub does not describe a register that
 * every CPU of ARCH has. */
struct hv_err *hv_guardian_describe(struct hv_guardian *g, const struct hv_arch *arch) hv_must_use;
/* Counts the vCPUs, of which there were EXPECTED, and reads their registers. *RET_NR is at least 1
 * and at most HV_VCPUS_MAX. The caller frees *RET. */
struct hv_err *hv_guardian_look(struct hv_guardian *g, unsigned expected, struct hv_vcpu_regs **ret,
				unsigned *ret_nr) hv_must_use;
/* Makes TCG drop every translation of the vCPUs that were last counted. */
struct hv_err *hv_guardian_flush(struct hv_guardian *g) hv_must_use;
/* Sends PACKETS, each of which must be answered with "OK". EIO: one was not. ETIMEDOUT: some may
 * not have been answered. */
struct hv_err *hv_guardian_obey(struct hv_guardian *g,
				const struct hv_packets *packets) hv_must_use;
/* Resumes the guest. *RET_NS is how long it was stopped; it is also set with ETIMEDOUT: the hold
 * had ended by itself. After other errors the guardian or the gdb stub is lost, and the guest must
 * be resumed by the monitor. */
struct hv_err *hv_guardian_release(struct hv_guardian *g, uint64_t *ret_ns) hv_must_use;
