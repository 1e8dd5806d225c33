/* libvirt domains: found by name, id or UUID, and their monitor. libvirt prints nothing. */
#pragma once

#include "vmm/guest.h"
#include "vmm/qemu/monitor.h"

struct hv_libvirt_domain {	    /* its members are the caller's to free */
	struct hv_monitor *monitor; /* with the connection */
	char *name;
	char *uuid;
};

/* ENOENT: no such domain. ENOTCONN: no libvirt. EHOSTDOWN: it is off. */
struct hv_err *hv_libvirt_open(const char *spec, const char *uri,
			       struct hv_libvirt_domain *ret) hv_must_use;
