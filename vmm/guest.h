/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest, as the host sees it: its physical memory, its vCPUs, a way to hold it, and a region of
 * memory that its kernel does not know about. This is the only interface between hvtrace and a
 * guest of any VMM.
 *
 * Guest memory is written only in a hold (hv_hold_write). A hold can time out, so this process does
 * not write: the process that keeps the guest stopped writes, and resumes the guest afterwards.
 * Therefore no write can be late, even if this process is delayed (SIGSTOP, a page fault that reads
 * from a disk).
 *
 * Single-threaded. kernel/ knows the kernel in the guest; patcher/ decides what to change. */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/arch.h"
#include "base/addr.h"
#include "base/err.h"
#include "base/text.h"

/* Limit for vCPUs. The number comes from the VMM, which the guest may control. */
#define HV_VCPUS_MAX 4096

enum hv_accel { HV_ACCEL_TCG, HV_ACCEL_KVM };

struct hv_guest_info {
	const char *name; /* the user's name for it, for messages */
	const char *id;	  /* unique on this host, for file names */
	pid_t pid;	  /* of the VMM */
	enum hv_accel accel;
	unsigned nr_vcpus; /* at the last count (hv_guest_count_vcpus) */
	const struct hv_arch *arch;
	uint64_t ram_bytes;
	uint64_t region_to_make_bytes; /* size of the region that hv_guest_region will create; 0: it
					  exists */
	const char *transport;	       /* for messages: "injected calls (libvirt), RAM mapped" */
	bool injected;
	bool has_other_region; /* access without injection (open.h) would also find a region */
	bool can_be_saved;     /* hv_guest_pin() cannot block migration and saving by this VMM */
};

