/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A QEMU guest that is accessed through its monitor: the state that the files of this folder share.
 * Internal to vmm/. */
#pragma once

#include "vmm/guest.h"
#include "vmm/inject/inject.h"
#include "vmm/process/process.h"
#include "vmm/process/process_memory.h"
#include "vmm/qemu/gdb/guardian.h"
#include "vmm/qemu/parser.h"

struct hv_machine {
	char *name;
	char *id;
	char *monitor_kind; /* "libvirt", "qmp" */
	char *qmp_dir;	    /* directory of the QMP socket; NULL: libvirt has the monitor */
	int qmp_dir_fd; /* descriptor of QMP_DIR if that is in another mount namespace; else -1 */
	char *vmm_dir;	/* the VMM's path of that directory; NULL: same path */
	char *private_dir; /* of the domain, from libvirt; NULL: libvirt does not have the monitor
			    */
	struct hv_parser *monitor; /* parses its answers */
	struct hv_process process;
	struct hv_process_memory *memory;
	int pidfd;
	enum hv_accel accel;
	const struct hv_arch *arch;
	unsigned nr_vcpus; /* at the last count */
	struct hv_ram ram;
	uint64_t ram_loaded_ns;
	struct hv_region region; /* host NULL: not mapped yet; its file is borrowed from MEMORY */

	/* hold.c */
	struct hv_guardian *guardian;
	char *stub_dir;	 /* a directory created by hvtrace, to be removed; NULL: the domain's own is
			    used */
	char *stub_path; /* the stub's socket */
	char *stub_vmm_path; /* the VMM's path of it */
	bool held;	     /* by the guardian or by injection */
	struct hv_vcpu_regs
		*held_regs;    /* registers of the guardian's hold; owned, NULL: not read */
	uint64_t held_ns;      /* of the last hold */
	uint64_t held_from_ns; /* when max_ns of the last hold began */
	bool prepared; /* hv_machine_prepare_hold() has succeeded; from then on a killed guardian is
			  replaced */
	bool may_be_stopped; /* by a hold that failed to begin or end */
};

/* region.c */
struct hv_err *hv_machine_region(struct hv_machine *m, struct hv_region *ret) hv_must_use;
/* Fails with ENOSPC if its file is sparse and the file system is full. */
struct hv_err *hv_machine_region_has_room(struct hv_machine *m) hv_must_use;
/* Allocates the memory of the region, so that later writes to it cannot fail. */
struct hv_err *hv_machine_reserve_region(struct hv_machine *m) hv_must_use;
/* Unmaps pages of the region and maps them again with their contents, so that KVM flushes every
 * vCPU's translations. */
struct hv_err *hv_machine_remap_region(struct hv_machine *m, uint64_t off,
				       uint64_t len_bytes) hv_must_use;

/* machine.c: refusals. */
struct hv_err *hv_machine_refusal(struct hv_machine *m) hv_must_use;
/* Fails with EBUSY if the guest is not running. */
struct hv_err *hv_machine_is_running(struct hv_machine *m) hv_must_use;
/* Whether the guest is suspended (S3): every vCPU is stopped until an event wakes the guest up,
 * which resets its devices. */
struct hv_err *hv_machine_sleeps(struct hv_machine *m, bool *ret) hv_must_use;
/* Whether hvtrace's gdb stub is active and no other hvtrace uses it. Fails with EBUSY if another
 * program started the gdb stub, or another hvtrace uses it. */
struct hv_err *hv_machine_stub_state(struct hv_machine *m, bool *ret) hv_must_use;

/* Fails with ENOTSUP if a device of the host or another process accesses guest RAM without the
 * VMM's mappings, so that it would not see a page that replaces RAM. */
struct hv_err *hv_machine_pages_are_its_own(struct hv_machine *m) hv_must_use;

/* hold.c */
struct hv_err *hv_machine_prepare_hold(struct hv_machine *m) hv_must_use;
struct hv_err *hv_machine_hold_begin(struct hv_machine *m, uint64_t max_ns) hv_must_use;
struct hv_err *hv_machine_hold_begin_anywhere(struct hv_machine *m, uint64_t max_ns) hv_must_use;
/* Copies the registers that hv_machine_hold_begin() read. */
struct hv_err *hv_machine_hold_registers(struct hv_machine *m, struct hv_vcpu_regs *ret,
					 size_t nr) hv_must_use;
