/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory of a VMM's process, and the guest's RAM in it. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "vmm/guest.h"

/* -- memory of the process --------------------------------------------------------------------- */

/* Access to the memory of the VMM's process. Shared mappings of a file that the VMM has open for
 * reading and writing (memfd, file, hugetlbfs) are mapped here; other memory is read through
 * /proc/PID/mem. Addresses are the VMM's, as reported by its monitor (gpa2hva). A process that
 * reuses the VMM's pid after its end is never accessed. */

struct hv_process_memory;

/* PIDFD is borrowed; it refers to process PID. */
struct hv_process_memory *hv_process_memory_new(pid_t pid, int pidfd);
void hv_process_memory_free(struct hv_process_memory *pm);

/* A part of one mapping of the VMM. */
struct hv_piece {
	uint64_t hva; /* in the VMM */
	uint64_t len_bytes;
	uint8_t *host; /* the same bytes in this process, read-write; NULL: not mapped here */
	int fd;	       /* the shared file, borrowed; -1: not mapped here */
	int vmm_fd;    /* its number in the VMM */
	uint64_t file_off;
};

/* Returns the piece at the start of [HVA, HVA + LEN). Fails with EFAULT if the VMM has no readable
 * and writable memory there, EPERM without permission, or an error of hv_mounts_check() if
 * the memory is a file whose file system can make the reader wait, or is unknown. */
struct hv_err *hv_process_memory_piece(struct hv_process_memory *pm, uint64_t hva,
				       uint64_t len_bytes, struct hv_piece *ret) hv_must_use;

/* Reads the VMM's mappings again, because it maps and unmaps memory that is plugged and unplugged.
 * Later calls do not return memory that the VMM has unmapped; it stays mapped here until
 * hv_process_memory_drop_unused(). A mapping counts as unmapped when no part of its file is at the
 * previous address. */
struct hv_err *hv_process_memory_look_again(struct hv_process_memory *pm) hv_must_use;
/* Discards the mappings that hv_process_memory_look_again() read: later calls read them again for
 * each piece. */
void hv_process_memory_end_look(struct hv_process_memory *pm);
/* Unmaps all memory that was not requested since the last hv_process_memory_look_again(), and
 * closes its files. Older pieces in it dangle. */
void hv_process_memory_drop_unused(struct hv_process_memory *pm);
/* Keeps the mapping that contains P until PM is freed. */
void hv_process_memory_keep(struct hv_process_memory *pm, const struct hv_piece *p);

/* Returns the VMM's memory as a file (proc(5)), read-only, owned by PM; -1 without permission. */
int hv_process_memory_fd(const struct hv_process_memory *pm);
/* Opens the memory of process PID, to which PIDFD refers. FLAGS as for open(2). Returns -1 and sets
 * errno if the process has ended or permission is missing. */
int hv_process_memory_open(pid_t pid, int pidfd, int flags);

/* HVA is an address in the VMM. Fails with EFAULT and the address if not all bytes could be
 * copied. */
struct hv_err *hv_process_memory_read(struct hv_process_memory *pm, uint64_t hva, void *buf,
				      size_t len_bytes) hv_must_use;

/* -- guest RAM --------------------------------------------------------------------------------- */

/* Guest RAM in the memory of a VMM's process: the guest-physical ranges that are memory for the
 * vCPUs, and how to read them. Excludes device memory. The caller supplies the ranges. */

struct hv_ram_range {
	struct hv_gpa start;
	uint64_t len_bytes;
	uint64_t hva;  /* in the VMM */
	uint8_t *host; /* NULL: not mapped here, copied through PROCESS */
	int fd;	       /* the file, if it is mapped here; owned by PROCESS */
	uint64_t file_off;
};

struct hv_ram {
	struct hv_process_memory *process; /* borrowed */
	struct hv_ram_range *ranges;	   /* ascending */
	size_t nr_ranges;
	uint64_t len_bytes;
	uint64_t mapped_bytes;
	bool can_go; /* part of it belongs to memory devices, which can be unplugged */
};

/* Adds the range [START, START + LEN), which is at HVA in the VMM. It is contiguous in the VMM but
 * may consist of several mappings. */
struct hv_err *hv_ram_add(struct hv_ram *ram, struct hv_gpa start, uint64_t len_bytes,
			  uint64_t hva) hv_must_use;
void hv_ram_deinit(struct hv_ram *ram);

/* Fails with EFAULT if part of [GPA, GPA + LEN) is not RAM. */
struct hv_err *hv_ram_read(const struct hv_ram *ram, struct hv_gpa gpa, void *buf,
			   size_t len_bytes) hv_must_use;
/* Returns the address of GPA in the VMM, and the number of RAM bytes that follow. Returns false if
 * GPA is not RAM. */
bool hv_ram_find(const struct hv_ram *ram, struct hv_gpa gpa, uint64_t *ret_hva,
		 uint64_t *ret_len_bytes);
enum hv_ram_by {
	HV_RAM_BY_FILES,  /* through the RAM's file if it contains nothing else, otherwise through
			     the VMM's memory */
	HV_RAM_BY_MEMORY, /* always through the VMM's memory */
};
/* Returns files for its ranges (vmm/guest.h). Returns none if RAM can be unplugged. */
size_t hv_ram_files(const struct hv_ram *ram, enum hv_ram_by by, struct hv_ram_file *ret,
		    size_t max);
bool hv_ram_covers(const struct hv_ram *ram, struct hv_gpa gpa, uint64_t len_bytes);
