/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Properties of a running domain that libvirt's daemon knows but its API does not return: the
 * process that it started, and the domain's private directory. The daemon stores both in a status
 * file (src/qemu/qemu_domain.c qemuDomainObjPrivateXMLFormat), which no VMM can write. The
 * monitor's answers come from the VMM, so they must not be used for a process id. process.h checks
 * that the process still exists. */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct hv_libvirt_state {
	pid_t pid;
	char *private_dir; /* owned; the VMM's user can create sockets there */
};

/* Returns the directory of the status files for the daemon of the connection URI. The caller frees
 * it. NULL if unknown for this kind of connection. */
char *hv_libvirt_state_dir(const char *uri);

/* Reads the status of the domain NAME with UUID. Fails with ESRCH if DIR has no such domain, EPERM
 * if users other than root and this user could have written it, or EPROTO if it has an unknown
 * format. */
struct hv_err *hv_libvirt_state_read(const char *dir, const char *name, const char *uuid,
				     struct hv_libvirt_state *ret) hv_must_use;
void hv_libvirt_state_deinit(struct hv_libvirt_state *s);
#define HV_AUTO_LIBVIRT_STATE hv_cleanup(hv_libvirt_state_deinit)
