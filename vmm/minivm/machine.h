/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of an hvtrace machine, for the files that implement minivm.h. */
#pragma once

#include <pthread.h>

#include "vmm/minivm/minivm.h"
#include "vmm/minivm/cpu.h"
#include "vmm/minivm/memory.h"
#include "vmm/minivm/serial.h"

struct kvm_run;

#define HV_MINIVM_SERIAL_PORT 0x3f8u
#define HV_MINIVM_SERIAL_IRQ  4

struct hv_minivm_vcpu {
	struct hv_minivm *vm;
	unsigned id;
	int fd;
	struct kvm_run *run; /* owned mapping */
	pthread_t thread;
	bool has_thread;
	bool is_pending; /* the next KVM_RUN completes the operation of the last exit */
};

enum hv_minivm_watch {
	HV_MINIVM_WATCH_NOTHING,
	HV_MINIVM_WATCH_BASE,  /* a vCPU sets the per-CPU base in the range of kernel images */
	HV_MINIVM_WATCH_BREAK, /* a vCPU reaches a breakpoint */
};

/* Pages of RAM that are replaced by copies with patched text. */
struct hv_minivm_shadow {
	int fd; /* file of the copies, with the RAM's offsets; -1: text is patched in place */
	int memory_fd;	/* /proc/self/mem, read-only: unlike the RAM's file, it shows the mapped
			   copies */
	uint8_t *pages; /* a byte for each page of RAM: enum in shadow.c */
};

struct hv_minivm {
	char *name;
	int kvm_fd;
	int vm_fd;
	int end_fd;
	int gone[2]; /* a pipe: hv_minivm_let_go() closes one end, which makes the other end, the
			exit file, readable */
	/* Two sockets: the second one is readable while the machine is stopped by
	 * hv_minivm_stop_at(). Other processes have it and may misuse it, so this process never
	 * blocks on it. */
	int stop_fds[2];
	struct hv_minivm_memory memory;
	struct hv_minivm_shadow shadow;
	struct hv_region region;
	int region_fd;
	struct hv_gpa entry;
	struct hv_minivm_serial *serial;
	struct hv_minivm_vcpu *vcpus;
	unsigned nr_vcpus;
	size_t run_len_bytes;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* protected by `lock`: */
	unsigned nr_stops;  /* number of reasons to stop the vCPUs */
	unsigned nr_parked; /* vCPUs that are stopped or have ended */
	bool is_started;
	bool is_at_start; /* stopped by hv_minivm_run_to_kernel or hv_minivm_run_to */
	bool is_ended;
	bool is_patched;      /* by a session (hv_guest_pin) */
	struct hv_err *error; /* why it ended; NULL: powered off */
	bool is_held;
	uint64_t hold_until_ns;
	enum hv_minivm_watch watch;
	struct hv_minivm_vcpu *reached_by; /* NULL: the watched event has not happened */
	struct hv_minivm_break at;	   /* with HV_MINIVM_WATCH_BREAK */
	bool has_stop;			   /* AT belongs to hv_minivm_stop_at */
	bool is_at_stop;
	uint16_t pm_enable;
};

/* vcpu.c. The main function of a vCPU's thread; ARG is the vCPU. */
void *hv_minivm_vcpu_main(void *arg);
/* Ends the machine, because of ERR if it is not NULL. Takes ERR. Only the first call has an
 * effect. */
void hv_minivm_end(struct hv_minivm *o, struct hv_err *err);
/* hv_minivm_stop_vcpus() adds a reason to stop the vCPUs and waits until they stop;
 * hv_minivm_resume_vcpus() removes one. Fails with ETIMEDOUT if a vCPU did not leave the guest;
 * then no reason was added. */
struct hv_err *hv_minivm_stop_vcpus(struct hv_minivm *o) hv_must_use;
void hv_minivm_resume_vcpus(struct hv_minivm *o);

/* minivm.c. The guest operations with these names. */
struct hv_err *hv_minivm_stop_at(struct hv_minivm *o, struct hv_gva at) hv_must_use;
struct hv_err *hv_minivm_is_at_stop(struct hv_minivm *o, bool *ret) hv_must_use;
/* Resumes the machine, or cancels the stop. */
void hv_minivm_end_stop(struct hv_minivm *o);

/* shadow.c. Makes later text patches use copies of the pages. */
struct hv_err *hv_minivm_shadow_want(struct hv_minivm *o) hv_must_use;
/* Announces that text at GPA will be written. */
void hv_minivm_shadow_prepare(struct hv_minivm *o, struct hv_gpa gpa);
/* Replaces the page at OFF of RAM by its copy, if that was prepared. All vCPUs must be stopped. */
struct hv_err *hv_minivm_shadow_page(struct hv_minivm *o, uint64_t off) hv_must_use;
/* Maps the pages of RAM again, including the guest's changes in the copies. */
struct hv_err *hv_minivm_shadow_put_back(struct hv_minivm *o) hv_must_use;
void hv_minivm_shadow_deinit(struct hv_minivm *o);
