/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest, seen from the host: its physical memory, its vCPUs, a way to hold it, and a region of
 * memory that its kernel does not know about. The rest of hvtrace sees nothing else of a guest,
 * whatever VMM runs it.
 *
 * A guest's memory is written under a hold only (hv_hold_write). A hold ends by itself, so this
 * process does not write: what keeps the guest stopped writes, and resumes the guest afterwards.
 * Then no write comes too late, also when this process was stopped in between (SIGSTOP, a page that
 * must be read from a disk).
 * One thread. Leaves to others: what runs in the guest (kernel/), what to change (patcher/). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/arch.h"
#include "base/addr.h"
#include "base/err.h"
#include "base/text.h"

/* No guest has more vCPUs. The number comes from a VMM, which may be its guest's. */
#define HV_VCPUS_MAX 4096

enum hv_accel { HV_ACCEL_TCG, HV_ACCEL_KVM };

struct hv_guest_info {
	const char *name; /* for messages: what the user calls it */
	const char *id;	  /* for file names, unique on this host */
	pid_t pid;	  /* of the VMM */
	enum hv_accel accel;
	unsigned nr_vcpus; /* when they were last counted (hv_guest_count_vcpus) */
	const struct hv_arch *arch;
	uint64_t ram_bytes;
	uint64_t region_to_make_bytes; /* what hv_guest_region will make; 0: there is a region */
	const char *transport;	       /* a phrase: "injected calls (libvirt), RAM mapped" */
	bool injected;
	bool has_other_region; /* the way without injection (open.h) would find a region, too */
};

/* Memory shared with the guest: the bytes that the guest has at GPA are at HOST here. */
struct hv_region {
	struct hv_gpa gpa;
	uint8_t *host; /* mapped shared, read-write, for as long as the guest is open */
	uint64_t len_bytes;
	int fd; /* of the file that is mapped, borrowed; -1: not known here */
	uint64_t file_off;
	/* Its first HV_REGION_KEPT_BYTES once more, mapped likewise, where the guest cannot write
	 * (vmm/warden/kept.h); NULL: nowhere. */
	uint8_t *kept;
};
#define HV_REGION_KEPT_BYTES (4ULL << 20)

struct hv_guest;

void hv_guest_free(struct hv_guest *g);

static inline void hv_guest_free_at(struct hv_guest **g)
{
	hv_guest_free(*g);
}
#define HV_AUTO_GUEST hv_cleanup(hv_guest_free_at)

const struct hv_guest_info *hv_guest_info(const struct hv_guest *g);

/* EFAULT when part of [GPA, GPA + LEN) is not RAM or cannot be read; BUF may have been written to
 * then. */
struct hv_err *hv_guest_read(struct hv_guest *g, struct hv_gpa gpa, void *buf,
			     size_t len_bytes) hv_must_use;

/* RAM that can be read by a file: [START, START + LEN) is at OFF of FD. */
struct hv_ram_file {
	struct hv_gpa start;
	uint64_t len_bytes;
	uint64_t off;
	int fd;		/* owned by the guest; it may allow writing */
	bool is_memory; /* FD is the VMM's memory (proc(5)): it is read by pread(2); else mapped */
};
/* The first MAX of them; *RET_NR 0: the RAM can be read by hv_guest_read() alone. RAM that can come
 * and go is not among them. */
struct hv_err *hv_guest_ram_files(struct hv_guest *g, struct hv_ram_file *ret, size_t max,
				  size_t *ret_nr) hv_must_use;

/* Counts the vCPUs, which can be plugged and unplugged, into info.nr_vcpus. hv_hold_begin does the
 * same. E2BIG: the VMM claims more than HV_VCPUS_MAX; info.nr_vcpus is as before. */
struct hv_err *hv_guest_count_vcpus(struct hv_guest *g) hv_must_use;

/* Fills RET with the registers of all NR vCPUs, without stopping the guest: page-table root and
 * trap table are reliable; ip and sp of a running vCPU are those of some past moment. NR is
 * info.nr_vcpus of a moment ago. E2BIG: the guest has more vCPUs than NR. EAGAIN: it has fewer. */
struct hv_err *hv_guest_registers(struct hv_guest *g, struct hv_vcpu_regs *ret,
				  size_t nr) hv_must_use;

/* Maps the memory shared with the guest, which may be made by this call. ENODEV, and what the
 * machine needs: it has none, and none can be made. */
