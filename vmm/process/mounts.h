/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file systems that a process can have mapped files of, by their device numbers. hvtrace opens
 * and reads no file whose file system can make it wait for a program of the VMM: FUSE, and overlay
 * file systems, which can have a layer of FUSE. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define HV_MOUNT_TYPE_MAX 31 /* longer names of file systems are cut */
/* More mounts fail with EFBIG. By default the kernel limits a mount namespace to 100,000. */
#define HV_MOUNTS_MAX	  (256u << 10)

struct hv_mount {
	uint64_t dev; /* as in struct hv_vma */
	char type[HV_MOUNT_TYPE_MAX + 1];
};
/* Decodes a line of /proc/PID/mountinfo (proc(5)). */
bool hv_mount_parse(const char *line, struct hv_mount *ret);

struct hv_mounts {
	struct hv_mount *list; /* owned; by device number */
	size_t nr;
	size_t cap;
};

/* Reads the mounts that process PID and this process can see. Adds the file systems that the kernel
 * mounts for itself: memory files, shared anonymous memory, and huge pages of each size. Read the
 * mappings first, so that a mapped file's device number cannot belong to a later file system. */
struct hv_err *hv_mounts_read(pid_t pid, struct hv_mounts *ret) hv_must_use;
/* Adds the mounts in an open mountinfo file. PATH is for messages. Call hv_mounts_sort() after the
 * last one. */
struct hv_err *hv_mounts_add_fd(struct hv_mounts *m, int fd, const char *path) hv_must_use;
void hv_mounts_sort(struct hv_mounts *m);
void hv_mounts_deinit(struct hv_mounts *m);
#define HV_AUTO_MOUNTS hv_cleanup(hv_mounts_deinit)

/* Fails with ENOTSUP if files of device DEV can make the reader wait for a program, and with ENODEV
 * if its file system is unknown. NAME is the file's name, for the message. */
struct hv_err *hv_mounts_check(const struct hv_mounts *m, uint64_t dev,
			       const char *name) hv_must_use;
