/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A machine of our own: a small VMM in this process that uses the KVM API, made to trace the kernel
 * that it boots. It has a kernel, an initrd and a serial console, no disk and no network. It ends
 * when its kernel powers off or resets.
 *
 * For the rest of hvtrace it is a guest like any other (hv_minivm_guest). No other guest can be
 * stopped at an instruction, since only here hvtrace handles the exits. Threads: one for each vCPU
 * and one for the console, all made here. The functions may be called by any thread. */
#pragma once

#include "vmm/guest.h"

struct hv_minivm;

struct hv_minivm_config {
	const char *name; /* also its id; can be a file name */
	const char *kernel_path;
	const char *initrd_path; /* NULL: none */
	const char *append;	 /* the kernel's command line */
	uint64_t memory_bytes;
	unsigned nr_vcpus;
	bool shadow;	   /* text is patched in copies of its pages (hv_guest_want_shadow) */
	int console_in_fd; /* borrowed; -1: none */
	int console_out_fd;
};

/* Makes the machine and loads its files; nothing runs yet. Errors name the file or the option. */
struct hv_err *hv_minivm_new(const struct hv_minivm_config *config,
			     struct hv_minivm **ret) hv_must_use;
/* Ends the machine if it runs. What the guest has printed is written first. */
void hv_minivm_free(struct hv_minivm *o);

/* Starts the vCPUs; to be called once. If they are to be stopped, they stop before their first
 * instruction. */
struct hv_err *hv_minivm_start(struct hv_minivm *o) hv_must_use;
/* Ends the machine as if it had been switched off. */
void hv_minivm_stop(struct hv_minivm *o);

/* A file that becomes readable when the machine has ended. */
int hv_minivm_end_fd(const struct hv_minivm *o);
/* After its end: why it ended, or NULL if it was switched off. The caller frees it. */
struct hv_err *hv_minivm_end_error(struct hv_minivm *o) hv_must_use;

/* Whether something of a session's is in the guest (hv_guest_pin). */
bool hv_minivm_is_patched(struct hv_minivm *o);

/* The machine as a guest, which must be freed before O. Its exit file (hv_guest_exit_fd) is not the
 * end file: the guest can be read after the machine's end, until hv_minivm_let_go says that nobody
 * reads any more. */
struct hv_guest *hv_minivm_guest(struct hv_minivm *o);
void hv_minivm_let_go(struct hv_minivm *o);

/* Runs the machine up to a point, at which all vCPUs are stopped until hv_minivm_go: for to_kernel,
 * when the kernel's image is mapped where it will stay; for to, when a vCPU executes AT next.
 * ECANCELED: the machine ended before.
 */
struct hv_err *hv_minivm_run_to_kernel(struct hv_minivm *o) hv_must_use;
struct hv_err *hv_minivm_run_to(struct hv_minivm *o, struct hv_gva at) hv_must_use;
void hv_minivm_go(struct hv_minivm *o);
