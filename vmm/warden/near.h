/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest, seen from a process without rights: it reads and changes the guest by asking the warden,
 * the process at the other end of a socket (far.h). It maps the region, and nothing else of the
 * VMM's. */
#pragma once

#include "vmm/guest.h"
#include "vmm/warden/windows.h"

/* SOCKET is borrowed, and nobody else may use it while a function of the guest runs. The error is
 * that of hv_guest_open() in the warden. */
struct hv_err *hv_near_guest(int socket, struct hv_guest **ret) hv_must_use;
/* The same for the warden of a machine of our own (minivm/minivm.h), whose VMM is at the other end
 * and has made the socket: a guest whose files can be given on to another near side. What the
 * host's kernel says of the VMM's vCPUs is read here, since the VMM has no rights to. NAME is its
 * name and its id. EPROTO: what the VMM says of itself cannot be. */
struct hv_err *hv_near_machine(int socket, const char *name, struct hv_guest **ret) hv_must_use;
/* Where the near side reads the RAM of G, which hv_near_guest() made. */
const struct hv_windows *hv_near_windows(const struct hv_guest *g);
