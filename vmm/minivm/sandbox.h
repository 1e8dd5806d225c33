/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drops every privilege that the VMM of an hvtrace machine does not need while it runs. If the
 * guest attacks this process through its devices, or through a session that it has taken over, the
 * process cannot reach the host. Open files stay open: KVM's files, the machine's memory, the
 * terminal, the sockets to its session, the trace file. vmm/rights.h lists the system calls that
 * all sandboxes allow; the caller opens files before. */
#pragma once

#include "base/err.h"

/* Call this once, in a single-threaded process, before the guest runs; later threads are
 * unprivileged, too. WARDEN is the socket on which file descriptors can be passed. Does nothing
 * unless the user is root. After an error the process keeps some privileges and must not run the
 * guest. */
struct hv_err *hv_minivm_sandbox_enter(int warden) hv_must_use;
