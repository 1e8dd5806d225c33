/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens a guest by the name that the user gave, and chooses the access path. */
#pragma once

#include "vmm/guest.h"

enum hv_via {
	HV_VIA_AUTO, /* injection under KVM, the monitor under TCG */
	HV_VIA_INJECT,
	HV_VIA_MONITOR,
	HV_VIA_LEFT, /* injection if the VMM has a region that hvtrace made, else the monitor */
};

/* SPEC is a libvirt domain's name, id or UUID, "qmp:PATH", "pid:N" or "vmm:ID" (processes.h). LIBVIRT_URI may be NULL
 * (libvirt's default, which is qemu:///system for root). Opening only reads; the guest is not
 * stopped. Errors are marked HV_ERR_NAMES_DOMAIN. */
struct hv_err *hv_guest_open(const char *spec, const char *libvirt_uri, enum hv_via via,
			     struct hv_guest **ret) hv_must_use;
