/* A machine from outside: its physical memory, its vCPUs, a way to stop it for a moment, and a
 * region of memory its OS does not know about. Whatever the VMM, this is all the rest of hvtrace
 * sees of it.
 *
 * Writes: guest text is written through hv_hold_write_text only (a hold is needed, and under TCG
 * the gdb stub must carry the bytes so that translated code is dropped); data and page tables
 * through hv_guest_write.
 * Threads: one. Leaves to others: what runs in the machine (kernel/), what to change (patcher/). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/arch.h"
#include "base/addr.h"
#include "base/err.h"

enum hv_accel { HV_ACCEL_TCG, HV_ACCEL_KVM };

enum hv_via {
	HV_VIA_AUTO, /* injection under KVM, the monitor under TCG */
	HV_VIA_INJECT,
	HV_VIA_MONITOR,
	HV_VIA_LEFT, /* injection if the VMM has a region that an hvtrace made, else the monitor */
};

struct hv_guest_info {
	const char *name; /* as in messages: the domain's name, or "qmp:PATH", "pid:N" */
	const char *id;	  /* a file name, unique on this host: the libvirt UUID, else "pid-N" */
	pid_t pid;	  /* of the VMM */
	enum hv_accel accel;
	unsigned nr_vcpus; /* when they were last counted (hv_guest_count_vcpus) */
	const struct hv_arch *arch;
	uint64_t ram_bytes;
	uint64_t region_to_make_bytes; /* hv_guest_region makes it in the VMM; 0: it is there */
	const char *transport; /* one phrase: "monitor (libvirt), RAM mapped, ivshmem 64 MiB" */
	bool injected;
	bool has_ivshmem; /* reached by injection, and the monitor would find a region too */
};

/* Memory shared with the guest: at GPA for the guest, at HOST for us, the same bytes. */
struct hv_region {
	struct hv_gpa gpa;
	uint8_t *host; /* mapped shared, read-write, for as long as the guest is open */
	uint64_t len_bytes;
};

struct hv_guest;

/* SPEC: libvirt domain by name, id or UUID; "qmp:PATH"; "pid:N". LIBVIRT_URI may be NULL (libvirt's
 * default, which is qemu:///system for root). Reads only; the guest is not stopped. Errors have
 * HV_ERR_NAMES_DOMAIN. */
struct hv_err *hv_guest_open(const char *spec, const char *libvirt_uri, enum hv_via via,
			     struct hv_guest **ret) hv_must_use;
void hv_guest_free(struct hv_guest *g);

static inline void hv_guest_free_at(struct hv_guest **g)
{
	hv_guest_free(*g);
}
#define HV_AUTO_GUEST hv_cleanup(hv_guest_free_at)

const struct hv_guest_info *hv_guest_info(const struct hv_guest *g);

/* EFAULT when part of [GPA, GPA + LEN) is not RAM or not readable; nothing is promised about BUF
 * then. */
struct hv_err *hv_guest_read(struct hv_guest *g, struct hv_gpa gpa, void *buf,
			     size_t len_bytes) hv_must_use;
/* Data and page tables only. */
struct hv_err *hv_guest_write(struct hv_guest *g, struct hv_gpa gpa, const void *buf,
			      size_t len_bytes) hv_must_use;

/* vCPUs are plugged and unplugged. Counts them, for info.nr_vcpus; hv_hold_begin does by itself. */
struct hv_err *hv_guest_count_vcpus(struct hv_guest *g) hv_must_use;

/* vCPU registers without stopping the guest: page-table root and trap table are good, ip and sp of
 * a running vCPU are of some moment. RET: room for info.nr_vcpus. EAGAIN: there are others by now
 * than were counted. */
struct hv_err *hv_guest_registers(struct hv_guest *g, struct hv_vcpu_regs *ret) hv_must_use;

/* The memory shared with the guest, mapped. By the monitor it is the ivshmem device's: ENODEV with
 * the exact XML to add when the machine has none; other errors say what is wrong with it (switched
 * off by the guest, too small, not shared). By injection the VMM is made to make it, once in its
 * life. */
struct hv_err *hv_guest_region(struct hv_guest *g, struct hv_region *ret) hv_must_use;

