/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a process has mapped, as /proc/PID/maps tells it (proc(5)). Leaves to others: what is in
 * these mappings. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Longer text is refused (EFBIG). The kernel lets a process have 65,530 mappings unless its
 * administrator says otherwise, and a line has some 100 bytes. */
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
	const char *name; /* of the file, or as the kernel calls it ("[vdso]"); else "" */
};
/* Decodes a line. The name is part of LINE, up to its end. */
bool hv_vma_parse(const char *line, struct hv_vma *ret);

struct hv_maps {
	struct hv_vma *list; /* owned; by address, and none overlaps another */
	size_t nr;
	char *text; /* owned; has the names */
};

/* Reads all mappings of PID. Its threads may change them meanwhile, as the kernel tells some at a
 * time: what is mapped all the time is in the list, and of what was told twice the later counts. */
struct hv_err *hv_maps_read(pid_t pid, struct hv_maps *ret) hv_must_use;
/* As hv_maps_read(), of such a file that is open. PATH is for messages. */
struct hv_err *hv_maps_read_fd(int fd, const char *path, struct hv_maps *ret) hv_must_use;
void hv_maps_deinit(struct hv_maps *m);
#define HV_AUTO_MAPS hv_cleanup(hv_maps_deinit)