struct hv_err *hv_guest_region(struct hv_guest *g, struct hv_region *ret) hv_must_use;

/* Keeps the domain from being migrated, saved or snapshot until it is unpinned: what is patched in
 * the guest needs memory that would not go with it. The pin stays when this process dies. It is set
 * before the first write and removed when nothing is patched any more. Pinning a pinned domain does
 * nothing. EIO: a migration is under way, or the VMM cannot do it. */
struct hv_err *hv_guest_pin(struct hv_guest *g) hv_must_use;
struct hv_err *hv_guest_unpin(struct hv_guest *g) hv_must_use;

/* From now on text is patched in copies of its pages, which replace the pages, where the guest's
 * RAM allows that (docs/internals/inject.md); elsewhere it is patched in place. ENOTSUP: no part of
 * the RAM allows it. */
struct hv_err *hv_guest_want_shadow(struct hv_guest *g) hv_must_use;

/* Why this guest cannot be traced now: powered off, paused, a migration under way, a confidential
 * guest, a debugger. NULL: it can. */
struct hv_err *hv_guest_refusal(struct hv_guest *g) hv_must_use;

/* Resumes a guest that is stopped because all processes of hvtrace were killed together during a
 * hold, and removes from the VMM what holds need. A guest that anything else has stopped stays
 * stopped. */
struct hv_err *hv_guest_let_run(struct hv_guest *g, bool *ret_was_stopped) hv_must_use;

/* How a vCPU's time stamp counter follows the host's: (host * ratio >> frac_bits) + offset, modulo
 * 2^64. It changes when the guest or its VMM writes the counter. */
struct hv_tsc {
	uint64_t ratio;
	unsigned frac_bits; /* at most 63 */
	uint64_t offset;
};
/* ENOTSUP, ENOENT: it cannot be known (not under KVM, no debugfs on this host). */
struct hv_err *hv_guest_tsc(struct hv_guest *g, unsigned vcpu, struct hv_tsc *ret) hv_must_use;

/* The threads of the vCPUs, in the order of their numbers; at most MAX. Not while the guest is
 * held. */
struct hv_err *hv_guest_vcpu_threads(struct hv_guest *g, pid_t *ret, size_t max,
				     size_t *ret_nr) hv_must_use;

/* The events of the host (vmm/hosttrace/), which a process with rights records for this one.
 * Formats: as of hv_host_trace_formats(). ENOENT, ENOTSUP: they cannot be recorded here. */
struct hv_err *hv_guest_host_formats(struct hv_guest *g, struct hv_text *ret) hv_must_use;
/* The threads whose events are recorded: those of the vCPUs in the order of their numbers, then the
 * others that work for the VMM (vmm/hosttrace/threads.h). */
struct hv_host_threads {
	pid_t *tids; /* room for MAX, of the caller */
	size_t max, nr, nr_vcpus;
};
/* Records the events of MASK from now on; 0: none, and their pipes must be closed before. RET has
 * its room. */
struct hv_err *hv_guest_host_trace(struct hv_guest *g, uint32_t mask,
				   struct hv_host_threads *ret) hv_must_use;
/* As hv_host_trace_open(), for the events that are recorded now. The caller closes them. */
struct hv_err *hv_guest_host_pipes(struct hv_guest *g, unsigned first, int *ret_fds, size_t max,
				   size_t *ret_nr, unsigned *ret_next) hv_must_use;

/* Whether the guest sleeps (S3) and will have lost the region when it wakes up: everything that is
 * patched must be put back before. Such a guest can be held, and sleeps on after the hold. */
struct hv_err *hv_guest_sleeps(struct hv_guest *g, bool *ret) hv_must_use;

/* A file that becomes readable when the VMM process has ended (a pidfd); owned by the guest. */
int hv_guest_exit_fd(const struct hv_guest *g);
bool hv_guest_has_ended(const struct hv_guest *g);

/* Stops all vCPUs once, when one of them is about to execute AT, until hv_guest_end_stop. Meanwhile
 * the bytes at AT are not the guest's own. ENOTSUP: the VMM is not hvtrace's own. EBUSY: another
 * stop is set already. */
struct hv_err *hv_guest_stop_at(struct hv_guest *g, struct hv_gva at) hv_must_use;
/* A file that becomes readable when the guest has stopped there; -1: the VMM is not hvtrace's own.
 * Owned by the guest. */
