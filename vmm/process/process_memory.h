/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Access to the memory of the VMM's process. Shared mappings of a file that the VMM has open for
 * reading and writing (memfd, file, hugetlbfs) are mapped here; other memory is read through
 * /proc/PID/mem. Addresses are the VMM's, as reported by its monitor (gpa2hva). A process that
 * reuses the VMM's pid after its end is never accessed. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

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
 * and writable memory there, or EPERM without permission. */
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
