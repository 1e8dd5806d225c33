/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory of the VMM's process, from here: mapped where it is a shared mapping of a file there
 * that the VMM has open for reading and writing (memfd, file, hugetlbfs), else read by
 * /proc/PID/mem. Addresses are the VMM's, which its monitor tells (gpa2hva). A process that has the
 * VMM's id after the VMM has ended is never looked at. Leaves to others: what the memory contains.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct hv_process_memory;

/* PIDFD is borrowed, and is process PID's as long as that one has not ended. */
struct hv_process_memory *hv_process_memory_new(pid_t pid, int pidfd);
void hv_process_memory_free(struct hv_process_memory *pm);

/* Part of the VMM's memory that lies in one of its mappings. */
struct hv_piece {
	uint64_t hva; /* in the VMM */
	uint64_t len_bytes;
	uint8_t *host; /* the same bytes here, read-write; NULL: not mapped here */
	int fd;	       /* of the shared file, borrowed; -1: not mapped here */
	int vmm_fd;    /* its number in the VMM */
	uint64_t file_off;
};

/* Finds the piece at the start of [HVA, HVA + LEN). EFAULT: the VMM has no memory there that it may
 * read and write. EPERM: no permission to look. */
struct hv_err *hv_process_memory_piece(struct hv_process_memory *pm, uint64_t hva,
				       uint64_t len_bytes, struct hv_piece *ret) hv_must_use;

/* Looks again at what the VMM has mapped, since it maps and unmaps memory that is plugged and
 * unplugged. Memory that it has no longer is not given out again; it stays mapped here until it is
 * dropped. A file counts as mapped in the VMM while some part of it is where it was. */
struct hv_err *hv_process_memory_look_again(struct hv_process_memory *pm) hv_must_use;
/* Ends the look: pieces that are asked for from now on are looked for each time. */
void hv_process_memory_end_look(struct hv_process_memory *pm);
/* Unmaps all memory of which no piece was asked for since the last look, and closes its files.
 * Older pieces of it dangle then. */
void hv_process_memory_drop_unused(struct hv_process_memory *pm);
/* Keeps the mapping that P is a piece of until PM is freed. */
void hv_process_memory_keep(struct hv_process_memory *pm, const struct hv_piece *p);

/* The VMM's memory as a file (proc(5)), for reading, owned by PM; -1: this process may not read it.
 */
int hv_process_memory_fd(const struct hv_process_memory *pm);
/* Opens the memory of process PID, which is the one of PIDFD. FLAGS as of open(2). -1, and errno is
 * set: the process has ended, or there is no right to. */
int hv_process_memory_open(pid_t pid, int pidfd, int flags);

/* HVA is an address in the VMM. EFAULT, with the address: not all bytes could be copied. */
struct hv_err *hv_process_memory_read(struct hv_process_memory *pm, uint64_t hva, void *buf,
				      size_t len_bytes) hv_must_use;
