/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A verb's request to start a service: the domain, and how to reach and change the guest. */
#pragma once

#include "cli/audit.h"
#include "vmm/open.h"

/* A machine that the calling process runs (`hvtrace run`). The calling process executes the
 * requests of the session's broker about the guest (vmm/broker/server.h). The service takes
 * ownership of the descriptors. */
struct service_machine {
	int socket;    /* to that process; used by the broker */
	int client_fd; /* its connection as a client of the service */
	int end_fd;    /* becomes readable when the machine has ended */
	/* Waits in the unprivileged process until GUEST can be traced. The callback shows a line to
	 * the user. */
	struct hv_err *(*until_up)(struct hv_guest *guest, const struct service_machine *machine,
				   void (*say)(void *ctx, const char *line), void *ctx);
	unsigned from_boot; /* for until_up: the machine is stopped at its kernel's entry */
};

struct service_config {
	const char *spec;
	const char *libvirt_uri; /* may be NULL */
	enum hv_via via;
	const struct service_machine *machine; /* NULL: another VMM runs the guest */
	bool shadow; /* patch text in copies of its pages (--patch=shadow) */
	bool force;  /* attach even if the guest checks its text or coverage is low (--force) */
	const char *vmlinux_path; /* may be NULL */
	const char *btf_path;	  /* file or directory (--btf); NULL: the packaged directories */
	const char *run_dir;
	const char *conf_path; /* path of hvtrace.conf; NULL: only root may use the session */
	enum audit_target audit_target;
	uint64_t max_overhead_ppm; /* limit for the cost of tracing, of the guest's time
				      (--max-overhead); 0: no limit */
	uint64_t for_ns;	   /* the session ends after this time (--for); 0: never */
	uint64_t idle_ns;	   /* the session ends after this time without a client (--idle) */
};
