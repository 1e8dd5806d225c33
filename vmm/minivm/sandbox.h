/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gives up every right that the VMM of a machine of our own does not need while it runs: what the
 * guest's devices, or a session that was taken over by the guest, make this process do then cannot
 * reach the host. It keeps what it has open: KVM's files, the machine's memory, the terminal, the
 * sockets to its session, the file of the trace.
 * Leaves to others: what every sandbox refuses (vmm/rights.h), what must be opened before. */
#pragma once

#include "base/err.h"

/* Once, by the only thread of the process, before the guest runs; threads that are made later have
 * no rights either. WARDEN: the socket at which files can be passed on. Does nothing for a user who
 * is not root. After an error the process has some of its rights still, and must not run the guest.
 */
struct hv_err *hv_minivm_sandbox_enter(int warden) hv_must_use;
