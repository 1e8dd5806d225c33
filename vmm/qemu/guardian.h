/* The guardian: a helper (vmm/helper.h) that owns the gdb stub's socket, so that the machine always
 * runs on.
 *
 *   service --socketpair--> guardian --unix socket--> gdb stub
 *
 * It stops the machine (hold), passes packets on, and lets the machine run (release). It does the
 * latter by itself when the service has died, when the hold has lasted MAX_NS, and on its own way
 * out. When the guardian dies during a hold, the service continues the machine by the monitor.
 * When both are killed at once during a hold, the machine stands until hv_guest_let_run().
 * Leaves to others: what packets say, starting and removing the stub. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "vmm/qemu/gdb_stub.h"

struct hv_guardian;

/* Connects to the stub at SOCKET_PATH; the machine stands for a moment, and runs on return. */
struct hv_err *hv_guardian_start(const char *socket_path, struct hv_guardian **ret) hv_must_use;
/* Releases what is held and ends the process. One that waits for a stop it has asked for is left to
 * let the machine run on when that comes. */
void hv_guardian_free(struct hv_guardian *g);
bool hv_guardian_is_alive(const struct hv_guardian *g);
pid_t hv_guardian_pid(const struct hv_guardian *g);

struct hv_err *hv_guardian_hold(struct hv_guardian *g, uint64_t max_ns) hv_must_use;
/* Of a machine that sleeps (S3) and stands by itself: it is not stopped, and not let run at the
 * end, unless it woke up meanwhile and a packet stopped it. That packet is lost, and the exchange
 * ends with ETIMEDOUT. */
struct hv_err *hv_guardian_hold_asleep(struct hv_guardian *g, uint64_t max_ns) hv_must_use;
/* Packets to the held machine; ANSWERS (one a packet) are appended. ETIMEDOUT: the hold has ended
 * by itself, and not all were answered. */
struct hv_err *hv_guardian_exchange(struct hv_guardian *g, const struct hv_packets *packets,
				    struct hv_packets *answers) hv_must_use;
/* *RET_NS: from the machine's stop to its going on; also set with ETIMEDOUT, which says that the
 * hold had ended by itself. Other errors: the guardian or the stub is lost, continue by the
 * monitor. */
struct hv_err *hv_guardian_release(struct hv_guardian *g, uint64_t *ret_ns) hv_must_use;