int hv_guest_stop_fd(const struct hv_guest *g);
/* Whether the guest is stopped there; then the bytes at AT are the guest's own again. */
struct hv_err *hv_guest_is_at_stop(struct hv_guest *g, bool *ret) hv_must_use;
/* Resumes the guest, or cancels the stop. */
void hv_guest_end_stop(struct hv_guest *g);
/* Runs a guest that was stopped while it started until a vCPU is about to execute AT, and stops it
 * there. ENOTSUP: the VMM is not hvtrace's own. ECANCELED: the guest has ended before. */
struct hv_err *hv_guest_run_to(struct hv_guest *g, struct hv_gva at) hv_must_use;

/* A hold: every vCPU is stopped from its begin to its end. It ends by itself, and the guest runs
 * on, when this process dies or when MAX_NS have passed (helper.h). Callers plan before a hold and
 * only write under it. */
struct hv_hold;

/* Starts what a hold needs and leaves the guest running. To be called once before the first hold.
 * EBUSY: a debugger uses it. */
struct hv_err *hv_guest_prepare_hold(struct hv_guest *g) hv_must_use;
/* Announces that text at GPAS (ascending) is written under the next hold, so that all that can be
 * done before it is done now. */
struct hv_err *hv_guest_prepare_text(struct hv_guest *g, const struct hv_gpa *gpas,
				     size_t nr) hv_must_use;
struct hv_err *hv_hold_begin(struct hv_guest *g, uint64_t max_ns, struct hv_hold **ret) hv_must_use;
/* The same, but also while vCPUs are hidden (struct hv_vcpu_regs), if the architecture tells the
 * kernel's page tables then (hidden_keeps_root). Where such a vCPU goes on is not known, so this is
 * for changes inside which none can be. */
struct hv_err *hv_hold_begin_anywhere(struct hv_guest *g, uint64_t max_ns,
				      struct hv_hold **ret) hv_must_use;

/* Fills RET with the exact registers of all NR vCPUs. NR is info.nr_vcpus, which the begin of the
 * hold has counted. trap_table is 0. E2BIG, EAGAIN: as hv_guest_registers(). */
struct hv_err *hv_hold_registers(struct hv_hold *h, struct hv_vcpu_regs *ret,
				 size_t nr) hv_must_use;

struct hv_hold_write {
	struct hv_gpa gpa;
	struct hv_gva gva;  /* of text; of a page-table slot, what it maps; else 0 */
	uint32_t len_bytes; /* at most HV_SITE_LEN_MAX */
	uint8_t bytes[HV_SITE_LEN_MAX];
	bool is_text; /* only vCPUs and holds change anything in its page */
};
/* Writes text, page tables and other data. Every vCPU executes the new text when it runs again.
 * WRITES are ordered by address: what lies between two of them may be written with the bytes that
 * it had. ETIMEDOUT: the hold ended before all of WRITES were made, and those that were not made
 * then never will be. After any error some may have been made. */
struct hv_err *hv_hold_write(struct hv_hold *h, const struct hv_hold_write *writes,
			     size_t nr) hv_must_use;
/* Drops every vCPU's cached translations, global ones included. Under KVM this takes the memory of
 * pages of the region away for a moment and gives it back with its contents. [OFF, OFF + LEN) of
 * the region names these pages: pages that the guest has accessed if it has accessed any of the
 * region, and few, since the guest is stopped meanwhile. */
struct hv_err *hv_hold_flush_translations(struct hv_hold *h, uint64_t off,
					  uint64_t len_bytes) hv_must_use;

/* Counted as the time is after which the hold ends by itself. */
uint64_t hv_hold_age_ns(const struct hv_hold *h);

/* ETIMEDOUT when the hold is so old that it may end by itself soon. To be asked right before
 * writing, so that what is begun is nearly always made as a whole. It says nothing about the moment
 * after: only hv_hold_write() is sure to write under the hold. */
struct hv_err *hv_hold_check(const struct hv_hold *h) hv_must_use;

/* Resumes the guest and frees H. *RET_NS (may be NULL) is how long the guest was stopped.
 * ETIMEDOUT: the hold had already ended by itself, after everything that was written. */
struct hv_err *hv_hold_end(struct hv_hold *h, uint64_t *ret_ns) hv_must_use;