struct hv_err *hv_machine_hold_flush(struct hv_machine *m, uint64_t off,
				     uint64_t len_bytes) hv_must_use;
struct hv_err *hv_machine_hold_write(struct hv_machine *m, const struct hv_hold_write *writes,
				     size_t nr) hv_must_use;
struct hv_err *hv_machine_hold_end(struct hv_machine *m) hv_must_use;
void hv_machine_drop_hold(struct hv_machine *m);
struct hv_err *hv_machine_let_run(struct hv_machine *m, bool *ret_was_stopped) hv_must_use;

/* hold.c: the directory of the gdb stub's socket, if libvirt has not created one. */
/* Creates PATH, a directory owned by UID and GID (0700), or uses one that they own already. Acts
 * with their permissions, so that a VMM that redirects the path gains nothing; with root's only if
 * root alone can change every directory of the path. Fails with EEXIST and changes nothing if
 * another object has the name, including a link or a file, or with EACCES if they may not create
 * it. */
struct hv_err *hv_stub_dir_make(const char *path, uid_t uid, gid_t gid) hv_must_use;
/* Remove the directory or the socket, if it exists, with the same permissions. */
void hv_stub_dir_remove(const char *path, uid_t uid, gid_t gid);
void hv_stub_file_remove(const char *path, uid_t uid, gid_t gid);

/* machine.c */
/* Checks that the threads the monitor reports belong to the process the host knows, and counts
 * them. The memory of other processes is never read. */
struct hv_err *hv_machine_find_vcpus(struct hv_machine *m) hv_must_use;
struct hv_err *hv_machine_load_ram(struct hv_machine *m) hv_must_use;
/* Asks the monitor; in a hold returns the number of vCPUs that the hold found. */
struct hv_err *hv_machine_count_vcpus(struct hv_machine *m, unsigned *ret) hv_must_use;
/* Asks the human monitor; see hv_guest_registers(). */
struct hv_err *hv_machine_registers(struct hv_machine *m, struct hv_vcpu_regs *ret,
				    size_t nr) hv_must_use;
/* Returns the threads of the vCPUs by vCPU number, from the monitor. Fails with E2BIG if there are
 * more than MAX. */
struct hv_err *hv_machine_first_threads(const struct hv_machine *m, pid_t *ret, size_t max,
					size_t *ret_nr) hv_must_use;
/* Reads the RAM layout again before a hold if some RAM can be unplugged, so that writes in the hold
 * go to existing RAM. It cannot change during the hold, because memory devices are plugged and
 * unplugged only when a vCPU acts. */
struct hv_err *hv_machine_look_at_ram(struct hv_machine *m) hv_must_use;
struct hv_err *hv_machine_read(struct hv_machine *m, struct hv_gpa gpa, void *buf,
			       size_t len) hv_must_use;

/* guest.c */
struct hv_err *hv_machine_open_qmp(const char *path, struct hv_machine **ret) hv_must_use;
struct hv_err *hv_machine_open_libvirt(const char *spec, const char *uri,
				       struct hv_machine **ret) hv_must_use;
struct hv_err *hv_machine_open_pid(pid_t pid, const char *uri, struct hv_machine **ret) hv_must_use;
void hv_machine_free(struct hv_machine *m);
/* Returns a guest that is accessed only through its monitor. Takes M. */
struct hv_guest *hv_machine_guest(struct hv_machine *m) hv_must_use;
/* Returns the VMM of a guest that is accessed by injection. M is borrowed, until free() of the VMM
 * takes it. */
struct hv_vmm hv_machine_vmm(struct hv_machine *m);

/* -- RAM --------------------------------------------------------------------------------------- */

/* Loads the guest's RAM layout from QEMU's monitor. */

/* Queries the VMM again, and unmaps memory that is no longer RAM. On error RAM is unchanged. */
struct hv_err *hv_ram_load(struct hv_parser *p, struct hv_process_memory *process,
			   struct hv_ram *ram) hv_must_use;