/* Memory shared with the guest: guest-physical address GPA is mapped at HOST in this process. */
struct hv_region {
	struct hv_gpa gpa;
	uint8_t *host; /* shared, read-write mapping; valid until the guest is freed */
	uint64_t len_bytes;
	int fd; /* the mapped file, borrowed; -1: unknown */
	uint64_t file_off;
	/* A copy of its first HV_REGION_KEPT_BYTES, also a shared mapping, which the guest cannot
	 * write (vmm/broker/kept.h); NULL: there is no copy. */
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

/* Fails with EFAULT if part of [GPA, GPA + LEN) is not RAM or cannot be read; BUF may be partly
 * written then. */
struct hv_err *hv_guest_read(struct hv_guest *g, struct hv_gpa gpa, void *buf,
			     size_t len_bytes) hv_must_use;

/* RAM that can be read through a file: [START, START + LEN) is at offset OFF of FD. */
struct hv_ram_file {
	struct hv_gpa start;
	uint64_t len_bytes;
	uint64_t off;
	int fd;		/* owned by the guest; may be writable */
	bool is_memory; /* FD is the VMM's memory (proc(5)), read with pread(2); otherwise map it */
};
/* Returns at most MAX files. If *RET_NR is 0, use hv_guest_read(). Hot-pluggable RAM is not
 * included. */
struct hv_err *hv_guest_ram_files(struct hv_guest *g, struct hv_ram_file *ret, size_t max,
				  size_t *ret_nr) hv_must_use;

/* Counts the vCPUs, which can be plugged and unplugged, and updates info.nr_vcpus. hv_hold_begin
 * does this, too. Fails with E2BIG if the VMM reports more than HV_VCPUS_MAX; then info.nr_vcpus is
 * unchanged. */
struct hv_err *hv_guest_count_vcpus(struct hv_guest *g) hv_must_use;

/* Returns the registers of all NR vCPUs without stopping the guest. The page-table root and the
 * trap table are reliable; ip and sp of a running vCPU are from some past moment. Pass a recent
 * info.nr_vcpus as NR. Fails with E2BIG if the guest has more vCPUs than NR, or EAGAIN if it has
 * fewer. */
struct hv_err *hv_guest_registers(struct hv_guest *g, struct hv_vcpu_regs *ret,
				  size_t nr) hv_must_use;

/* Maps the memory shared with the guest, and creates it if necessary. Fails with ENODEV, naming the
 * missing device, if the machine has no such memory and none can be created. */
struct hv_err *hv_guest_region(struct hv_guest *g, struct hv_region *ret) hv_must_use;

/* Blocks migration, saving and snapshots of the domain until hv_guest_unpin(), because patched code
 * in the guest needs memory that would not move with it. The pin outlives this process. Set it
 * before the first write and remove it when all patches are undone. Pinning a pinned domain has no
 * effect. Fails with EIO if a migration is in progress or the VMM does not support it. */
struct hv_err *hv_guest_pin(struct hv_guest *g) hv_must_use;
struct hv_err *hv_guest_unpin(struct hv_guest *g) hv_must_use;

/* Makes later patches replace pages of text by patched copies (shadow pages,
 * docs/internals/inject.md) where the guest's RAM allows it; other text is patched in place. Fails
 * with ENOTSUP if no part of the RAM allows it. */
struct hv_err *hv_guest_want_shadow(struct hv_guest *g) hv_must_use;

/* Returns why this guest cannot be traced now, or NULL if it can: powered off, paused, a migration
 * in progress, a confidential guest, a debugger. */
struct hv_err *hv_guest_refusal(struct hv_guest *g) hv_must_use;

/* Resumes a guest that stayed stopped because all hvtrace processes were killed together in a hold,
 * and removes leftovers of holds from the VMM. A guest that was stopped for another reason stays
 * stopped. */
struct hv_err *hv_guest_let_run(struct hv_guest *g, bool *ret_was_stopped) hv_must_use;

/* The relation between a vCPU's time stamp counter and the host's: (host * ratio >> frac_bits) +
 * offset, modulo 2^64. It changes when the guest or its VMM writes the counter. */
struct hv_tsc {
	uint64_t ratio;
	unsigned frac_bits; /* at most 63 */
	uint64_t offset;
};
/* Fails with ENOTSUP or ENOENT if it is unknown (not under KVM, no debugfs on this host). */
struct hv_err *hv_guest_tsc(struct hv_guest *g, unsigned vcpu, struct hv_tsc *ret) hv_must_use;

/* Returns at most MAX threads, one for each vCPU, by vCPU number. Do not call this in a hold. */
struct hv_err *hv_guest_vcpu_threads(struct hv_guest *g, pid_t *ret, size_t max,
				     size_t *ret_nr) hv_must_use;

/* Events of the host (vmm/hosttrace/), which a privileged process records for this one. The formats
 * are those of hv_host_trace_formats(). Fails with ENOENT or ENOTSUP if they cannot be recorded
 * here. */
struct hv_err *hv_guest_host_formats(struct hv_guest *g, struct hv_text *ret) hv_must_use;
/* The threads whose events are recorded: first the vCPU threads by number, then other threads that
 * work for the VMM (vmm/hosttrace/instance.h). */
struct hv_host_threads {
	pid_t *tids; /* caller's array with MAX elements */
	size_t max, nr, nr_vcpus;
};
/* Starts to record the events of MASK, or stops if MASK is 0; close the pipes before you stop. The
 * caller sets RET->tids and RET->max. */
struct hv_err *hv_guest_host_trace(struct hv_guest *g, uint32_t mask,
				   struct hv_host_threads *ret) hv_must_use;
/* Like hv_host_trace_open(), for the events that are being recorded. The caller closes the
 * files. */
struct hv_err *hv_guest_host_pipes(struct hv_guest *g, unsigned first, int *ret_fds, size_t max,
				   size_t *ret_nr, unsigned *ret_next) hv_must_use;

/* Whether the guest is suspended (S3) and will have lost the region when it resumes: all patches
 * must be undone before. Such a guest can be held and stays suspended after the hold. */
struct hv_err *hv_guest_sleeps(struct hv_guest *g, bool *ret) hv_must_use;

/* Returns a file that becomes readable when the VMM process has ended (a pidfd); owned by the
 * guest. */
int hv_guest_exit_fd(const struct hv_guest *g);
bool hv_guest_has_ended(const struct hv_guest *g);

/* Stops all vCPUs once, when one of them is about to execute AT, until hv_guest_end_stop. Until the
 * stop, the bytes at AT differ from the guest's. Fails with ENOTSUP unless the VMM is `hvtrace
 * run`, or EBUSY if another stop is set. */
struct hv_err *hv_guest_stop_at(struct hv_guest *g, struct hv_gva at) hv_must_use;
/* Returns a file that becomes readable when the guest has stopped at AT; -1 unless the VMM is
 * `hvtrace run`. Owned by the guest. */
int hv_guest_stop_fd(const struct hv_guest *g);
/* Whether the guest is stopped at AT; then the bytes at AT are the guest's again. */
struct hv_err *hv_guest_is_at_stop(struct hv_guest *g, bool *ret) hv_must_use;
/* Resumes the guest, or cancels the stop. */
void hv_guest_end_stop(struct hv_guest *g);
/* Runs a guest that was stopped during boot until a vCPU is about to execute AT, and stops it
 * there. Fails with ENOTSUP unless the VMM is `hvtrace run`, or ECANCELED if the guest has ended
 * before. */
struct hv_err *hv_guest_run_to(struct hv_guest *g, struct hv_gva at) hv_must_use;

/* A hold: every vCPU is stopped from hv_hold_begin() to hv_hold_end(). The guest is resumed early
 * if this process dies or MAX_NS have passed (helper.h). Callers plan before a hold and only write
 * in it. hv_hold_begin() retries while a vCPU is hidden (struct hv_vcpu_regs), and finally fails
 * with EBUSY. */
struct hv_hold;

/* Starts the helpers for holds and leaves the guest running. Call this once before the first hold.
 * Fails with EBUSY if a debugger uses the guest. */
struct hv_err *hv_guest_prepare_hold(struct hv_guest *g) hv_must_use;
/* Announces that the next hold will write text at GPAS (ascending), so that as much work as
 * possible is done before the hold. */
struct hv_err *hv_guest_prepare_text(struct hv_guest *g, const struct hv_gpa *gpas,
				     size_t nr) hv_must_use;
struct hv_err *hv_hold_begin(struct hv_guest *g, uint64_t max_ns, struct hv_hold **ret) hv_must_use;
/* Like hv_hold_begin(), but accepts hidden vCPUs if their registers still contain the kernel's
 * page-table root (hidden_keeps_root of the architecture). The position of such a vCPU is unknown,
 * so use this only to change code in which no hidden vCPU can be. */
struct hv_err *hv_hold_begin_anywhere(struct hv_guest *g, uint64_t max_ns,
				      struct hv_hold **ret) hv_must_use;

/* Returns the exact registers of all NR vCPUs. NR is info.nr_vcpus, as hv_hold_begin() counted
 * them. trap_table is 0. Fails with E2BIG and EAGAIN like hv_guest_registers(). */
struct hv_err *hv_hold_registers(struct hv_hold *h, struct hv_vcpu_regs *ret,
				 size_t nr) hv_must_use;

struct hv_hold_write {
	struct hv_gpa gpa;
	struct hv_gva
		gva; /* of text; for a page-table entry, the address that it maps; otherwise 0 */
	uint32_t len_bytes; /* at most HV_SITE_LEN_MAX */
	uint8_t bytes[HV_SITE_LEN_MAX];
	bool is_text; /* the page contains text: only vCPUs and holds write to it */
};
/* Writes text, page tables and other data. Every vCPU executes the new text when it resumes. WRITES
 * are sorted by address; unchanged bytes between two of them may be written again. Fails with
 * ETIMEDOUT if the hold ended before all WRITES were made; the rest is never made. After any error
 * some may have been made. */
struct hv_err *hv_hold_write(struct hv_hold *h, const struct hv_hold_write *writes,
			     size_t nr) hv_must_use;
/* Flushes every vCPU's cached translations, including global ones. Under KVM this unmaps pages of
 * the region for a moment and maps them again with their contents. [OFF, OFF + LEN) of the region
 * selects these pages. If the guest has accessed the region at all, it must have accessed one of
 * them. Choose few pages, because the guest is stopped during the flush. */
struct hv_err *hv_hold_flush_translations(struct hv_hold *h, uint64_t off,
					  uint64_t len_bytes) hv_must_use;

/* Returns the age of the hold, counted like its timeout. */
uint64_t hv_hold_age_ns(const struct hv_hold *h);

/* Fails with ETIMEDOUT if the hold may time out soon. Call this immediately before writing, so that
 * a started write is nearly always completed. It does not guarantee that the hold lasts: only
 * hv_hold_write() is certain to write in the hold. */
struct hv_err *hv_hold_check(const struct hv_hold *h) hv_must_use;

/* Resumes the guest and frees H. *RET_NS (may be NULL) is the time for which the guest was stopped.
 * Fails with ETIMEDOUT if the hold had timed out, which can only be after all completed writes. */
struct hv_err *hv_hold_end(struct hv_hold *h, uint64_t *ret_ns) hv_must_use;

/* Access to a guest, implemented by each VMM and by tests with their own memory. Every member
 * implements the function with its name. */
struct hv_guest_ops {
	/* Mandatory members. */
	void (*free)(void *self);
	struct hv_err *(*read)(void *self, struct hv_gpa gpa, void *buf, size_t len);
	struct hv_err *(*registers)(void *self, struct hv_vcpu_regs *ret, size_t nr);
	struct hv_err *(*region)(void *self, struct hv_region *ret);
	struct hv_err *(*hold_begin)(void *self, uint64_t max_ns);
	struct hv_err *(*hold_registers)(void *self, struct hv_vcpu_regs *ret, size_t nr);
	struct hv_err *(*hold_write)(void *self, const struct hv_hold_write *writes, size_t nr);
	struct hv_err *(*hold_flush_translations)(void *self, uint64_t off, uint64_t len_bytes);
	struct hv_err *(*hold_end)(void *self);

