/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Access to a KVM guest by injection (docs/internals/inject.md): threads of the VMM are stopped for
 * a hold and made to execute system calls, which create the region and read registers. Guest RAM is
 * accessed as without injection. struct hv_vmm abstracts the VMM. Internal to vmm/. */
#pragma once

#include "vmm/guest.h"
#include "vmm/process/process.h"
#include "vmm/process/process_memory.h"

/* -- the VMM ----------------------------------------------------------------------------------- */

/* The VMM of a guest that is accessed by injection: the properties and functions of it that
 * injection needs. Each kind of VMM implements this (vmm/qemu/guest.c). */

#define HV_VMM_PIN_BYTES_MAX 8192

/* Functions with a name of vmm/guest.h behave like that function. All members are mandatory unless
 * their comment says otherwise. */
struct hv_vmm_ops {
	void (*free)(void *self);
	struct hv_err *(*refusal)(void *self);
	/* Fails with EBUSY if the guest is not running. */
	struct hv_err *(*is_running)(void *self);
	struct hv_err *(*count_vcpus)(void *self, unsigned *ret);
	struct hv_err *(*vcpu_threads)(void *self, pid_t *ret, size_t max, size_t *ret_nr);
	/* Without stopping the guest. Unset: the guest is held for a moment. */
	struct hv_err *(*registers)(void *self, struct hv_vcpu_regs *ret, size_t nr);

	struct hv_err *(*read)(void *self, struct hv_gpa gpa, void *buf, size_t len);
	/* Before a hold: reads the RAM layout again if some RAM can be unplugged. */
	struct hv_err *(*look_at_ram)(void *self);
	/* Notifications: the guest is held, so that its RAM cannot change; it is no longer held. */
	void (*held)(void *self);
	void (*released)(void *self);
	/* Fails with ENOTSUP if a device or process accesses the guest's RAM without the VMM's
	 * mappings. */
	struct hv_err *(*pages_are_its_own)(void *self);

	/* Whether the access path without injection would find a region. */
	bool (*has_region)(void *self);
	/* Finds guest-physical addresses below 2^PHYS_BITS for a region that nothing in the guest
	 * uses or will use. Fails with ENOSPC if no range is free. */
	struct hv_err *(*find_free_gpa)(void *self, unsigned phys_bits, uint64_t len_bytes,
					struct hv_gpa *ret);

	/* All or none; unset: nothing keeps the guest from being moved or saved.
	 * The pin (hv_guest_pin()) is a file with this image, which the VMM opens by PATH. Returns
	 * its length. */
	size_t (*pin_image)(uint8_t ret[HV_VMM_PIN_BYTES_MAX]);
	struct hv_err *(*pin_is_set)(void *self, bool *ret);
	struct hv_err *(*pin_set)(void *self, const char *path);
	struct hv_err *(*pin_clear)(void *self);
};

struct hv_vmm {
	const struct hv_vmm_ops *ops;
	void *self;
	/* Like in struct hv_guest_info; borrowed from SELF, like all pointers here. */
	const char *name;
	const char *id;
	enum hv_accel accel;
	const struct hv_arch *arch;
	unsigned nr_vcpus;
	const char *monitor; /* name of the VMM's control interface: "libvirt" */
	const struct hv_process *process;
	int pidfd;
	struct hv_process_memory *memory;
	const struct hv_ram *ram;
	bool stays_migratable; /* it was started with an option that makes it reject a region */
	bool has_own_filter;   /* the VMM installs one seccomp filter itself, which allows the calls
				  of call.h */
};

/* -- the guest --------------------------------------------------------------------------------- */

/* Changes nothing. Takes ownership of VMM's self on success only. On error this guest cannot be
 * accessed by injection, and the message gives the reason. */
struct hv_err *hv_inject_guest(const struct hv_vmm *vmm, struct hv_guest **ret) hv_must_use;
/* Marks the refusal WHY with HV_ERR_NEEDS_MONITOR and returns it. WHY may be NULL. */
struct hv_err *hv_inject_not_possible(struct hv_err *why) hv_must_use;
/* Whether the VMM has a region that hvtrace made. */
bool hv_inject_has_region(const struct hv_vmm *vmm);
