/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file of the VMM, opened by duplicating the VMM's descriptor (pidfd_getfd(2)), which preserves
 * the VMM's access mode. Paths to it (/proc/PID/map_files, /proc/PID/fd) are never opened, because
 * the VMM could replace the file with one that only root may write. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "vmm/process/maps.h"

struct hv_vmm_file {
	int fd;	    /* in this process; the caller closes it */
	int vmm_fd; /* its number in the VMM */
	uint64_t dev;
	uint64_t inode;
	uint64_t len_bytes;
};
#define HV_VMM_FILE_NONE ((struct hv_vmm_file){-1, -1, 0, 0, 0})

/* Duplicates descriptor VMM_FD of the process of PIDFD. Fails with EBADF if it does not exist or is
 * not a regular file open for reading and writing. */
struct hv_err *hv_vmm_file_take(int pidfd, int vmm_fd, struct hv_vmm_file *ret) hv_must_use;
/* Duplicates the descriptor of the file that is mapped as VMA in process PID, to which PIDFD
 * refers. Searches the first few thousand descriptors. Returns false if none of them has the file
 * open for reading and writing. */
bool hv_vmm_file_of(pid_t pid, int pidfd, const struct hv_vma *vma, struct hv_vmm_file *ret);
