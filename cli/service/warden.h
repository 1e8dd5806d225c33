/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The warden: the process of a session that has root's rights, and parses nothing that a guest
 * wrote. It is a helper of the service (vmm/helper.h), which starts it first and then gives its own
 * rights up. It opens the guest, stops it and writes into it as the service asks (vmm/warden/far.h)
 * and opens the doors to the host (doors.h). When the service dies without a word, it has another
 * process without rights put back what is patched.
 * It has the session's place in the run directory: lock, log and socket. If the directory is
 * removed, it makes it again; otherwise no client could reach the session. Leaves to others:
 * everything that needs no rights, the files of the directory (rundir.h). */
#pragma once

#include "cli/service/config.h"
#include "vmm/helper.h"

struct hv_err *warden_start(const struct service_config *config, struct hv_helper *ret) hv_must_use;