	/* Optional members. By default an unset member means ENOTSUP. */
	struct hv_err *(*ram_files)(void *self, struct hv_ram_file *ret, size_t max,
				    size_t *ret_nr);		  /* unset: no files */
	struct hv_err *(*count_vcpus)(void *self, unsigned *ret); /* unset: the number is fixed */
	struct hv_err *(*refusal)(void *self);			  /* unset: always traceable */
	struct hv_err *(*let_run)(void *self,
				  bool *ret_was_stopped); /* unset: no hold outlives hvtrace */
	struct hv_err *(*tsc)(void *self, unsigned vcpu, struct hv_tsc *ret);
	struct hv_err *(*vcpu_threads)(void *self, pid_t *ret, size_t max, size_t *ret_nr);
	struct hv_err *(*sleeps)(void *self, bool *ret); /* unset: the region survives suspend */
	int (*exit_fd)(void *self);			 /* unset: -1, the end cannot be detected */
	struct hv_err *(*want_shadow)(void *self);
	struct hv_err *(*prepare_hold)(void *self); /* unset: not needed */
	struct hv_err *(*prepare_text)(void *self, const struct hv_gpa *gpas,
				       size_t nr);			    /* unset: not needed */
	struct hv_err *(*hold_begin_anywhere)(void *self, uint64_t max_ns); /* unset: hold_begin */
	uint64_t (*held_ns)(void *self); /* of the last hold; unset: guest.c measures it */
	/* Start (hv_now_ns) of the MAX_NS of the last hold; unset: guest.c uses the time of its
	 * request. */
	uint64_t (*held_from_ns)(void *self);