/* From now on the machine is not migrated, saved or snapshot: what is in the guest needs memory
 * that would not go with it. Holds when we die; done before the first write, and taken back when
 * nothing stands in the guest any more. EIO: a migration is under way, or the VMM cannot. Doing it
 * twice is doing it once. */
struct hv_err *hv_guest_pin(struct hv_guest *g) hv_must_use;
struct hv_err *hv_guest_unpin(struct hv_guest *g) hv_must_use;

/* From now on text is changed in copies of its pages, which are put in place of them, where the
 * guest's RAM allows that (docs/inject.md), and elsewhere in place. ENOTSUP: the RAM allows it
 * nowhere. */
struct hv_err *hv_guest_want_shadow(struct hv_guest *g) hv_must_use;

/* What forbids tracing this machine at all, now: powered off, paused, a migration under way, a
 * confidential guest, a debugger on the gdb stub. NULL: nothing. */
struct hv_err *hv_guest_refusal(struct hv_guest *g) hv_must_use;

/* A machine that stands because hvtrace and its guardian were killed together in a hold runs on: it
 * is paused, and hvtrace's gdb stub is there with nobody on it. Any other is left as it is. */
struct hv_err *hv_guest_let_run(struct hv_guest *g, bool *ret_stood) hv_must_use;

/* How a vCPU's time stamp counter follows the host's: (host * ratio >> frac_bits) + offset, modulo
 * 2^64. It changes when the guest or its VMM writes it. */
struct hv_tsc {
	uint64_t ratio;
	unsigned frac_bits; /* at most 63 */
	uint64_t offset;
};
/* ENOTSUP, ENOENT: nothing tells it (not under KVM, no debugfs on this host). */
struct hv_err *hv_guest_tsc(struct hv_guest *g, unsigned vcpu, struct hv_tsc *ret) hv_must_use;

/* It sleeps (S3), and what it wakes up to has not the region any more: all changes must be taken
 * back before. Holds are possible, and it sleeps on. */
struct hv_err *hv_guest_sleeps(struct hv_guest *g, bool *ret) hv_must_use;

/* Becomes readable when the VMM process has ended (a pidfd); owned by the guest. */
int hv_guest_exit_fd(const struct hv_guest *g);

/* Makes all of it stand, once, when a vCPU is about to execute AT, until hv_guest_end_stop; in a
 * machine whose exits are ours only (ENOTSUP). EBUSY: it is to stop elsewhere already. The bytes at
 * AT are others meanwhile. */
struct hv_err *hv_guest_stop_at(struct hv_guest *g, struct hv_gva at) hv_must_use;
/* Readable from when it has come there; -1: no such machine. Owned by the guest. */
int hv_guest_stop_fd(const struct hv_guest *g);
/* Whether it stands there; the bytes at AT are its own again then. */
struct hv_err *hv_guest_stands_at_stop(struct hv_guest *g, bool *ret) hv_must_use;
/* It goes on, or is not to stop any more. */
void hv_guest_end_stop(struct hv_guest *g);

/* A hold: every vCPU is stopped from begin to end. It ends by itself, with the guest running, when
 * this process dies or MAX_NS is over (helper.h). Planning is done before: a hold is for writes. */
struct hv_hold;

/* Starts what a hold needs (gdb stub, guardian) and leaves the guest running. Called once before
 * the first hold; EBUSY when a debugger is on the stub. */
struct hv_err *hv_guest_prepare_hold(struct hv_guest *g) hv_must_use;
/* Text at GPAS (ascending) is written in the next hold: what can be made ready before is. */
struct hv_err *hv_guest_prepare_text(struct hv_guest *g, const struct hv_gpa *gpas,
				     size_t nr) hv_must_use;
struct hv_err *hv_hold_begin(struct hv_guest *g, uint64_t max_ns, struct hv_hold **ret) hv_must_use;

/* Registers of every stopped vCPU, exact. RET: room for info.nr_vcpus, which the hold's beginning
 * has counted: it is never fewer than there are. trap_table is 0. */
struct hv_err *hv_hold_registers(struct hv_hold *h, struct hv_vcpu_regs *ret) hv_must_use;

struct hv_text_write {
	struct hv_gpa gpa;
	uint32_t len_bytes; /* at most HV_SITE_LEN_MAX */
	uint8_t bytes[HV_SITE_LEN_MAX];
};
/* Writes guest text so that every vCPU executes the new bytes once it runs again. Writes many at
 * once: order them by address. ETIMEDOUT when the hold ended meanwhile: some may be written. */