/* How a guest is reached, for implementations and for tests that use memory of their own. Every
 * member does what the function of its name does. */
struct hv_guest_ops {
	/* Every implementation has these. */
	void (*free)(void *self);
	struct hv_err *(*read)(void *self, struct hv_gpa gpa, void *buf, size_t len);
	struct hv_err *(*registers)(void *self, struct hv_vcpu_regs *ret, size_t nr);
	struct hv_err *(*region)(void *self, struct hv_region *ret);
	struct hv_err *(*hold_begin)(void *self, uint64_t max_ns);
	struct hv_err *(*hold_registers)(void *self, struct hv_vcpu_regs *ret, size_t nr);
	struct hv_err *(*hold_write)(void *self, const struct hv_hold_write *writes, size_t nr);
	struct hv_err *(*hold_flush_translations)(void *self, uint64_t off, uint64_t len_bytes);
	struct hv_err *(*hold_end)(void *self);

	/* The others are optional. Where nothing else is noted, the function is ENOTSUP without. */
	struct hv_err *(*ram_files)(void *self, struct hv_ram_file *ret, size_t max,
				    size_t *ret_nr);		  /* unset: there are none */
	struct hv_err *(*count_vcpus)(void *self, unsigned *ret); /* unset: it never changes */
	struct hv_err *(*refusal)(void *self); /* unset: it can always be traced */
	struct hv_err *(*let_run)(void *self,
				  bool *ret_was_stopped); /* unset: no hold outlives hvtrace */
	struct hv_err *(*tsc)(void *self, unsigned vcpu, struct hv_tsc *ret);
	struct hv_err *(*vcpu_threads)(void *self, pid_t *ret, size_t max, size_t *ret_nr);
	struct hv_err *(*sleeps)(void *self, bool *ret); /* unset: the region outlives a sleep */
	int (*exit_fd)(void *self); /* unset: -1, its end cannot be waited for */
	struct hv_err *(*want_shadow)(void *self);
	struct hv_err *(*prepare_hold)(void *self); /* unset: nothing needs it */
	struct hv_err *(*prepare_text)(void *self, const struct hv_gpa *gpas,
				       size_t nr); /* unset: nothing needs it */
	struct hv_err *(*hold_begin_anywhere)(void *self, uint64_t max_ns); /* unset: hold_begin */
	uint64_t (*held_ns)(void *self); /* of the last hold; unset: guest.c measures it */
	/* The time (hv_now_ns) from which MAX_NS of the last hold counts; unset: it counts from
	 * when the hold was asked for, or later. */
	uint64_t (*held_from_ns)(void *self);

	/* Both or none; unset: nobody can move the guest. */
	struct hv_err *(*pin)(void *self);
	struct hv_err *(*unpin)(void *self);

	/* All or none: events of the host. */
	struct hv_err *(*host_formats)(void *self, struct hv_text *ret);
	struct hv_err *(*host_trace)(void *self, uint32_t mask, struct hv_host_threads *ret);
	struct hv_err *(*host_pipes)(void *self, unsigned first, int *ret_fds, size_t max,
				     size_t *ret_nr, unsigned *ret_next);

	/* All or none: stops at an instruction. */
	struct hv_err *(*stop_at)(void *self, struct hv_gva at);
	int (*stop_fd)(void *self);
	struct hv_err *(*is_at_stop)(void *self, bool *ret);
	void (*end_stop)(void *self);
	struct hv_err *(*run_to)(void *self, struct hv_gva at);
};
/* For implementations: what hv_guest_new() was given. */
void *hv_guest_self(const struct hv_guest *g);
/* E2BIG: a VMM claims that its guest has NR vCPUs, more than HV_VCPUS_MAX. EPROTO: it has none. */
struct hv_err *hv_vcpus_check(uint64_t nr) hv_must_use;
/* E2BIG, EAGAIN: a guest with NR vCPUs has more, or fewer, than a caller has room for. */
struct hv_err *hv_vcpus_check_room(unsigned nr, size_t room) hv_must_use;
/* Copies INFO and its strings. ops->free frees SELF. OPS has all that every implementation has. The
 * implementation has checked info.nr_vcpus (hv_vcpus_check). */
struct hv_guest *hv_guest_new(const struct hv_guest_ops *ops, void *self,
			      const struct hv_guest_info *info);
