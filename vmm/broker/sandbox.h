/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drops every privilege that is not needed to parse guest data: root's user and groups,
 * capabilities, the file system, the network, other processes, and all system calls except the few
 * that a process needs to compute and to answer over existing sockets. Open files stay open.
 * vmm/rights.h lists the system calls that all sandboxes allow; the caller opens files before. */
#pragma once

#include "vmm/broker/client.h"

/* Moves the socket to the broker to a number that no other file gets after hv_sandbox_enter(). */
struct hv_err *hv_sandbox_keep(int *broker) hv_must_use;

/* Call this once, in a single-threaded process. Afterwards the process can pass files only on the
 * socket BROKER, and read only the RAM in READABLE from the VMM's memory. Does nothing unless the
 * user is root. After an error the process keeps some privileges and must end. */
struct hv_err *hv_sandbox_enter(int broker, const struct hv_readable_ram *readable) hv_must_use;
