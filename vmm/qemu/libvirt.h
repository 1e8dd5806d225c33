/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libvirt's domains: finding one by name, id or UUID, and its monitor. libvirt is kept from
 * printing errors. */
#pragma once

#include "vmm/guest.h"
#include "vmm/qemu/libvirt_state.h"
#include "vmm/qemu/monitor.h"

struct hv_libvirt_domain {	    /* the caller frees its members */
	struct hv_monitor *monitor; /* owns the connection to libvirt */
	char *name;
	char *uuid;
	struct hv_libvirt_state state;
	int pidfd; /* of the process that STATE names, which is the domain's */
};

/* ENOENT: no such domain. ENOTCONN: no libvirt. EHOSTDOWN: the domain is shut off. */
struct hv_err *hv_libvirt_open(const char *spec, const char *uri,
			       struct hv_libvirt_domain *ret) hv_must_use;
