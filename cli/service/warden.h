/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The warden: the process of a session that keeps root's rights and parses nothing that a guest
 * wrote. The service starts it as a helper (vmm/helper.h) and then gives up its own rights. The
 * warden opens the guest, stops it and writes into it for the service (vmm/warden/far.h), and
 * answers the service's requests to the host (doors.h). If the service dies without a detach, the
 * warden starts another unprivileged process to put patched code back.
 *
 * The warden owns the session's place in the run directory: lock, log and socket. If the directory
 * is removed, it creates it again, because clients could not reach the session otherwise. rundir.h
 * handles the files of the directory. */
#pragma once

#include "cli/service/config.h"
#include "vmm/helper.h"

struct hv_err *warden_start(const struct service_config *config, struct hv_helper *ret) hv_must_use;
