/* What a verb asks of a service: whom it is for, and how it reaches and changes the guest. */
#pragma once

#include "cli/audit.h"
#include "vmm/guest.h"

struct service_config {
	const char *spec;
	const char *libvirt_uri; /* may be NULL */
	enum hv_via via;
	bool shadow;		  /* text is changed in copies of its pages */
	const char *vmlinux_path; /* may be NULL */
	const char *run_dir;
	enum audit_sink sink;
};
