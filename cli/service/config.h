/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a verb asks of a service: which domain, and how to reach and change the guest. */
#pragma once

#include "cli/audit.h"
#include "vmm/open.h"

/* Of the service of a machine of our own: the process that starts the service runs the machine, and
 * is the far side of the guest (vmm/warden/far.h). The service takes the files. */
struct service_machine {
	int socket;    /* to that process; the warden's */
	int client_fd; /* a client's connection, of that process */
	int end_fd;    /* there is something, or the end, to read when the machine has ended */
	/* Waits until GUEST can be traced, in the process without rights. SAY: tells the user. */
	struct hv_err *(*until_up)(struct hv_guest *guest, const struct service_machine *machine,
				   void (*say)(void *ctx, const char *line), void *ctx);
	unsigned from_boot; /* for until_up: the machine is stopped where its kernel begins */
};

struct service_config {
	const char *spec;
	const char *libvirt_uri; /* may be NULL */
	enum hv_via via;
	const struct service_machine *machine; /* NULL: another VMM runs the guest */
	bool shadow; /* change text in copies of its pages (--patch=shadow) */
	bool force;  /* although the guest checks its text, or too little is covered (--force) */
	const char *vmlinux_path; /* may be NULL */
	const char *run_dir;
	const char *conf_path; /* of hvtrace.conf; NULL: only root may use the session */
	enum audit_sink sink;
	uint64_t max_overhead_ppm; /* of the guest's time (--max-overhead); 0: no limit */
	uint64_t for_ns;	   /* the session ends after this time (--for); 0: it does not */
	uint64_t idle_ns;	   /* it ends when no client was connected for so long (--idle) */
};
