/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What libvirt's daemon knows of a running domain and its API does not tell: the process that it
 * started, and the domain's private directory. The daemon keeps both in a status file of its own
 * (src/qemu/qemu_domain.c qemuDomainObjPrivateXMLFormat), where no VMM can write. The monitor's
 * answers come from the VMM, so a process id must not be taken from them.
 * Leaves to others: whether that process still is the one (process.h). */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct hv_libvirt_state {
	pid_t pid;
	char *private_dir; /* owned; in which the VMM's user can make sockets */
};

/* Where the daemon of the connection URI keeps its status files. The caller frees it. NULL: not
 * known for this kind of connection. */
char *hv_libvirt_state_dir(const char *uri);

/* Reads the status of the domain NAME, which has UUID. ESRCH: DIR has no such domain. EPERM: others
 * than root and this user could have written it. EPROTO: it is not understood. */
struct hv_err *hv_libvirt_state_read(const char *dir, const char *name, const char *uuid,
				     struct hv_libvirt_state *ret) hv_must_use;
void hv_libvirt_state_deinit(struct hv_libvirt_state *s);
#define HV_AUTO_LIBVIRT_STATE hv_cleanup(hv_libvirt_state_deinit)
