/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libvirt's domains: finds one by name, id or UUID, and its monitor. Suppresses libvirt's error
 * output. */
#pragma once

#include "vmm/guest.h"
#include "vmm/qemu/libvirt_state.h"
#include "vmm/qemu/monitor.h"

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