	/* Both or none; unset: the guest cannot move. */
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
/* For implementations: returns the SELF of hv_guest_new(). */
void *hv_guest_self(const struct hv_guest *g);
/* Checks NR, the number of vCPUs that a VMM reports. Fails with E2BIG if it exceeds HV_VCPUS_MAX,
 * or EPROTO if it is 0. */
struct hv_err *hv_vcpus_check(uint64_t nr) hv_must_use;
/* Fails with E2BIG if the registers of NR vCPUs exceed an array of ROOM elements, or EAGAIN if they
 * do not fill it. */
struct hv_err *hv_vcpus_check_room(unsigned nr, size_t room) hv_must_use;
/* Copies INFO and its strings. ops->free frees SELF. OPS has all mandatory members. The
 * implementation has checked info.nr_vcpus (hv_vcpus_check). */
struct hv_guest *hv_guest_new(const struct hv_guest_ops *ops, void *self,
			      const struct hv_guest_info *info);

/* -- registers from another process ------------------------------------------------------------ */

/* Validates vCPU registers from another process, which may be hostile. */

/* Returns whether NR struct hv_vcpu_regs have valid booleans, enums and numbers of page-table
 * levels. REGS may contain any bytes. */
bool hv_vcpu_regs_are_sane(const void *regs, size_t nr);

/* -- the journal in the region ----------------------------------------------------------------- */

/* The format of the journal in the region: every byte that a session has changed in the guest. The
 * guest can write to it, so an entry alone proves nothing. patcher/journal.h writes it,
 * tracer/attach.c undoes changes with it, and vmm/broker/rules.h validates it for the privileged
 * side. */

#define HV_REGION_JOURNAL_OFF 0x1000ULL
#define HV_REGION_TABLES_OFF  0x3c0000ULL /* the end of the journal */

enum hv_journal_state {
	HV_JOURNAL_FREE = 0,
	HV_JOURNAL_USED = 1, /* the change may have been written */
};

struct hv_journal_entry {
	uint64_t gpa;
	uint64_t gva;
	uint32_t state; /* written last when an entry is added, first when freed */
	uint16_t kind;
	uint16_t len_bytes;
	uint8_t old_bytes[8];
	uint8_t new_bytes[8];
};
_Static_assert(sizeof(struct hv_journal_entry) == 40, "journal entry");

#define HV_JOURNAL_CAP                                                                             \
	((HV_REGION_TABLES_OFF - HV_REGION_JOURNAL_OFF) / sizeof(struct hv_journal_entry))
