/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libvirt's domains: finds one by name, id or UUID, and its monitor. Suppresses libvirt's error
 * output. */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "vmm/guest.h"
#include "vmm/qemu/monitor.h"

/* -- the status file of a domain --------------------------------------------------------------- */

/* Properties of a running domain that libvirt's daemon knows but its API does not return: the
 * process that it started, and the domain's private directory. The daemon stores both in a status
 * file (src/qemu/qemu_domain.c qemuDomainObjPrivateXMLFormat), which no VMM can write. The
 * monitor's answers come from the VMM, so they must not be used for a process id. process.h checks
 * that the process still exists. */

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

/* -- domains ----------------------------------------------------------------------------------- */

struct hv_libvirt_domain {	    /* the caller frees its members */
	struct hv_monitor *monitor; /* owns the connection to libvirt */
	char *name;
	char *uuid;
	struct hv_libvirt_state state;
	int pidfd; /* pidfd of STATE's process, the domain's VMM */
};

/* Fails with ENOENT if there is no such domain, ENOTCONN without libvirt, or EHOSTDOWN if the
 * domain is shut off. */
struct hv_err *hv_libvirt_open(const char *spec, const char *uri,
			       struct hv_libvirt_domain *ret) hv_must_use;
