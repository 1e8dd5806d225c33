/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guardian: a helper (vmm/helper.h) that is the gdb stub's client and always resumes the guest.
 *
 *   service --socketpair--> guardian --unix socket--> gdb stub
 *
 * It has dropped all privileges and keeps only its two sockets, because it reads the VMM's data.
 * The service connects the gdb stub's socket, which both share. The guardian stops the guest
 * (hold), reads registers, sends packets, and resumes the guest (release). It also resumes the
 * guest when the service dies, when the hold exceeds MAX_NS, and before it ends. If the guardian
 * dies in a hold, the service resumes the guest through the monitor. If both are killed in a hold,
 * the guest stays stopped until hv_guest_let_run(). The service starts and removes the gdb stub.
 *
 * The guardian decodes the gdb stub's answers. The service receives values of fixed size and does
 * not trust them: a guardian with malformed answers was taken over by the VMM and is killed. A
 * guardian with well-formed answers can lie about the same things as a VMM: whether the guest is
 * stopped, its registers, and whether a write was made. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "arch/arch.h"
#include "base/err.h"
#include "vmm/qemu/gdb/gdb_stub.h"

struct hv_guardian;

/* Connects to the gdb stub at SOCKET_PATH, which must belong to process VMM. That stops the guest
 * briefly; it runs again on return. Fails with ESRCH if the socket belongs to another process, to
 * which nothing was sent. */
struct hv_err *hv_guardian_start(const char *socket_path, pid_t vmm,
				 struct hv_guardian **ret) hv_must_use;
/* Ends the current hold, if any, and the process. A guardian that waits for a requested stop is
 * left running; it resumes the guest when the stop arrives. */
void hv_guardian_free(struct hv_guardian *g);
bool hv_guardian_is_alive(const struct hv_guardian *g);
pid_t hv_guardian_pid(const struct hv_guardian *g);

enum hv_guardian_state {
	HV_GUARDIAN_UNREACHED, /* not connected to the stub, or dead */
	HV_GUARDIAN_RUNS,      /* the guardian is not holding the guest */
	HV_GUARDIAN_STOPPING,  /* requested a stop that has not arrived; will then resume the guest
				*/
	HV_GUARDIAN_HOLDS,
	HV_NR_GUARDIAN_STATES,
};
enum hv_guardian_state hv_guardian_state(struct hv_guardian *g);
/* Call this if the requested stop will not arrive because the guest was already stopped by another
 * client. The next stop does not belong to the guardian. */
void hv_guardian_forget_stop(struct hv_guardian *g);

/* Stops the guest. *RET_FROM_NS (may be NULL) is the time at which MAX_NS began (hv_now_ns). */
struct hv_err *hv_guardian_hold(struct hv_guardian *g, uint64_t max_ns,
				uint64_t *ret_from_ns) hv_must_use;
/* Holds a suspended guest (S3), whose vCPUs are stopped already: the guardian neither stops nor
 * resumes it. If the guest wakes up during the hold, the next packet stops it. That packet is lost,
 * the exchange fails with ETIMEDOUT, and the guardian resumes the guest. */
struct hv_err *hv_guardian_hold_asleep(struct hv_guardian *g, uint64_t max_ns,
				       uint64_t *ret_from_ns) hv_must_use;
/* Call the next four functions in a hold. They fail with ETIMEDOUT if it has timed out. */
/* Call this once, before the others. Fails with ENOTSUP if the gdb stub does not describe a
 * register that every CPU of ARCH has. */
struct hv_err *hv_guardian_describe(struct hv_guardian *g, const struct hv_arch *arch) hv_must_use;
/* Counts the vCPUs, previously EXPECTED, and reads their registers. *RET_NR is at least 1 and at
 * most HV_VCPUS_MAX. The caller frees *RET. */
struct hv_err *hv_guardian_look(struct hv_guardian *g, unsigned expected, struct hv_vcpu_regs **ret,
				unsigned *ret_nr) hv_must_use;
/* Makes TCG drop every translation of the vCPUs that were last counted. */
struct hv_err *hv_guardian_flush(struct hv_guardian *g) hv_must_use;
/* Sends PACKETS, each of which must be answered with "OK". Fails with EIO if one was not, or
 * ETIMEDOUT if some may not have been answered. */
struct hv_err *hv_guardian_execute(struct hv_guardian *g,
				   const struct hv_packets *packets) hv_must_use;
/* Resumes the guest. *RET_NS is the time for which it was stopped; also set on ETIMEDOUT, when the
 * hold had timed out. After other errors the guardian or the gdb stub is lost, and the guest must
 * be resumed through the monitor. */
struct hv_err *hv_guardian_release(struct hv_guardian *g, uint64_t *ret_ns) hv_must_use;

/* -- messages ---------------------------------------------------------------------------------- */

/* The messages between service and guardian over their socketpair: a request, then LEN_BYTES of
 * strings (struct hv_packets); a reply, then LEN_BYTES. Both ends are this program, but a VMM may
 * have taken over the guardian. */

#define GUARDIAN_BYTES_MAX	   (8u << 20) /* of a request */
#define GUARDIAN_MESSAGE_MAX_BYTES 1024	      /* of an error's message */

enum guardian_op {
	GUARDIAN_READY,	      /* answered when the guardian has given up its rights */
	GUARDIAN_OPEN,	      /* the socket is connected */
	GUARDIAN_HOLD,	      /* arg: max_ns */
	GUARDIAN_HOLD_ASLEEP, /* arg: max_ns */
	GUARDIAN_DESCRIBE,    /* the name of an architecture */
	GUARDIAN_LOOK,	      /* arg: expected number of vCPUs -> array of struct hv_vcpu_regs */
	GUARDIAN_FLUSH,
	GUARDIAN_EXECUTE, /* packets */
	GUARDIAN_RELEASE,
	GUARDIAN_STATE,	 /* no action: the reply contains the state */
	GUARDIAN_FORGET, /* hv_guardian_forget_stop() */
};

struct guardian_request {
	uint32_t op;
	uint32_t nr;
	uint32_t len_bytes;
	uint32_t unused;
	uint64_t arg;
};

struct guardian_reply {
	int32_t code; /* errno value, and the bytes are the error's message; 0: success */
	uint32_t len_bytes;
	uint32_t state; /* enum hv_guardian_state */
	uint32_t unused;
	uint64_t since_ns; /* when the last hold began */
	uint64_t held_ns;  /* of the last hold that ended */
};

/* The main function of the guardian's process (vmm/helper.h). */
_Noreturn void guardian_run(void);
