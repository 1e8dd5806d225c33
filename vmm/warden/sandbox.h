/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gives up every right that parsing what a guest wrote does not need: root's user and groups,
 * capabilities, the file system, the network, other processes, and all system calls but the few of
 * a process that computes and answers over sockets that it has. What it has open stays.
 * Leaves to others: what every sandbox refuses (vmm/rights.h), what must be opened before. */
#pragma once

#include "vmm/warden/windows.h"

/* Gives the socket to the warden a number that no other file gets after hv_sandbox_enter(). */
struct hv_err *hv_sandbox_keep(int *warden) hv_must_use;

/* Once, by the only thread of the process. Afterwards it can pass files on at the socket WARDEN
 * only, and of the VMM's memory it can read the RAM that is in WINDOWS only. Does nothing for a
 * user who is not root, who has no rights to give up. After an error the process has some of them
 * still, and must end. */
struct hv_err *hv_sandbox_enter(int warden, const struct hv_windows *windows) hv_must_use;
