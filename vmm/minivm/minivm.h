/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An hvtrace machine, the VMM of `hvtrace run`: a small VMM in this process that uses the KVM API,
 * in order to trace the kernel that it boots. It has a kernel, an initrd and a serial console, no
 * disk and no network. It ends when its kernel powers off or resets.
 *
 * The rest of hvtrace uses it like any guest (hv_minivm_guest). Only this kind of guest can be
 * stopped at an instruction, because here hvtrace handles the exits. Threads: one for each vCPU and
 * one for the console, all created here. Any thread may call the functions. */
#pragma once

#include "base/err.h"
#include "vmm/guest.h"

struct hv_minivm;

struct hv_minivm_config {
	const char *name; /* also its id; can be a file name */
	const char *kernel_path;
	const char *initrd_path; /* NULL: none */
	const char *append;	 /* the kernel's command line */
	uint64_t memory_bytes;
	unsigned nr_vcpus;
	bool shadow;	   /* patch text in copies of its pages (hv_guest_want_shadow) */
	int console_in_fd; /* borrowed; -1: none */
	int console_out_fd;
};

/* Creates the machine and loads its files; does not start it. Errors name the file or the
 * option. */
struct hv_err *hv_minivm_new(const struct hv_minivm_config *config,
			     struct hv_minivm **ret) hv_must_use;
/* Ends the machine if it runs. Flushes the guest's output first. */
void hv_minivm_free(struct hv_minivm *o);

/* Starts the vCPUs; call this once. If a stop is requested, they stop before their first
 * instruction. */
struct hv_err *hv_minivm_start(struct hv_minivm *o) hv_must_use;
/* Ends the machine like a power-off. */
void hv_minivm_stop(struct hv_minivm *o);

/* Returns a file that becomes readable when the machine has ended. */
int hv_minivm_end_fd(const struct hv_minivm *o);
/* After its end: returns the reason, or NULL if it was powered off. The caller frees it. */
struct hv_err *hv_minivm_end_error(struct hv_minivm *o) hv_must_use;

/* Whether a session has patched the guest (hv_guest_pin). */
bool hv_minivm_is_patched(struct hv_minivm *o);

/* Returns the machine as a guest, which must be freed before O. Its exit file (hv_guest_exit_fd) is
 * not the end file: the guest can be read after the machine's end, until hv_minivm_let_go() makes
 * the exit file readable. */
struct hv_guest *hv_minivm_guest(struct hv_minivm *o);
void hv_minivm_let_go(struct hv_minivm *o);

/* Run the machine to a point where all vCPUs are stopped until hv_minivm_go:
 * hv_minivm_run_to_kernel() until the kernel's image is mapped at its final address,
 * hv_minivm_run_to() until a vCPU is about to execute AT. Fail with ECANCELED if the machine ended
 * before. hv_minivm_run_to() fails with EBUSY unless the machine is at such a point. */
struct hv_err *hv_minivm_run_to_kernel(struct hv_minivm *o) hv_must_use;
struct hv_err *hv_minivm_run_to(struct hv_minivm *o, struct hv_gva at) hv_must_use;
void hv_minivm_go(struct hv_minivm *o);

/* -- the sandbox ------------------------------------------------------------------------------- */

/* Drops every privilege that the VMM of an hvtrace machine does not need while it runs. If the
 * guest attacks this process through its devices, or through a session that it has taken over, the
 * process cannot reach the host. Open files stay open: KVM's files, the machine's memory, the
 * terminal, the sockets to its session, the trace file. vmm/rights.h lists the system calls that
 * all sandboxes allow; the caller opens files before. */

/* Call this once, in a single-threaded process, before the guest runs; later threads are
 * unprivileged, too. BROKER is the only socket on which file descriptors can be received. It and
 * CLIENT, the connection to the service, are the only ones on which they can be sent. Does nothing
 * unless the user is root. After an error the process keeps some privileges and must not run the
 * guest. */
struct hv_err *hv_minivm_sandbox_enter(int broker, int client) hv_must_use;
