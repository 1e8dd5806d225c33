/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mappings and files of a process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* -- mappings ---------------------------------------------------------------------------------- */

/* The mappings of a process, from /proc/PID/maps (proc(5)). */

/* Longer text fails with EFBIG. By default the kernel limits a process to 65,530 mappings, and a
 * line has some 100 bytes. */
#define HV_MAPS_MAX_BYTES (64u << 20)

struct hv_vma {
	uint64_t start;
	uint64_t end;
	uint64_t file_off;
	uint64_t dev; /* a number for the file system */
	uint64_t inode;
	bool readable;
	bool writable;
	bool executable;
	bool shared;
	bool has_file;
	const char *name; /* of the file, or the kernel's name ("[vdso]"); else "" */
};
/* Decodes a line. The name points into LINE and ends with it. */
bool hv_vma_parse(const char *line, struct hv_vma *ret);

struct hv_maps {
	struct hv_vma *list; /* owned; by address, disjoint */
	size_t nr;
	char *text; /* owned; contains the names */
};

/* Reads all mappings of PID. The kernel reports them in several steps, and its threads may change
 * them in between: a mapping that exists all the time is in the list, and if an address was
 * reported twice, the later mapping is used. */
struct hv_err *hv_maps_read(pid_t pid, struct hv_maps *ret) hv_must_use;
/* Like hv_maps_read(), for an open maps file. PATH is for messages. */
struct hv_err *hv_maps_read_fd(int fd, const char *path, struct hv_maps *ret) hv_must_use;
void hv_maps_deinit(struct hv_maps *m);
#define HV_AUTO_MAPS hv_cleanup(hv_maps_deinit)

/* -- files of the VMM -------------------------------------------------------------------------- */

/* A file of the VMM, opened by duplicating the VMM's descriptor (pidfd_getfd(2)), which preserves
 * the VMM's access mode. Paths to it (/proc/PID/map_files, /proc/PID/fd) are never opened, because
 * the VMM could replace the file with one that only root may write. */

struct hv_vmm_file {
	int fd;	    /* in this process; the caller closes it */
	int vmm_fd; /* its number in the VMM */
	uint64_t dev;
	uint64_t inode;
	uint64_t len_bytes;
};
#define HV_VMM_FILE_NONE ((struct hv_vmm_file){-1, -1, 0, 0, 0})

/* Duplicates descriptor VMM_FD of process PID, to which PIDFD refers. Fails with EBADF if it does
 * not exist or is not a regular file open for reading and writing, or with an error of hv_mounts_check()
 * if its file system can make this process wait, or is unknown. */
struct hv_err *hv_vmm_file_take(pid_t pid, int pidfd, int vmm_fd,
				struct hv_vmm_file *ret) hv_must_use;
/* Duplicates the descriptor of the file that is mapped as VMA in process PID, to which PIDFD
 * refers. hv_mounts_check() has accepted its device. Searches the first few thousand descriptors.
 * Returns false if none of them has the file open for reading and writing. */
bool hv_vmm_file_of(pid_t pid, int pidfd, const struct hv_vma *vma, struct hv_vmm_file *ret);
