/* What a machine of our own is made of, for the files that implement minivm.h only. */
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
	bool is_pending; /* what the last exit asked for is not yet taken by KVM */
};

enum hv_minivm_watch {
	HV_MINIVM_WATCH_NOTHING,
	HV_MINIVM_WATCH_BASE,  /* the per-CPU base is set in the image window */
	HV_MINIVM_WATCH_BREAK, /* a vCPU reaches a breakpoint */
};

/* Pages of RAM of which a copy is mapped in their place, with the text that we changed. */
struct hv_minivm_shadow {
	int fd;		/* of the copies, with RAM's offsets; -1: text is changed in place */
	uint8_t *pages; /* a byte a page of RAM: enum in shadow.c */
};

struct hv_minivm {
	char *name;
	int kvm_fd;
	int vm_fd;
	int end_fd;
	int gone_fd;
	int stop_fd; /* a counter: 1 from when what hv_minivm_stop_at waits for has happened */
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
	/* under the lock */
	unsigned nr_stands; /* reasons to stand */
	unsigned nr_parked; /* vCPUs that stand or have ended */
	bool is_started;
	bool is_ended;
	struct hv_err *error; /* what it ended of; NULL: as it should */
	bool is_held;
	uint64_t hold_until_ns;
	enum hv_minivm_watch watch;
	struct hv_minivm_vcpu *reached_by; /* NULL: what is watched for has not happened */
	struct hv_minivm_break at;	   /* with HV_MINIVM_WATCH_BREAK */
	bool has_stop;			   /* AT is of hv_minivm_stop_at */
	bool stands_at_stop;
	uint16_t pm_enable;
};

/* vcpu.c. A thread's whole life; ARG is its vCPU. */
void *hv_minivm_vcpu_main(void *arg);
/* Takes ERR, which may be NULL. The first end counts. */
void hv_minivm_end(struct hv_minivm *o, struct hv_err *err);
/* One reason more, or less, to stand. ETIMEDOUT: a vCPU did not come out of the guest. */
struct hv_err *hv_minivm_stand(struct hv_minivm *o) hv_must_use;
void hv_minivm_unstand(struct hv_minivm *o);

/* Under the lock: all look whether they may go on. */
void hv_minivm_kick_all(struct hv_minivm *o);

/* stop.c. V has left the guest because of the port of breakpoints; false: the guest means that
 * port. */
bool hv_minivm_at_break(struct hv_minivm_vcpu *v);
/* V has set its base in the kernel's image. */
void hv_minivm_at_base(struct hv_minivm_vcpu *v);
/* For the guest's operations of the same names. */
struct hv_err *hv_minivm_stop_at(struct hv_minivm *o, struct hv_gva at) hv_must_use;
struct hv_err *hv_minivm_stands_at_stop(struct hv_minivm *o, bool *ret) hv_must_use;
/* Goes on, or is not to stop any more. */
void hv_minivm_end_stop(struct hv_minivm *o);

/* shadow.c. From now on text is changed in copies of its pages. */
struct hv_err *hv_minivm_shadow_want(struct hv_minivm *o) hv_must_use;
/* Text at GPA will be written. */
void hv_minivm_shadow_prepare(struct hv_minivm *o, struct hv_gpa gpa);
/* All stand. The page at OFF of RAM is a copy from now on, if that was prepared. */
struct hv_err *hv_minivm_shadow_page(struct hv_minivm *o, uint64_t off) hv_must_use;
/* The pages of RAM come back, with what the guest changed in the copies. */
struct hv_err *hv_minivm_shadow_put_back(struct hv_minivm *o) hv_must_use;
void hv_minivm_shadow_deinit(struct hv_minivm *o);

/* port.c. What a device answers; *RET_ENDS: the guest switched the machine off or reset it. */
void hv_minivm_port(struct hv_minivm *o, unsigned port, unsigned len_bytes, uint8_t *data,
		    bool is_write, bool *ret_ends);