struct hv_err *hv_hold_write_text(struct hv_hold *h, const struct hv_text_write *writes,
				  size_t nr) hv_must_use;
/* Drops every vCPU's cached translations, global ones included. [OFF, OFF + LEN) of the region are
 * pages that the guest has reached if it has reached any of it (under KVM their memory is taken
 * away for a moment and given back with its contents); a small part, since the guest stands. */
struct hv_err *hv_hold_flush_translations(struct hv_hold *h, uint64_t off,
					  uint64_t len_bytes) hv_must_use;

uint64_t hv_hold_age_ns(const struct hv_hold *h);

/* ETIMEDOUT when the hold is so old that it may end by itself while something is written: ask right
 * before writing. */
struct hv_err *hv_hold_check(const struct hv_hold *h) hv_must_use;

/* Lets the guest run. *RET_NS (may be NULL) is how long it stood. ETIMEDOUT: the hold had already
 * ended by itself; what was written under it after that moment raced with the guest. H is gone. */
struct hv_err *hv_hold_end(struct hv_hold *h, uint64_t *ret_ns) hv_must_use;

/* One domain of `hvtrace list`. */
struct hv_domain {
	char *name;
	char *uuid;
	int id;	      /* -1 when off */
	char *state;  /* "running", "paused", "shut off" */
	char *reason; /* why it cannot be traced; NULL when it can, as far as one sees without a
			 look into its memory */
	bool lacks_device; /* and the error of hv_guest_region() says what to add */
};
struct hv_err *hv_domain_list(const char *libvirt_uri, struct hv_domain **ret,
			      size_t *ret_nr) hv_must_use;
void hv_domain_list_free(struct hv_domain *domains, size_t nr);

/* How a guest is reached, for implementations and for tests over memory of their own. Every member
 * as the function of its name; unset ones are refused with ENOTSUP. */
struct hv_guest_ops {
	void (*free)(void *self);
	struct hv_err *(*read)(void *self, struct hv_gpa gpa, void *buf, size_t len);
	struct hv_err *(*write)(void *self, struct hv_gpa gpa, const void *buf, size_t len);
	struct hv_err *(*count_vcpus)(void *self, unsigned *ret); /* unset: they stay as they are */
	struct hv_err *(*registers)(void *self, struct hv_vcpu_regs *ret);
	struct hv_err *(*region)(void *self, struct hv_region *ret);
	struct hv_err *(*pin)(void *self); /* unset, with unpin: the machine is kept by itself */
	struct hv_err *(*unpin)(void *self);
	struct hv_err *(*refusal)(void *self);
	struct hv_err *(*let_run)(void *self, bool *ret_stood);
	struct hv_err *(*tsc)(void *self, unsigned vcpu, struct hv_tsc *ret);
	struct hv_err *(*sleeps)(void *self, bool *ret); /* unset: its region outlives that */
	int (*exit_fd)(void *self);
	struct hv_err *(*stop_at)(void *self, struct hv_gva at);
	int (*stop_fd)(void *self);
	struct hv_err *(*stands_at_stop)(void *self, bool *ret);
	void (*end_stop)(void *self);
	struct hv_err *(*want_shadow)(void *self);
	struct hv_err *(*prepare_hold)(void *self);
	struct hv_err *(*prepare_text)(void *self, const struct hv_gpa *gpas,
				       size_t nr); /* unset: nothing to make ready */
	struct hv_err *(*hold_begin)(void *self, uint64_t max_ns);
	struct hv_err *(*hold_registers)(void *self, struct hv_vcpu_regs *ret);
	struct hv_err *(*hold_write_text)(void *self, const struct hv_text_write *writes,
					  size_t nr);
	struct hv_err *(*hold_flush_translations)(void *self, uint64_t off, uint64_t len_bytes);
	struct hv_err *(*hold_end)(void *self);
	uint64_t (*held_ns)(
		void *self); /* how long the last hold stood; unset: the caller's measure */
};
/* INFO is copied, strings included. SELF is freed by ops->free. */
struct hv_guest *hv_guest_new(const struct hv_guest_ops *ops, void *self,
			      const struct hv_guest_info *info);
