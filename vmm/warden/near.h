/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest as an unprivileged process sees it: it reads and changes the guest through requests to
 * the warden, the process at the other end of a socket (far.h). It maps only the region and
 * readable RAM (windows.h). */
#pragma once

#include "vmm/guest.h"
#include "vmm/warden/windows.h"

/* SOCKET is borrowed and must not be used elsewhere while a function of the guest runs. Errors are
 * those of hv_guest_open() in the warden. */
struct hv_err *hv_near_guest(int socket, struct hv_guest **ret) hv_must_use;
/* Like hv_near_guest(), for the warden of an hvtrace machine (minivm/minivm.h): the peer on SOCKET
 * is the VMM, which created the socket. The warden passes the guest's RAM files on to the service.
 * It reads the counters of the VMM's vCPUs from the host's kernel itself, because the VMM has no
 * rights to. NAME is the guest's name and its id. Fails with EPROTO or E2BIG if the VMM describes
 * an impossible guest. */
struct hv_err *hv_near_machine(int socket, const char *name, struct hv_guest **ret) hv_must_use;
/* Returns the windows through which the near side reads the RAM of G, which hv_near_guest()
 * created. */
const struct hv_windows *hv_near_windows(const struct hv_guest *g);
