/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The broker: the process of a session that keeps root's rights and parses nothing that a guest
 * wrote. The service starts it as a helper (vmm/helper.h) and then gives up its own rights. The
 * broker opens the guest, stops it and writes into it for the service (vmm/broker/server.h), and
 * answers the service's requests to the host (host_client.h). If the service dies without a detach,
 * the broker starts another unprivileged process to put patched code back.
 *
 * The broker owns the session's files in the run directory: lock, log and socket. If the directory
 * is removed, it creates it again, because clients could not reach the session otherwise. rundir.h
 * handles the files of the directory. */
#pragma once

#include "cli/service/config.h"
#include "vmm/helper.h"

/* The broker keeps REPORT_FD, the socket to the command that attaches, open until it exits. The
 * command thus notices when both the service and the broker have ended. */
struct hv_err *broker_start(const struct service_config *config, int report_fd,
			    struct hv_helper *ret) hv_must_use;
