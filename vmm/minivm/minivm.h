/* A machine of our own: a small VMM on the KVM API in this process, made for tracing what runs in
 * it. One kernel, one initrd, a serial console; no disk, no network. It ends when its kernel powers
 * off or resets.
 *
 * For the rest of hvtrace it is a guest like any other (hv_minivm_guest); what no other guest
 * offers is to stand at an instruction: exits are ours here. Threads: one vCPU each, one for the
 * console, all made here; the functions are for any thread. */
#pragma once

#include "vmm/guest.h"

struct hv_minivm;

struct hv_minivm_config {
	const char *name; /* also its id: safe as a file name */
	const char *kernel_path;
	const char *initrd_path; /* NULL: none */
	const char *append;	 /* the kernel's command line */
	uint64_t memory_bytes;
	unsigned nr_vcpus;
	int console_in_fd; /* borrowed; -1: none */
	int console_out_fd;
};

/* Loads everything; nothing runs yet. Errors name the file or the option. */
struct hv_err *hv_minivm_new(const struct hv_minivm_config *config,
			     struct hv_minivm **ret) hv_must_use;
/* Ends it if it runs. What the guest has printed is written first. */
void hv_minivm_free(struct hv_minivm *o);

/* Once: its vCPUs begin, or stand where they begin if it is made to stand first. */
struct hv_err *hv_minivm_start(struct hv_minivm *o) hv_must_use;
/* As if it had been switched off. */
void hv_minivm_stop(struct hv_minivm *o);

/* Becomes readable when it has ended. */
int hv_minivm_end_fd(const struct hv_minivm *o);
/* After its end: NULL, or what is wrong with it. The caller frees. */
struct hv_err *hv_minivm_end_error(struct hv_minivm *o) hv_must_use;

/* The machine as a guest. O outlives it. Its exit file (hv_guest_exit_fd) is not the end file: the
 * guest stays readable after the machine's end, until hv_minivm_let_go says that nobody reads any
 * more. */
struct hv_guest *hv_minivm_guest(struct hv_minivm *o);
void hv_minivm_let_go(struct hv_minivm *o);

/* Makes it run up to a point, once, at which all of it stands until hv_minivm_go. ECANCELED: it
 * ended before. TO_KERNEL: the kernel's image lies where it will stay. TO: a vCPU executes AT next.
 */
struct hv_err *hv_minivm_run_to_kernel(struct hv_minivm *o) hv_must_use;
struct hv_err *hv_minivm_run_to(struct hv_minivm *o, struct hv_gva at) hv_must_use;
void hv_minivm_go(struct hv_minivm *o);
