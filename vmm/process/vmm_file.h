/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file of the VMM's, taken as one of its own descriptors (pidfd_getfd(2)), which keeps the access
 * that the VMM has. A path to it (/proc/PID/map_files, /proc/PID/fd) is never opened: the VMM could
 * put another file there in between, which only root may write. Leaves to others: what is in the
 * file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "vmm/process/maps.h"

struct hv_vmm_file {
	int fd;	    /* here; the caller closes it */
	int vmm_fd; /* its number in the VMM */
	uint64_t dev;
	uint64_t inode;
	uint64_t len_bytes;
};
#define HV_VMM_FILE_NONE ((struct hv_vmm_file){-1, -1, 0, 0, 0})

/* Takes descriptor VMM_FD of the process of PIDFD. EBADF: it has none, or it is not a regular file
 * that is open for reading and writing. */
struct hv_err *hv_vmm_file_take(int pidfd, int vmm_fd, struct hv_vmm_file *ret) hv_must_use;
/* Takes the descriptor of the file that is mapped as VMA in process PID, which is the one of PIDFD.
 * False: the VMM has none that is open for reading and writing, among the first few thousand. */
bool hv_vmm_file_of(pid_t pid, int pidfd, const struct hv_vma *vma, struct hv_vmm_file *ret);
